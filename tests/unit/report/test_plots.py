import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.report.bars import batch_shares, costs, strategy_share
from facetmt.report.curves import average_quality, facet_rewards, probabilities, raw_rewards
from facetmt.report.digest import digest
from facetmt.report.page import all_figures
from facetmt.report.plots import (
    COLOURS,
    OTHER,
    PART_COLOURS,
    POINTS,
    RUN_COLOURS,
    line_styles,
    probs_figure,
    thinned,
    trials_figure,
    write_figure,
)
from facetmt.runlog import Run


@given(st.integers(1, 5000))
def test_thinned_points_are_in_order_and_end_with_the_last(points):
    chosen = thinned(points)
    assert len(chosen) == min(points, POINTS) and chosen[-1] == points - 1
    assert np.all(np.diff(chosen) > 0)


def test_names_of_facets_are_text_not_markup(tmp_path):
    figure = probs_figure([1, 2], np.array([[1.0], [1.0]]), ["<b>x</b>"])
    assert figure.data[0].name == "&lt;b&gt;x&lt;/b&gt;" and figure.data[0].meta["facet"] == "<b>x</b>"
    write_figure(figure, tmp_path / "sub" / "x.html")
    assert "<b>x</b>" not in (tmp_path / "sub" / "x.html").read_text(encoding="utf-8")


def test_trials_stand_in_the_order_of_their_numbers_and_their_text_is_not_markup(tmp_path):
    trials = [
        ({"a.rate": rate, "a.tag": tag}, rate / 10) for tag in ("<b>x</b>", "y") for rate in (10, 9, 0.5)
    ]
    figure = trials_figure(["a.rate", "a.tag"], trials)
    assert [line.name for line in figure.data] == ["tag &lt;b&gt;x&lt;/b&gt;", "tag y"]
    assert all(
        list(line.x) == ["0.5", "9", "10"] and list(line.y) == [0.05, 0.9, 1.0] for line in figure.data
    )
    assert list(figure.layout.xaxis.categoryarray) == ["0.5", "9", "10"]
    write_figure(figure, tmp_path / "trials.html")
    assert "<b>x</b>" not in (tmp_path / "trials.html").read_text(encoding="utf-8")


def test_the_first_forty_facets_look_different():
    styles = line_styles([str(n) for n in range(40)])
    assert len({tuple(style.values()) for style in styles.values()}) == 40


@pytest.mark.parametrize(("tau", "expected"), [(1.0, [0.8, 0.2]), (np.inf, [0.5, 0.5]), (-1.0, [0.2, 0.8])])
def test_what_static_strategies_would_draw(tau, expected):
    assert strategy_share(np.array([80.0, 20.0]), tau) == pytest.approx(expected)


def test_bars_and_marks(bandit_dir, mixed_dir):
    runs = [digest(Run(mixed_dir)), digest(Run(bandit_dir))]
    figure = batch_shares(runs, ["Koran", "Med"])
    assert [trace.name for trace in figure.data] == ["mixed", "bandit", "proportional", "τ = 5", "uniform"]
    assert figure.data[4].y == pytest.approx([0.2, 0.2])
    assert figure.data[2].y[0] == pytest.approx(18_000 / 1_456_200)
    assert sum(bar.x[0] for bar in costs(runs).data) == pytest.approx(1, abs=1e-5)


def test_what_a_run_does_not_have_is_not_drawn(mixed_dir):
    run = digest(Run(mixed_dir))
    styles = line_styles(run.facets)
    assert probabilities(run, styles) is raw_rewards(run, "#000000") is facet_rewards(run, styles) is None
    assert average_quality([run], "bleu").data[0].meta["label"] == "mixed"


def colours(figure):
    """Of all lines and bars that are facets, runs or parts of the time."""
    if figure is None:
        return set()
    traces = [trace for trace in figure.data if not (trace.meta and "ink" in trace.meta)]
    return {trace.marker.color if trace.type == "bar" else trace.line.color for trace in traces}


def test_each_colour_means_one_thing(bandit_dir, mixed_dir, static_dir):
    assert (
        len({*COLOURS, *RUN_COLOURS, *PART_COLOURS, OTHER}) == len(COLOURS + RUN_COLOURS + PART_COLOURS) + 1
    )
    runs = [digest(Run(directory)) for directory in (mixed_dir, bandit_dir, static_dir)]
    figures = all_figures(runs, runs[0].facets, line_styles(runs[0].facets))
    for key in ("probs", "scaled", "facet-bleu", "facet-loss"):
        assert set().union(*map(colours, figures[key])) <= set(COLOURS), key
    for key in ("shares", "epochs", "bleu", "loss", "training"):
        assert colours(figures[key]) <= set(RUN_COLOURS), key
    assert colours(figures["raw"][1]) == {RUN_COLOURS[1]} and colours(figures["costs"]) <= set(PART_COLOURS)


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({}, [0.2] * 5),
        ({"prior_tau": 1.0, "exploration": 0.0}, [248 / 1456.2, 467.3 / 1456.2]),
        ({"policy": "static", "tau": 1.0}, [248 / 1456.2, 467.3 / 1456.2]),
    ],
)
def test_probabilities_are_drawn_from_the_first_step(fake, tmp_path, settings, first):
    run = digest(Run(fake.write_run(tmp_path / "x", steps=60, log_every=20, scored=False, **settings)))
    figure = probabilities(run, line_styles(run.facets))
    assert figure.data[0].x.tolist() == [0, 20, 40, 60]
    assert [trace.y[0] for trace in figure.data[: len(first)]] == pytest.approx(first, rel=1e-4)
    assert run.run.pulls.prob[0] == pytest.approx(run.probs[0, run.run.pulls.facet[0]])
    (run.run.directory / "facets.json").unlink()
    bare = digest(Run(run.run.directory))
    assert bare.prob_step[0] == (20 if settings else 0)  # nobody knows what depended on the sizes
