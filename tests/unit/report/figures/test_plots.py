import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from facetmt.report.figures.plots import (
    POINTS,
    line_styles,
    probs_figure,
    thinned,
    trials_figure,
    write_figure,
)


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
