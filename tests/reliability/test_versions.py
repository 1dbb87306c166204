"""Files written by version 0.1.0 still load: recipe, prepared text, checkpoint, logs, scores."""

import csv
import zipfile
from pathlib import Path

import pytest

from facetmt.bandit import Exp3, Exp3S, FacetScheduler, Odm
from facetmt.recipe import load_recipe
from facetmt.report.card import model_card
from facetmt.report.page import write_report
from facetmt.report.replay import replay
from facetmt.report.tables import compare
from facetmt.runlog import Run

ARCHIVE = Path(__file__).parent / "data" / "run-0.1.0.zip"


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Path:
    """Recipe, corpus, prepared text and a run stopped after six of ten steps."""
    folder = tmp_path_factory.mktemp("old")
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(folder)
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_its_logs_are_read(old):
    run = Run(old / "run")
    assert run.facets == ("it", "law", "koran") and len(run.pulls.step) == 6
    assert "Bandit" in compare([old / "run"], "markdown", "bleu")
    assert "dev-pgnorm" in model_card(run)
    assert write_report([old / "run"], old / "page.html").stat().st_size > 10_000
    assert replay(old / "run", exploration=0.5, replicates=1).steps == 6


def test_it_continues_as_it_would_have_then(old, facetmt):
    """The pulls of a fixed seed are the same; losses may differ by the rounding of another machine."""
    command = ["train", old / "recipe.yaml", "--run", old / "run", "--resume", "--set", "train.steps=10"]
    done = facetmt(*command)
    # the recipe names no policy, and the default was another one then
    assert done.returncode == 2 and "schedule.policy: exp3 -> auto" in done.stderr
    done = facetmt(*command, "--set", "schedule.policy=exp3")
    assert done.returncode == 0, done.stderr
    found, expected = rows(old / "run" / "pulls.csv"), rows(old / "pulls-to-10.csv")
    assert [row["facet"] for row in found] == [row["facet"] for row in expected]
    for column in ("prob", "before", "after"):
        assert [float(row[column]) for row in found] == pytest.approx(
            [float(row[column]) for row in expected], rel=1e-3
        )
    evaluated = facetmt("evaluate", old / "run")
    assert evaluated.returncode == 0, evaluated.stderr


def test_its_recipe_still_means_the_same(old):
    """But for the policy, where it names none."""
    before = load_recipe(old / "run" / "recipe.yaml")
    now = load_recipe(old / "recipe.yaml", ["schedule.policy=exp3"])
    assert (now.data.facets, now.schedule, now.optimiser, now.model) == (
        before.data.facets, before.schedule, before.optimiser, before.model,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "drawn"),
    [
        (Exp3(3), "122012022211122222220020"),
        (Exp3S(3), "122012022101011222220020"),
        (Odm(3), "122012022211122222220020"),
    ],
    ids=["exp3", "exp3s", "odm"],
)
def test_the_pulls_of_a_fixed_seed_are_the_same(policy, drawn):
    scheduler = FacetScheduler(["a", "b", "c"], policy, "pg", seed=7)
    arms = ""
    for step in range(24):
        pull = scheduler.pull()
        arms += str(pull.arm)
        scheduler.feedback(pull, before=2.0 + pull.arm, after=1.0 + 0.1 * step)
    assert arms == drawn
