"""Which directories a run may be opened in, and what its policy is told about the corpus."""

from types import SimpleNamespace

import pytest

from facetmt.errors import UserError
from facetmt.recipe import dump_recipe, load_recipe
from facetmt.runlog import CHECKPOINTS, PULLS, RECIPE
from facetmt.train.session import (
    FILLED,
    began,
    check_directory,
    check_fingerprint,
    corpus,
    newest_step,
    schedule_notes,
)

TEXT = "data: {root: corpus, source: de, target: en}\n"


@pytest.fixture
def recipe(tmp_path):
    """Overrides -> a recipe."""
    path = tmp_path / "recipe.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return lambda *overrides: load_recipe(path, overrides)


@pytest.fixture
def run(tmp_path, recipe):
    """A run directory in which nothing was trained yet."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / RECIPE).write_text(dump_recipe(recipe()), encoding="utf-8")
    (folder / PULLS).write_text("step,facet\n", encoding="utf-8")
    return folder


def refused(recipe, directory, resume):
    with pytest.raises(UserError) as caught:
        check_directory(recipe, directory, resume)
    return str(caught.value)


def test_a_new_run_needs_a_folder_that_is_missing_or_empty(tmp_path, recipe):
    folder = tmp_path / "new"
    check_directory(recipe(), folder, resume=False)
    folder.mkdir()
    (folder / ".lock").touch()
    check_directory(recipe(), folder, resume=False)
    assert "holds no run to resume; leave out --resume" in refused(recipe(), folder, resume=True)
    (folder / "photo.jpg").touch()
    for resume in (False, True):
        assert "is not empty and not a run directory" in refused(recipe(), folder, resume)
    assert "is a file; give another --run" in refused(recipe(), folder / "photo.jpg", resume=False)


def test_a_run_that_began_is_not_overwritten(recipe, run):
    assert not began(run)
    check_directory(recipe(), run, resume=False)
    with (run / PULLS).open("a", encoding="utf-8") as file:
        file.write("1,it\n")
    assert began(run)
    assert "already holds a run; continue it with --resume" in refused(recipe(), run, resume=False)
    (run / PULLS).unlink()
    assert not began(run)
    (run / CHECKPOINTS / "step-000000004").mkdir(parents=True)
    assert began(run)


def test_a_run_is_resumed_with_its_own_recipe(recipe, run):
    check_directory(recipe("train.steps=7"), run, resume=True)
    said = refused(recipe("schedule.exploration=0.5"), run, resume=True)
    assert "schedule.exploration: 0.25 -> 0.5" in said and "undo the change, or start a new run" in said


def test_a_run_whose_checkpoints_are_all_damaged_is_not_restarted(recipe, run):
    assert newest_step(recipe(), run, resume=True) == (None, [])
    (run / CHECKPOINTS / "step-000000004").mkdir(parents=True)
    with pytest.raises(UserError, match=r"no checkpoint is whole \(.*manifest\.json is missing or damaged"):
        newest_step(recipe(), run, resume=True)


class Store(list):
    """A store of one facet: its header and its length are all that is looked at."""

    @property
    def header(self):
        return SimpleNamespace(pairs=len(self), target_tokens=10 * len(self))


def prepared(dev=(5, 0)):
    stores = {"train": [Store(range(30)), Store(range(10))], "dev": [Store(range(size)) for size in dev]}
    facets = [SimpleNamespace(name=name) for name in ("it", "law")]
    return SimpleNamespace(stores=stores.__getitem__, facets=facets)


def test_the_policy_knows_sizes_dev_text_and_the_planned_tokens(recipe):
    settings = ["batch.rows=8", "batch.length=50", "optimiser.accumulate=2", "train.steps=100"]
    known = corpus(recipe(*settings), prepared())
    assert (known.facets, known.pairs, known.tokens) == (["it", "law"], [30, 10], [300, 100])
    assert known.with_dev == [True, False]
    assert known.planned == pytest.approx(FILLED * 8 * 50 * 2 * 100)
    few = corpus(recipe(*settings, "batch.sentences=3"), prepared())  # 3 pairs of 10 tokens in a batch
    assert few.planned == pytest.approx(3 * 10 * 2 * 100)


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ("{lwa: 1}", r"names lwa, which is no facet of the corpus; choose among it, law"),
        ("{it: 1, law: 2}", r"law cannot count without dev text"),
    ],
)
def test_an_objective_that_cannot_be_measured_is_refused(recipe, objective, said):
    with pytest.raises(UserError, match=said):
        corpus(recipe(f"schedule.objective={objective}"), prepared())
    corpus(recipe("schedule.objective={it: 1, law: 0}"), prepared())
    with pytest.raises(UserError, match="shares names ti, which is no facet"):
        corpus(recipe("schedule.policy=static", "schedule.shares={ti: 1}"), prepared())


def test_a_reward_that_teaches_the_policy_nothing_is_mentioned(recipe):
    assert schedule_notes(recipe("schedule.reward=pg")) == []
    assert schedule_notes(recipe("schedule.policy=odm")) == []
    (note,) = schedule_notes(recipe("schedule.policy=odm", "schedule.reward=pg"))
    assert note.startswith("schedule.policy odm") and note.endswith("set schedule.reward=loss")


def test_data_that_changed_is_named():
    saved = {"vocabulary": "a", "facet it": "b", "facet law": "c"}
    check_fingerprint(saved, dict(saved))
    with pytest.raises(UserError, match=r"\(facet law, facet news, vocabulary\); restore the former text"):
        check_fingerprint(saved, {"vocabulary": "x", "facet it": "b", "facet news": "d"})
