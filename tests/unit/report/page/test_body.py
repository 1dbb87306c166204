import re

import pytest

from facetmt.report.digest import digest
from facetmt.report.figures.charts import CHARTS, ranked_facets
from facetmt.report.page.body import body, controls
from facetmt.runlog import Run


@pytest.fixture(scope="module")
def runs(mixed_dir, auto_dir):
    return [digest(Run(directory)) for directory in (mixed_dir, auto_dir)]


def test_every_chart_has_its_place(runs):
    html = body(runs, ranked_facets(runs))
    assert sorted(re.findall(r'data-chart="([^"]+)"', html)) == sorted(
        set(CHARTS) - {"transfer"}  # only where it was measured
    )


def test_sections_come_in_the_order_in_which_people_ask(runs):
    html = body(runs, ranked_facets(runs))
    found = re.findall("<h2>(.*?)</h2>", html)
    assert found[:3] == ["Health", "What it drew", "What it achieved"] and found[-1] == "Behind it"
    assert html.index("Share of each facet") < html.index("What it changed, and why") < html.index("achieved")


def test_a_single_run_has_no_choice_of_runs(runs):
    assert "data-run" not in controls(runs[:1], 5) and controls(runs, 5).count("data-run=") == 2
    assert '<option value="5">' not in controls(runs, 5) and '<option value="5">' in controls(runs, 6)
