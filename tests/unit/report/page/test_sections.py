import re
from dataclasses import replace

import pytest

from facetmt.report.digest import digest
from facetmt.report.page import sections
from facetmt.report.systems import Cell as Score
from facetmt.runlog import Run


@pytest.fixture(scope="module")
def runs(mixed_dir, bandit_dir, auto_dir):
    return [digest(Run(directory)) for directory in (mixed_dir, bandit_dir, auto_dir)]


def test_changes_of_shares_are_listed_with_their_steps_and_reasons(runs):
    html = sections.changes(runs)
    assert "What it changed, and why" in html and html.count("data-run-panel") == 3
    assert re.search(
        r"<li><b>step \d+</b> Koran reduced to [\d.]+ %: its translations hardly depend on", html
    )
    assert html.count("This run logged no notable change of shares.") == 2
    assert sections.changes(runs[:2]) == ""


def test_what_a_policy_says_is_text(runs):
    html = sections.changes([replace(runs[2], news=("step 5: <b>x</b> raised: why", "no step <i>here</i>"))])
    assert "<li><b>step 5</b> &lt;b&gt;x&lt;/b&gt; raised: why</li>" in html
    assert "<li>no step &lt;i&gt;here&lt;/i&gt;</li>" in html


def test_facets_are_listed_by_their_share_of_the_training(runs):
    rows = re.findall(r'<tr data-facet="(\w+)">(.*?)</tr>', sections.batch_table(runs[2]))
    assert rows[-1][0] == "Koran" and len(rows) == 5
    shares = [float(re.search(r'data-value="([\d.]+)">[\d.]+%', cells)[1]) for _, cells in rows]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(1, abs=1e-4)
    assert "Nothing of this kind is logged yet." in sections.batch_table(replace(runs[2], share=None))


def test_a_score_shows_its_mark_and_its_spread():
    cell = sections.score_cell(Score(20.0, None, True, "--", 0.5))
    assert cell.html == '<b>20.00</b><sup class="down">−−</sup> <span class="std">± 0.50</span>'
    assert sections.score_cell(None).html == "–"


def test_an_unfinished_run_says_so(runs):
    assert "unfinished" in sections.steps_cell(replace(runs[0], steps=10)).html
    assert sections.steps_cell(runs[0]).html == "1,500"


def test_samples_are_cut_and_every_run_translates_the_same_sentence(runs):
    html = sections.facet_samples(runs, "Law", 3)
    assert html.count("<dt>Source</dt>") == 3 and html.count("<dt>auto</dt>") == 3
    assert '<details data-facet="Law" open>' in sections.samples(runs, ["Law"])
    assert len(sections.sample_line("x", "y" * 1000, "")) < 500
