"""What each signal teaches, without a model."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from facetmt.bandit import Exp3, FacetScheduler, MultiDds
from facetmt.bandit.config import ScheduleConfig
from facetmt.bandit.schedules import POLICIES
from facetmt.train.config import TrainConfig
from facetmt.train.signals import SIGNALS, Measured, Nothing, StepReward
from facetmt.train.step import Metrics


def metrics(before=2.0, after=1.5, finite=True):
    return Metrics(9.0, 10, before, after, 1.0, 1e-3, finite, int(not finite), np.zeros(2), np.zeros(2))


def opened(policy="exp3", reward="pg", **schedule):
    config = ScheduleConfig(policy=policy, reward=reward, **schedule)
    scheduler = FacetScheduler(["a", "b"], Exp3(2), config.reward, seed=1)
    recipe = SimpleNamespace(schedule=config, train=TrainConfig())
    return SimpleNamespace(recipe=recipe, scheduler=scheduler, prepared=None, graph=None, placement=None)


def test_every_policy_of_the_table_names_a_signal_that_exists():
    assert {row.signal for row in POLICIES.values()} <= set(SIGNALS)


def test_without_a_signal_the_training_loss_is_logged_and_nothing_learned():
    parts = opened()
    before = parts.scheduler.probs()
    outcome = Nothing(parts).settle(parts.scheduler.pull(), metrics())
    assert outcome.before == 9.0 and math.isnan(outcome.raw)
    assert np.array_equal(parts.scheduler.probs(), before)


def test_the_reward_of_a_step_reaches_the_scheduler():
    parts = opened()
    signal = StepReward(parts)
    outcomes = [signal.settle(parts.scheduler.pull(), metrics(after=after)) for after in (1.5, 1.0, 1.9, 0.5)]
    assert [outcome.raw for outcome in outcomes] == pytest.approx([0.5, 1.0, 0.1, 1.5])
    assert not np.allclose(parts.scheduler.probs(), 0.5)


@pytest.mark.parametrize("reward", ["loss", "pg"])
def test_an_update_that_was_skipped_is_not_rewarded_but_counted(reward):
    """Its parameters stayed, so its gain of about 0 says nothing about the facet."""
    parts = opened(reward=reward)
    signal = StepReward(parts)
    for after in (1.5, 1.0, 1.9):
        signal.settle(parts.scheduler.pull(), metrics(after=after))
    learned, window = parts.scheduler.probs(), parts.scheduler.scaler.state()
    outcome = signal.settle(parts.scheduler.pull(), metrics(before=2.0, after=2.0, finite=False))
    assert all(map(math.isnan, outcome))
    assert np.array_equal(parts.scheduler.probs(), learned)
    assert parts.scheduler.scaler.state() == window
    assert parts.scheduler.health().dropped == 1


def test_a_measurement_is_taken_every_so_often_and_teaches_all_facets_at_once():
    parts = opened("multidds", probe_every=3)
    parts.scheduler = FacetScheduler(["a", "b"], MultiDds(2, learning_rate=0.1), seed=1)
    asked = []

    class Constant:
        def __call__(self, params):
            asked.append(params)
            return [0.5, math.nan]

        def state(self):
            return {"asked": len(asked)}

        def restore(self, state):
            asked[:] = [None] * state["asked"]

    signal = Measured(parts, Constant())
    for step in range(7):
        signal.before_step(step, SimpleNamespace(params=step))
    assert asked == [0, 3, 6] and signal.state() == {"asked": 3}
    assert parts.scheduler.probs()[0] > 0.5
    assert parts.scheduler.health().dropped == 3  # a value that is not finite teaches nothing
    signal.restore({"asked": 1})
    assert len(asked) == 1
