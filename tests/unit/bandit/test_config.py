import math

import numpy as np
import pytest

from facetmt.bandit import REWARDS, Exp3, Exp3S, Odm, temperature_probs
from facetmt.bandit.config import ScheduleConfig, build_scheduler

NAMES, SIZES = ["a", "b", "c"], [10, 30, 60]


def test_mixed_is_one_arm_over_the_whole():
    scheduler = build_scheduler(ScheduleConfig(policy="mixed"), NAMES, SIZES, seed=1)
    assert scheduler.facets == ("mixed",)
    assert scheduler.pull().prob == 1.0


@pytest.mark.parametrize("tau", [1.0, 5.0, math.inf, -1.0])
def test_static_follows_its_temperature(tau):
    scheduler = build_scheduler(ScheduleConfig(policy="static", tau=tau), NAMES, SIZES, seed=1)
    assert np.allclose(scheduler.probs(), temperature_probs(SIZES, tau))


@pytest.mark.parametrize(("name", "kind"), [("exp3", Exp3), ("exp3s", Exp3S)])
def test_bandits_take_their_settings(name, kind):
    config = ScheduleConfig(policy=name, learning_rate=0.01, exploration=0.5, prior_tau=1.0, window=7)
    scheduler = build_scheduler(config, NAMES, SIZES, seed=1)
    assert type(scheduler.policy) is kind
    assert np.allclose(scheduler.probs(), 0.5 * np.array(SIZES) / 100 + 0.5 / 3)
    assert scheduler.scaler.window == 7
    assert config.step_reward is REWARDS[config.reward]


@pytest.mark.parametrize(
    "settings",
    [{"tau": 0.0}, {"prior_tau": math.nan}, {"exploration": 2.0}, {"learning_rate": -1.0}, {"window": 0}],
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        ScheduleConfig(**settings)


def test_a_policy_has_a_reward_of_its_own_where_none_is_named():
    assert ScheduleConfig().reward == "dev-pgnorm"
    assert (
        ScheduleConfig(policy="odm").reward == "loss"
    )  # it takes rewards as measured: a gain of 0.001 is nothing
    assert ScheduleConfig(policy="odm", reward="pg").reward == "pg"
    assert type(build_scheduler(ScheduleConfig(policy="odm"), NAMES, SIZES, seed=1).policy) is Odm


@pytest.mark.parametrize(("key", "near"), [("policy", "exp4"), ("reward", "dev-pgnrm")])
def test_a_name_that_is_not_in_the_table_is_refused_with_the_nearest(key, near):
    with pytest.raises(ValueError, match=rf"{key} is '{near}', which does not exist; did you mean"):
        ScheduleConfig(**{key: near})
