"""A new policy, signal or reward is one row: toys are trained, resumed, compared and reported."""

import json

import numpy as np
import pytest

from facetmt.bandit import REWARDS, Exp3
from facetmt.bandit.policy import checked_probs, frozen
from facetmt.bandit.reward import RewardRow
from facetmt.bandit.schedules import POLICIES, PolicyRow
from facetmt.recipe import load_recipe
from facetmt.report.page import write_report
from facetmt.report.tables import compare
from facetmt.train import checkpoint
from facetmt.train.interrupt import Interrupted
from facetmt.train.run import train
from facetmt.train.signals import SIGNALS, Measured


class Follower:
    """Shares proportional to the last measurement."""

    kind = "toy follower"

    def __init__(self, arms: int) -> None:
        self._probs = frozen(np.full(arms, 1 / arms))

    @property
    def arms(self):
        return self._probs.size

    def probs(self):
        return self._probs

    def update(self, credit, reward):
        weights = np.full(self.arms, 0.1)
        for arm, value in credit:
            weights[arm] += reward * value
        self._probs = frozen(checked_probs(weights / weights.sum()))

    def state(self):
        return {"kind": self.kind, "probs": self._probs.tolist()}

    def restore(self, state, arms):
        self._probs = frozen(checked_probs(state["probs"]))


class Counting:
    """A measurement: n for facet n, times the number of measurements so far."""

    def __init__(self, facets: int) -> None:
        self.facets, self.times = facets, 0

    def __call__(self, params):
        self.times += 1
        return [facet * self.times for facet in range(self.facets)]

    def state(self):
        return {"times": self.times}

    def restore(self, state):
        self.times = state["times"]


@pytest.fixture
def toys(monkeypatch):
    monkeypatch.setitem(
        REWARDS, "toy-halved", RewardRow(lambda before, after: (before - after) / 2, "dev", before=True)
    )
    monkeypatch.setitem(
        SIGNALS, "toy-count", lambda opened: Measured(opened, Counting(len(opened.scheduler.facets)))
    )
    monkeypatch.setitem(
        POLICIES,
        "toy-follower",
        PolicyRow(
            lambda config, corpus: Follower(len(corpus.facets)),
            lambda config: "the follower",
            "Toys",
            "toy-count",
        ),
    )
    monkeypatch.setitem(
        POLICIES,
        "toy-exp3",
        PolicyRow(
            lambda config, corpus: Exp3(len(corpus.facets), learning_rate=0.5),
            lambda config: f"toy {config.reward}",
            "Toys",
            reward="toy-halved",
        ),
    )


class StopAt:
    """A watcher that interrupts training as a signal does."""

    def __init__(self, step):
        self.step = step

    def metrics(self, row, shares):
        if row["step"] == self.step:
            raise Interrupted

    def validation(self, row, best):
        pass

    def say(self, text):
        pass

    def close(self):
        pass


def pulls(run):
    return (run / "pulls.csv").read_text(encoding="utf-8")


def scored(run, bleu):
    """Write scores as `evaluate` would."""
    values = {"bleu": bleu, "chrf": bleu}
    scores = {
        "facets": {"it": values},
        "average": values,
        "groups": {},
        "signature": {"bleu": "s", "chrf": "s"},
    }
    (run / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    (run / "translations").mkdir()
    row = {"source": "a", "reference": "b c d e", "hypothesis": "b c d e"}
    (run / "translations" / "it.jsonl").write_text((json.dumps(row) + "\n") * 3, encoding="utf-8")


@pytest.mark.parametrize("policy", ["toy-follower", "toy-exp3"])
def test_a_policy_and_its_signal_or_reward_are_one_row_each(toys, project, tmp_path, policy):
    words = [f"schedule.policy={policy}", "schedule.probe_every=3", "train.steps=8", "train.validate_every=8"]
    recipe = load_recipe(project / "recipe.yaml", [*words, "train.log_every=1"])
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    assert train(recipe, whole).finished
    assert not train(recipe, parted, watchers=[StopAt(5)]).finished
    newest, _ = checkpoint.newest_whole(parted / "checkpoints")
    assert newest is not None and newest.step == 5
    assert train(recipe, parted, resume=True).finished
    assert pulls(parted) == pulls(whole)
    assert (parted / "probs.csv").read_bytes() == (whole / "probs.csv").read_bytes()
    if policy == "toy-follower":
        shares = [
            float(cell) for cell in (whole / "probs.csv").read_text("utf-8").splitlines()[-1].split(",")[1:]
        ]
        assert shares == sorted(shares) and shares[-1] > 0.3
    else:
        step = pulls(whole).splitlines()[3].split(",")
        assert float(step[5]) == pytest.approx((float(step[3]) - float(step[4])) / 2)
    for run in (whole, parted):
        scored(run, 30.0)
    table = compare([whole, parted], "markdown", "bleu")
    assert "| Toys | whole |" in table
    page = write_report([whole], tmp_path / "page.html").read_text(encoding="utf-8")
    assert ("the follower" if policy == "toy-follower" else "toy toy-halved") in page
