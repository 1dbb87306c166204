import pytest

from facetmt.report.digest import digest
from facetmt.report.figures.curves import (
    average_quality,
    facet_quality,
    facet_rewards,
    probabilities,
    raw_rewards,
    training_loss,
)
from facetmt.report.figures.plots import RUN_COLOURS, line_styles
from facetmt.runlog import Run


def test_what_a_run_does_not_have_is_not_drawn(mixed_dir):
    run = digest(Run(mixed_dir))
    styles = line_styles(run.facets)
    assert probabilities(run, styles) is raw_rewards(run, "#000000") is facet_rewards(run, styles) is None
    assert average_quality([run], "bleu").data[0].meta["label"] == "mixed"


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
    assert run.logs.pulls.prob[0] == pytest.approx(run.probs[0, run.logs.pulls.facet[0]])
    (run.logs.directory / "facets.json").unlink()
    bare = digest(Run(run.logs.directory))
    assert bare.prob_step[0] == (20 if settings else 0)  # nobody knows what depended on the sizes


def test_shares_of_mixed_batches_are_drawn_as_probabilities_are(auto_dir, blend_dir):
    for directory in (auto_dir, blend_dir):
        run = digest(Run(directory))
        styles = line_styles(run.facets)
        figure = probabilities(run, styles)
        assert figure.layout.yaxis.title.text == "share of a batch"
        assert [trace.name for trace in figure.data] == list(run.facets)
        assert facet_rewards(run, styles) is None
    assert raw_rewards(run, "#123456") is not None  # the rewards of whole batches


def test_every_facet_and_every_run_has_its_line(bandit_dir, mixed_dir):
    runs = [digest(Run(directory)) for directory in (mixed_dir, bandit_dir)]
    assert [trace.name for trace in facet_quality(runs[0], line_styles(runs[0].facets), "loss").data] == list(
        runs[0].facets
    )
    assert [trace.line.color for trace in training_loss(runs).data] == list(RUN_COLOURS[:2])
    assert average_quality(runs, "bleu").layout.shapes[0].y0 == max(
        row["bleu"]["average"] for row in runs[0].validation
    )
