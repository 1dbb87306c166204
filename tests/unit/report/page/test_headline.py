import re
from dataclasses import replace

import pytest

from facetmt.report.digest import digest
from facetmt.report.page.headline import cards, gain_card, health, reward_card, subtitle, title_of
from facetmt.report.progress import standings
from facetmt.runlog import Run


@pytest.fixture(scope="module")
def runs(mixed_dir, bandit_dir, auto_dir):
    return [digest(Run(directory)) for directory in (mixed_dir, bandit_dir, auto_dir)]


def words(html):
    return " ".join(re.sub("<[^>]*>", " ", html).split())


def test_titles(runs):
    assert title_of(runs[:1]) == "mixed" and title_of(runs) == "bandit, auto against mixed"
    assert title_of([*runs, *runs]) == "6 runs against mixed"
    assert subtitle(runs[:1]) == "1 run · 5 facets · de → en · 1,500 steps"
    half = replace(runs[0], steps=600)
    assert subtitle([half]).endswith("600 of 1,500 steps")


def test_the_first_cards_name_the_best_system_by_its_label(runs):
    best = max(runs, key=lambda run: run.average_bleu)
    text = words(cards(runs))
    assert text.startswith(f"Best system {best.name} {best.recipe.schedule.label} Average test BLEU")
    assert words(cards([runs[2]])).startswith("System auto auto Average test BLEU")


def test_the_gain_counts_facets(runs):
    base, row, _ = standings(runs)
    assert re.search(r"better on \d of 5 facets", gain_card("test", row, base))


def test_what_choosing_cost(runs):
    mixed, bandit, auto = runs
    assert "0 % no run learns what to draw" in words(reward_card([mixed]))
    assert "of bandit’s wall-clock (dev-pgnorm)" in words(reward_card([mixed, bandit]))
    assert "of auto’s wall-clock (measuring evidence)" in words(reward_card([mixed, auto]))
    assert "– not measured" in words(reward_card([replace(auto, metrics=())]))


def test_a_run_without_findings_is_healthy(runs):
    assert words(health(runs[2:])) == "Healthy Loss steady, no facet repeated too often."
