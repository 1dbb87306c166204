import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.bandit import Pull, QuantileScaler
from facetmt.bandit.config import ScheduleConfig, build_scheduler
from facetmt.bandit.odm import AsMeasured, Odm, exploration
from facetmt.bandit.schedules import Corpus

losses = st.lists(st.floats(0, 50), max_size=60)


def play(policy, stream, seed=0):
    rng = np.random.default_rng(seed)
    for loss in stream:
        probs = policy.probs()
        arm = int(rng.choice(policy.arms, p=probs / probs.sum()))
        policy.update(Pull(arm, float(probs[arm])).credit, loss)


@given(st.integers(2, 198), st.integers(1, 10**7))
def test_exploration_follows_its_formula_and_falls(arms, t):
    now = exploration(arms, t)
    assert now == min(1 / arms, math.sqrt(math.log(arms) / (arms * t)))
    assert exploration(arms, t + 1) <= now
    assert (now == 1 / arms) == (t <= arms * math.log(arms))


@given(st.integers(1, 198), losses, st.integers(0, 99))
@settings(max_examples=60)
def test_every_arm_keeps_at_least_the_exploration(arms, stream, seed):
    policy = Odm(arms)
    play(policy, stream, seed)
    assert math.isclose(policy.probs().sum(), 1.0, abs_tol=1e-12)
    assert policy.probs().min() >= policy.exploration


@given(losses, st.integers(0, 99))
@settings(max_examples=40)
def test_probabilities_are_the_published_formula(stream, seed):
    policy, returns, arms = Odm(4), np.zeros(4), 4
    rng = np.random.default_rng(seed)
    for t, loss in enumerate(stream, 1):
        now, before = exploration(arms, t), exploration(arms, t - 1)
        shares = np.exp(before * (returns - returns.max()))
        expected = (1 - arms * now) * shares / shares.sum() + now
        assert np.allclose(policy.probs(), expected, atol=1e-12)
        arm = int(rng.integers(arms))
        policy.update(Pull(arm, float(expected[arm])).credit, loss)
        returns[arm] += loss / expected[arm]


def test_uniform_while_exploration_is_at_its_highest():
    policy = Odm(5)
    play(policy, [3.0] * 7)  # 5 ln 5 = 8.05
    assert np.allclose(policy.probs(), 0.2)


def test_the_arm_with_the_highest_loss_is_preferred_in_the_end():
    policy, rng = Odm(3), np.random.default_rng(1)
    for _ in range(4000):
        arm = int(rng.choice(3, p=policy.probs()))
        policy.update(Pull(arm, float(policy.probs()[arm])).credit, (2.0, 2.2, 3.0)[arm])
    assert policy.probs().argmax() == 2
    assert policy.probs()[2] > 0.8


@given(losses, st.integers(0, 60))
@settings(max_examples=40)
def test_restore_continues_bit_for_bit(stream, cut):
    whole, first, second = Odm(5), Odm(5), Odm(5)
    for policy, part in ((whole, stream), (first, stream[:cut])):
        for index, loss in enumerate(part):
            policy.update(Pull(index % 5, 0.1 + 0.01 * index).credit, loss)
    second.restore(json.loads(json.dumps(first.state())), range(5))
    for index, loss in enumerate(stream[cut:], cut):
        second.update(Pull(index % 5, 0.1 + 0.01 * index).credit, loss)
    assert second.probs().tobytes() == whole.probs().tobytes()
    assert second.state() == whole.state()


def test_a_new_arm_starts_with_an_equal_share_and_the_others_keep_their_order():
    old, new = Odm(3), Odm(3)
    for index in range(300):
        old.update(Pull(index % 3, 0.3).credit, (1.0, 1.5, 2.0)[index % 3])
    new.restore(old.state(), [2, None, 0])
    probs = new.probs()
    assert math.isclose(probs[1], 1 / 3, abs_tol=1e-9)
    assert probs[0] > probs[1] > probs[2]


def test_only_new_arms_start_uniform():
    policy = Odm(2)
    policy.restore(Odm(3).state(), [None, None])
    assert np.allclose(policy.probs(), 0.5)


def test_no_arm_is_refused():
    with pytest.raises(ValueError, match="at least one arm"):
        Odm(0)


def test_the_schedule_feeds_it_the_plain_loss():
    scheduler = build_scheduler(
        ScheduleConfig(policy="odm", reward="loss"), Corpus(["a", "b"], [1, 9]), seed=1
    )
    assert type(scheduler.policy) is Odm
    rows = [scheduler.feedback(scheduler.pull(), before=loss) for loss in (4.0, 3.5, 7.25)]
    assert [row.scaled for row in rows] == [4.0, 3.5, 7.25]


def test_unscaled_rewards_are_still_counted_for_health():
    plain, scaled = AsMeasured(10), QuantileScaler(10)
    for reward in (1.0, 5.0, 2.0, 9.0, 0.0):
        assert plain.scale(reward) == reward
        scaled.scale(reward)
    assert plain.saturation == scaled.saturation > 0
