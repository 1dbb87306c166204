import math
from dataclasses import replace

import numpy as np
import pytest

from facetmt.bandit import REWARDS, Exp3, Exp3S, Odm, temperature_probs
from facetmt.bandit.config import ScheduleConfig, build_scheduler
from facetmt.bandit.schedules import Corpus
from facetmt.bandit.unimax import unimax_probs

NAMES, SIZES = ["a", "b", "c"], [10, 30, 60]
CORPUS = Corpus(NAMES, SIZES, tokens=[100, 300, 600], planned=3000.0, with_dev=[True, True, False])


def test_mixed_is_one_arm_over_the_whole():
    scheduler = build_scheduler(ScheduleConfig(policy="mixed"), CORPUS, seed=1)
    assert scheduler.facets == ("mixed",)
    assert scheduler.pull().prob == 1.0


@pytest.mark.parametrize("tau", [1.0, 5.0, math.inf, -1.0])
def test_static_follows_its_temperature(tau):
    scheduler = build_scheduler(ScheduleConfig(policy="static", tau=tau), CORPUS, seed=1)
    assert np.allclose(scheduler.probs(), temperature_probs(SIZES, tau))


@pytest.mark.parametrize(("name", "kind"), [("exp3", Exp3), ("exp3s", Exp3S)])
def test_bandits_take_their_settings(name, kind):
    config = ScheduleConfig(policy=name, learning_rate=0.01, exploration=0.5, prior_tau=1.0, window=7)
    scheduler = build_scheduler(config, CORPUS, seed=1)
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
    assert type(build_scheduler(ScheduleConfig(policy="odm"), CORPUS, seed=1).policy) is Odm


@pytest.mark.parametrize(("key", "near"), [("policy", "exp4"), ("reward", "dev-pgnrm")])
def test_a_name_that_is_not_in_the_table_is_refused_with_the_nearest(key, near):
    with pytest.raises(ValueError, match=rf"{key} is '{near}', which does not exist; did you mean"):
        ScheduleConfig(**{key: near})


def test_unimax_is_uniform_but_for_what_would_be_repeated_too_often():
    scheduler = build_scheduler(ScheduleConfig(policy="unimax", max_epochs=5), CORPUS, seed=1, rows=8)
    assert np.allclose(scheduler.probs(), [500 / 3000, 1250 / 3000, 1250 / 3000])
    pull = scheduler.pull()
    assert pull.rows is not None and sum(pull.rows) == 8 and scheduler.name(pull) == "composition"


@pytest.mark.parametrize(
    ("objective", "counts", "parts"),
    [
        ({}, [1, 1, 0], [1, 1, 0.25]),
        ({"b": 2.0}, [0, 1, 0], [0.25, 1, 0.25]),
        ({"a": 1.0, "b": 2.0}, [0.5, 1, 0], [1, 1, 0.25]),
    ],
)
def test_auto_knows_what_counts_and_what_does_not_starts_with_a_quarter_of_a_share(objective, counts, parts):
    config = ScheduleConfig(policy="auto", objective=objective)
    policy = build_scheduler(config, CORPUS, seed=1, rows=8).policy
    prior = unimax_probs(CORPUS.tokens, CORPUS.planned, 10.0, parts)
    assert np.allclose(policy.probs(), prior, rtol=1e-12)
    assert policy.counts.tolist() == counts


def test_what_only_helps_starts_with_no_more_than_what_counts():
    names = [f"f{index}" for index in range(11)]
    corpus = Corpus(names, [1000] * 11, [10_000] * 11, planned=20_000.0, with_dev=[True] * 11)
    policy = build_scheduler(ScheduleConfig(policy="auto", objective={"f3": 1}), corpus, 1, 8).policy
    assert math.isclose(policy.probs()[3], 0.5) and np.allclose(np.delete(policy.probs(), 3), 0.05)


def test_auto_without_evidence_is_unimax_batch_for_batch():
    corpus = replace(CORPUS, with_dev=[True, True, True])
    auto, unimax = (
        build_scheduler(ScheduleConfig(policy=name), corpus, 1, 64) for name in ("auto", "unimax")
    )
    for _ in range(200):
        assert auto.pull().rows == unimax.pull().rows


def test_batches_may_be_mixed_for_every_policy_but_that_of_the_whole():
    assert ScheduleConfig(policy="exp3").draws == "facet"
    assert ScheduleConfig(policy="exp3", batches="mixed").draws == "composition"
    assert ScheduleConfig(policy="auto", batches="homogeneous").draws == "facet"
    with pytest.raises(ValueError, match="batches cannot be set for mixed"):
        ScheduleConfig(policy="mixed", batches="homogeneous")


@pytest.mark.parametrize("numbers", [{"a": -1.0}, {"a": math.nan}, {"a": 0.0}])
@pytest.mark.parametrize("key", ["objective", "shares"])
def test_objective_and_shares_need_a_number_above_0(key, numbers):
    with pytest.raises(ValueError, match=f"{key} gives"):
        ScheduleConfig(policy="static", **{key: numbers})


def test_static_shares_are_given_by_name():
    config = ScheduleConfig(policy="static", shares={"c": 3.0, "a": 1.0})
    assert build_scheduler(config, CORPUS, seed=1).probs().tolist() == [0.25, 0.0, 0.75]
    assert config.label == "static (c 75 %, a 25 %)"
    four = {"a": 1.0, "b": 1.0, "c": 7.0, "d": 1.0}
    assert ScheduleConfig(policy="static", shares=four).label == "static (c 70 %, a 10 %, 2 more)"
    with pytest.raises(ValueError, match="shares are of policy static, not of exp3"):
        ScheduleConfig(policy="exp3", shares={"a": 1.0})
