"""A search over settings, with a training that does as it is told."""

import pytest

from facetmt.errors import UserError
from facetmt.files import claimed
from facetmt.train import tune as module
from facetmt.train.run import Outcome
from facetmt.train.trials import lock_of, run_name
from facetmt.train.tune import tune

GRID = {"schedule.exploration": [0.1, 0.2, 0.3], "train.patience": [None, 2]}


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "recipe.yaml"
    text = "data: {root: corpus, source: de, target: en}\nschedule: {policy: exp3}\n"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def trained(monkeypatch):
    """Every call of `train`: recipe, directory, whether it resumed; `fate` decides how the next ones end."""
    calls = []

    def train(recipe, directory, *, resume, watchers):
        directory.mkdir(exist_ok=True)
        (directory / "recipe.yaml").touch()
        calls.append((recipe, directory, resume))
        end = train.fate.pop(0) if train.fate else "finish"
        if isinstance(end, BaseException):
            raise end
        score = 10 * recipe.schedule.exploration
        watchers[0].validation({"bleu": {"average": score}, "step": 5}, True)
        return Outcome(finished=end == "finish", step=9, best=(score + len(calls) / 100, 5), seconds=1.0)

    train.fate, train.calls = [], calls
    monkeypatch.setattr(module, "train", train)
    return train


def search(recipe, out, grid=GRID, trials=None, sampler="grid", **more):
    return tune(recipe, out, grid, [], sampler=sampler, trials=trials, storage=None, seed=1, **more)


def test_values_reach_the_recipe_as_they_are(recipe, trained, tmp_path):
    found, finished = search(recipe, tmp_path / "out")
    assert finished and [trial.state for trial in found] == ["complete"] * 6
    assert {(one.schedule.exploration, one.train.patience) for one, _, _ in trained.calls} == {
        (exploration, patience) for exploration in (0.1, 0.2, 0.3) for patience in (None, 2)
    }
    assert found[0].settings["schedule.exploration"] == 0.3 and found[0].score > found[-1].score


def test_what_was_interrupted_is_finished_by_the_next_call(recipe, trained, tmp_path):
    trained.fate = ["finish", "signal"]
    said = []
    found, finished = search(recipe, tmp_path / "out", tell=said.append)
    assert not finished and sorted(trial.state for trial in found) == ["complete", "interrupted"]
    stopped = trained.calls[-1][1]
    found, finished = search(recipe, tmp_path / "out", tell=said.append)
    assert finished and [trial.state for trial in found] == ["complete"] * 6  # every cell of the table, once
    assert [(directory, resume) for _, directory, resume in trained.calls[2:3]] == [(stopped, True)]
    assert not any(resume for _, _, resume in trained.calls[3:]) and len(trained.calls) == 7
    assert said[2].startswith("setting 2 of 6, schedule.exploration=0.1 train.patience=2: continued, ")
    assert search(recipe, tmp_path / "out")[1] and len(trained.calls) == 7  # nothing is left to do


def test_a_keyboard_that_interrupts_between_steps_loses_no_setting(recipe, trained, tmp_path):
    trained.fate = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        search(recipe, tmp_path / "out")
    found, _ = search(recipe, tmp_path / "out")
    assert [trial.state for trial in found] == ["complete"] * 6


def test_a_setting_that_fails_does_not_stop_the_others_and_is_tried_again(recipe, trained, tmp_path):
    trained.fate = ["finish", UserError("the disk is full")]
    found, finished = search(recipe, tmp_path / "out")
    assert finished and len(trained.calls) == 6
    assert [trial.error for trial in found if trial.state == "failed"] == ["the disk is full"]
    found, _ = search(recipe, tmp_path / "out")
    assert len(trained.calls) == 7 and {trial.state for trial in found} <= {"complete", "pruned"}
    assert all(trial.error is None for trial in found)


def test_a_setting_that_another_worker_has_is_left_to_it(recipe, trained, tmp_path):
    (tmp_path / "out").mkdir()
    setting = run_name({"schedule.exploration": 0.1, "train.patience": None})
    with claimed(lock_of(tmp_path / "out" / setting)) as free:
        assert free
        search(recipe, tmp_path / "out")
    assert len(trained.calls) == 5
    search(recipe, tmp_path / "out")
    assert len(trained.calls) == 6


def test_a_guided_search_resumes_too_and_must_have_an_end(recipe, trained, tmp_path):
    with pytest.raises(UserError, match="say how many settings to try, such as --trials 20"):
        search(recipe, tmp_path / "out", sampler="tpe")
    trained.fate = ["signal"]
    assert not search(recipe, tmp_path / "out", sampler="tpe", trials=2)[1]
    assert search(recipe, tmp_path / "out", sampler="tpe", trials=1)[1]
    assert [directory for _, directory, _ in trained.calls] == [trained.calls[0][1]] * 2


def test_settings_of_the_text_are_prepared_apart(recipe, trained, tmp_path):
    search(recipe, tmp_path / "out", {"data.vocab.size": [100, 200], "seed": [1, 2]})
    folders = {one.data.vocab.size: one.prepared for one, _, _ in trained.calls}
    assert len(trained.calls) == 4 and len({one.prepared for one, _, _ in trained.calls}) == 2
    search(recipe, tmp_path / "rows", {"batch.length": [32, 64]})
    assert len({one.prepared for one, _, _ in trained.calls[4:]}) == 2
    assert folders[100] != folders[200] and folders[100].startswith(f"{tmp_path / 'out'}/prepared-")


def test_mistakes_are_found_before_the_first_run(recipe, trained, tmp_path):
    with pytest.raises(UserError, match=r"schedule\.gamma=1: there is no key schedule\.gamma"):
        search(recipe, tmp_path / "out", {"schedule.gamma": [1, 2]})
    with pytest.raises(UserError, match=r"schedule\.exploration=7: schedule\.exploration: exploration must"):
        search(recipe, tmp_path / "out", {"schedule.exploration": [0.1, 7]})
    with pytest.raises(
        UserError, match=r"policy auto has no schedule\.exploration to tune; give other keys, or"
    ):
        search(
            recipe, tmp_path / "out", {"schedule.exploration": [0.1], "schedule.policy": ["auto", "mixed"]}
        )
    search(recipe, tmp_path / "out", {"schedule.exploration": [0.1]})
    with pytest.raises(
        UserError, match=r"tries schedule\.exploration=0\.1; give the same --grid or another --out"
    ):
        search(recipe, tmp_path / "out", {"schedule.exploration": [0.1, 0.2]})
