"""The contract that every policy keeps, whatever it learns. A new policy adds a row to BUILD."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.bandit import Exp3, Exp3S, Policy, Pull, Static, temperature_probs
from facetmt.bandit.auto import Auto
from facetmt.bandit.multidds import MultiDds
from facetmt.bandit.odm import Odm
from facetmt.bandit.unimax import Unimax, unimax_probs

BUILD: dict[str, Callable[[int, float, float], Policy]] = {
    "exp3": lambda n, mu, gamma: Exp3(n, learning_rate=mu, exploration=gamma),
    "exp3-prior": lambda n, mu, gamma: Exp3(
        n, learning_rate=mu, exploration=gamma, prior=temperature_probs(range(1, n + 1), 5)
    ),
    "exp3s": lambda n, mu, gamma: Exp3S(n, learning_rate=mu, exploration=gamma),
    "odm": lambda n, mu, gamma: Odm(n),
    "multidds": lambda n, mu, gamma: MultiDds(
        n, learning_rate=mu, prior=temperature_probs(range(1, n + 1), 1)
    ),
    "static": lambda n, mu, gamma: Static(temperature_probs(range(1, n + 1), 1)),
    "unimax": lambda n, mu, gamma: Unimax(unimax_probs(range(1, n + 1), 5 * n * n, 10)),
    "auto": lambda n, mu, gamma: Auto([f"f{arm}" for arm in range(n)], unimax_probs(range(1, n + 1), 5 * n)),
}
FLOOR = {"exp3", "exp3-prior", "exp3s"}  # policies that promise every arm at least γ/n

policies = pytest.mark.parametrize("kind", BUILD)
arms = st.sampled_from([1, 2, 5, 99, 198])
exploration = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
rewards = st.lists(st.floats(-1, 1), max_size=40)


def play(policy: Policy, stream: list[float], rng: np.random.Generator) -> list[int]:
    drawn = []
    for reward in stream:
        probs = policy.probs()
        arm = int(rng.choice(policy.arms, p=probs / probs.sum()))
        policy.update(Pull(arm, float(probs[arm])).credit, reward)
        drawn.append(arm)
    return drawn


def check_distribution(policy: Policy, kind: str, gamma: float) -> None:
    probs = policy.probs()
    assert probs.shape == (policy.arms,)
    assert np.all(np.isfinite(probs))
    assert np.all(probs >= 0)
    assert math.isclose(probs.sum(), 1.0, abs_tol=1e-12)
    if kind in FLOOR:
        assert probs.min() >= gamma / policy.arms


@policies
@given(
    n=arms, gamma=exploration, mu=st.sampled_from([0.001, 0.1, 10.0]), stream=rewards, seed=st.integers(0, 99)
)
@settings(max_examples=40, deadline=None)
def test_always_a_distribution(kind, n, gamma, mu, stream, seed):
    policy = BUILD[kind](n, mu, gamma)
    play(policy, stream, np.random.default_rng(seed))
    check_distribution(policy, kind, gamma)


@policies
@given(n=arms, gamma=exploration, stream=rewards, seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_extreme_weights_stay_a_distribution(kind, n, gamma, stream, seed):
    policy = BUILD[kind](n, 0.1, gamma)
    state = policy.state()
    if "weights" in state:
        rng = np.random.default_rng(seed)
        state["weights"] = rng.uniform(-1e6, 1e6, n).tolist()
        policy.restore(state, range(n))
    check_distribution(policy, kind, gamma)
    play(policy, stream, np.random.default_rng(seed))
    check_distribution(policy, kind, gamma)


@policies
@given(n=arms, credit=st.floats(1, 1e308), reward=st.floats(-1, 1))
@settings(max_examples=40, deadline=None)
def test_a_vanishing_probability_cannot_break_it(kind, n, credit, reward):
    policy = BUILD[kind](n, 0.1, 0.0)
    for _ in range(5):
        policy.update(((n - 1, credit),), reward)
        check_distribution(policy, kind, 0.0)


@policies
@given(stream=rewards, cut=st.integers(0, 40), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_restore_continues_bit_for_bit(kind, stream, cut, seed):
    whole, first, second = (BUILD[kind](5, 0.1, 0.25) for _ in range(3))
    rng = np.random.default_rng(seed)
    drawn = play(whole, stream, rng)
    rng = np.random.default_rng(seed)
    head = play(first, stream[:cut], rng)
    second.restore(json.loads(json.dumps(first.state())), range(5))
    assert head + play(second, stream[cut:], rng) == drawn
    assert second.probs().tobytes() == whole.probs().tobytes()


@policies
def test_the_state_of_another_policy_is_refused(kind):
    policy = BUILD[kind](3, 0.1, 0.25)
    with pytest.raises(ValueError, match="state of a 'other' policy"):
        policy.restore({**policy.state(), "kind": "other"}, range(3))


@policies
def test_probabilities_cannot_be_written_to(kind):
    with pytest.raises(ValueError, match="read-only"):
        BUILD[kind](3, 0.1, 0.25).probs()[0] = 1.0


@policies
def test_probabilities_that_were_handed_out_do_not_change(kind):
    policy = BUILD[kind](3, 0.1, 0.25)
    before = policy.probs()
    copy = before.copy()
    policy.update(Pull(1, 0.3).credit, 1.0)
    policy.probs()
    assert np.array_equal(before, copy)
