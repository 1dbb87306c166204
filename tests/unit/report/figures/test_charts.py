from facetmt.report.digest import digest
from facetmt.report.figures.charts import CHARTS, all_figures, described, leader, ranked_facets
from facetmt.report.figures.plots import COLOURS, OTHER, PART_COLOURS, RUN_COLOURS, line_styles
from facetmt.report.progress import PARTS
from facetmt.runlog import Run


def colours(figure):
    """Of all lines and bars that are facets, runs or parts of the time."""
    if figure is None:
        return set()
    traces = [trace for trace in figure.data if not (trace.meta and "ink" in trace.meta)]
    return {trace.marker.color if trace.type == "bar" else trace.line.color for trace in traces}


def test_each_colour_means_one_thing(bandit_dir, mixed_dir, static_dir):
    used = [*COLOURS, *RUN_COLOURS, *PART_COLOURS, OTHER]
    assert len(set(used)) == len(used) and len(PART_COLOURS) == len(PARTS)
    runs = [digest(Run(directory)) for directory in (mixed_dir, bandit_dir, static_dir)]
    figures = all_figures(runs, runs[0].facets, line_styles(runs[0].facets))
    for key in ("probs", "scaled", "facet-bleu", "facet-loss"):
        assert set().union(*map(colours, figures[key])) <= set(COLOURS), key
    for key in ("shares", "epochs", "bleu", "loss", "training"):
        assert colours(figures[key]) <= set(RUN_COLOURS), key
    assert colours(figures["raw"][1]) == {RUN_COLOURS[1]} and colours(figures["costs"]) <= set(PART_COLOURS)


def test_every_chart_has_a_figure_and_every_figure_a_chart(bandit_dir):
    run = digest(Run(bandit_dir))
    figures = all_figures([run], run.facets, line_styles(run.facets))
    assert list(figures) == list(CHARTS)
    assert {key for key, value in figures.items() if isinstance(value, list)} == {
        key for key, chart in CHARTS.items() if chart.per_run
    }


def test_the_run_that_learns_leads_and_ranks_the_facets(mixed_dir, static_dir, auto_dir):
    runs = [digest(Run(directory)) for directory in (mixed_dir, static_dir, auto_dir)]
    assert leader(runs) is runs[2] and leader(runs[:2]) is runs[0]
    assert ranked_facets(runs)[-1] == "Koran"  # which `auto` reduced


def test_words_fit_the_runs(mixed_dir, bandit_dir, auto_dir):
    mixed, bandit, auto = (digest(Run(directory)) for directory in (mixed_dir, bandit_dir, auto_dir))
    assert (
        described("probs", [auto]).title == described("probs", [mixed, auto]).title == "Share of each facet"
    )
    assert described("probs", [bandit, auto]).title == "Probability of each facet"
    assert "first run" in described("bleu", [mixed, auto]).read
    assert described("bleu", [auto]).read == "Higher is better."
