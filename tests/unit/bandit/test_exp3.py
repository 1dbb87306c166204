"""EXP3 and EXP3.S against the same algorithms in 50-digit decimal arithmetic."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

from facetmt.bandit import Exp3, Exp3S, Pull, temperature_probs

STEPS = 10_000


def exact_probs(weights: list[Decimal], gamma: Decimal) -> list[Decimal]:
    """π(a) = (1−γ)·exp(w_a)/Σexp(w) + γ/n: Decimal's exponent range makes the raw exp safe."""
    shares = [weight.exp() for weight in weights]
    total = sum(shares)
    return [(1 - gamma) * share / total + gamma / len(weights) for share in shares]


def exact_share(weights: list[Decimal], alpha: Decimal) -> list[Decimal]:
    """w_i = ln[(1−α)·exp(w_i) + α/(n−1)·Σ_{j≠i} exp(w_j)]"""
    shares = [weight.exp() for weight in weights]
    total = sum(shares)
    return [((1 - alpha) * s + alpha / (len(weights) - 1) * (total - s)).ln() for s in shares]


def largest_difference(policy: Exp3, rewards: np.ndarray, check_every: int) -> float:
    getcontext().prec = 50
    gamma, mu = Decimal(policy.exploration), Decimal(policy.learning_rate)
    weights = [Decimal(0)] * policy.arms
    rng = np.random.default_rng(3)
    worst = 0.0
    for step, reward in enumerate(rewards, start=1):
        probs = policy.probs()
        arm = int(rng.choice(policy.arms, p=probs / probs.sum()))
        pull = Pull(arm, float(probs[arm]))
        policy.update(pull.credit, float(reward))
        weights[arm] += mu * Decimal(float(reward)) / Decimal(pull.prob)
        if isinstance(policy, Exp3S):
            weights = exact_share(weights, Decimal(1) / step)
        if step % check_every == 0 or step == len(rewards):
            exact = exact_probs(weights, gamma)
            worst = max(
                worst,
                *(abs(float(Decimal(float(p)) - e)) for p, e in zip(policy.probs(), exact, strict=True)),
            )
    return worst


def rewards(mean: float) -> np.ndarray:
    return np.clip(np.random.default_rng(5).normal(mean, 0.5, STEPS), -1, 1)


@pytest.mark.parametrize(
    ("n", "mu", "gamma", "mean"), [(5, 0.1, 0.25, 0.0), (5, 0.1, 0.25, 0.6), (2, 0.01, 0.2, -0.6)]
)
def test_exp3_equals_exact_arithmetic(n, mu, gamma, mean):
    assert largest_difference(Exp3(n, learning_rate=mu, exploration=gamma), rewards(mean), 10) < 1e-9


@pytest.mark.parametrize(("n", "mu", "gamma", "mean"), [(5, 0.1, 0.25, 0.0), (3, 0.1, 0.25, 0.6)])
def test_exp3s_equals_exact_arithmetic(n, mu, gamma, mean):
    assert largest_difference(Exp3S(n, learning_rate=mu, exploration=gamma), rewards(mean), 10) < 1e-9


def test_exp3_stays_exact_where_a_raw_exp_overflows():
    policy = Exp3(5, learning_rate=1.0, exploration=0.1)
    assert largest_difference(policy, rewards(0.8), 10) < 1e-9
    assert policy.weights.max() > 710  # math.exp overflows beyond 709.78
    with pytest.raises(OverflowError):
        math.exp(policy.weights.max())


def test_one_step_by_hand():
    policy = Exp3(2, learning_rate=0.1, exploration=0.5)
    policy.update(Pull(0, 0.5).credit, 1.0)  # w = (0.2, 0)
    share = math.exp(0.2) / (math.exp(0.2) + 1)
    assert math.isclose(policy.probs()[0], 0.5 * share + 0.25, rel_tol=1e-15)


def test_exp3s_first_step_by_hand():
    policy = Exp3S(3, learning_rate=0.1, exploration=0.0)
    policy.update(Pull(0, 1 / 3).credit, 1.0)  # α = 1: each weight becomes the log-mean of the others
    expected = [0.0, math.log((math.exp(0.3) + 1) / 2), math.log((math.exp(0.3) + 1) / 2)]
    assert np.allclose(policy.weights, expected, atol=1e-15)


def test_late_feedback_uses_the_probability_of_the_draw():
    policy = Exp3(2, learning_rate=0.1, exploration=0.5)
    pull = Pull(1, 0.5)
    policy.update(Pull(0, 0.5).credit, 1.0)
    policy.update(pull.credit, 1.0)
    assert policy.weights.tolist() == [0.2, 0.2]


def test_credit_may_name_several_arms():
    policy = Exp3(3, learning_rate=0.1, exploration=0.5)
    policy.update([(0, 1.0), (2, 3.0)], 0.5)
    assert np.allclose(policy.weights, [0.05, 0.0, 0.15], atol=1e-15)


def test_a_prior_is_where_learning_starts():
    prior = temperature_probs([1, 2, 7], 1)
    assert np.allclose(Exp3(3, exploration=0.0, prior=prior).probs(), prior, atol=1e-15)
    mixed = 0.75 * prior + 0.25 / 3
    assert np.allclose(Exp3(3, exploration=0.25, prior=prior).probs(), mixed, atol=1e-15)


def test_added_and_removed_arms():
    policy = Exp3(3, exploration=0.0, prior=[0.2, 0.3, 0.5])
    other = Exp3(3, exploration=0.0)
    other.restore(policy.state(), [2, None, 0])  # arm 1 is gone, a new one stands in the middle
    probs = other.probs()
    assert math.isclose(probs[1], 1 / 3, rel_tol=1e-12)
    assert math.isclose(probs[0] / probs[2], 0.5 / 0.2, rel_tol=1e-12)


def test_all_arms_new_is_uniform():
    policy = Exp3(2, prior=[0.9, 0.1])
    policy.restore(policy.state(), [None, None])
    assert policy.probs().tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": 0}, "at least one arm"),
        ({"arms": 2, "learning_rate": 0.0}, "learning_rate must be positive"),
        ({"arms": 2, "learning_rate": math.nan}, "learning_rate must be positive"),
        ({"arms": 2, "exploration": 1.5}, "between 0 and 1"),
        ({"arms": 2, "prior": [1.0, 0.0]}, "never be unlearned"),
        ({"arms": 2, "prior": [1.0]}, "1 probabilities for 2 arms"),
    ],
)
def test_impossible_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Exp3(**arguments)
