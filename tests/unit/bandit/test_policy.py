import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.bandit import Static, temperature_probs
from facetmt.bandit.policy import draw

# Training pairs of the five domains in the paper's multi-domain table, in thousands.
DOMAINS = [248.0, 467.3, 222.9, 18.0, 500.0]


def test_temperature_one_is_proportional():
    assert np.allclose(temperature_probs(DOMAINS, 1), np.array(DOMAINS) / sum(DOMAINS), atol=1e-15)


def test_temperature_infinity_is_uniform():
    assert np.allclose(temperature_probs(DOMAINS, math.inf), 0.2, atol=1e-15)


def test_temperature_five_takes_the_fifth_root():
    roots = np.array(DOMAINS) ** 0.2
    assert np.allclose(temperature_probs(DOMAINS, 5), roots / roots.sum(), atol=1e-15)


def test_temperature_minus_one_is_inverse():
    inverse = 1 / np.array(DOMAINS)
    assert np.allclose(temperature_probs(DOMAINS, -1), inverse / inverse.sum(), atol=1e-15)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=200), st.floats(allow_nan=False))
def test_any_temperature_gives_a_distribution_in_the_order_of_the_sizes(sizes, tau):
    if tau == 0:
        return
    probs = temperature_probs(sizes, tau)
    assert np.all(np.isfinite(probs)) and math.isclose(probs.sum(), 1, abs_tol=1e-12)
    order = np.argsort(sizes, kind="stable")
    steps = np.diff(probs[order])
    assert np.all(steps >= -1e-15) if tau > 0 else np.all(steps <= 1e-15)


@pytest.mark.parametrize("tau", [0.0, math.nan])
def test_impossible_temperatures_are_refused(tau):
    with pytest.raises(ValueError, match="tau must be a number other than 0"):
        temperature_probs([1, 2], tau)


@pytest.mark.parametrize("sizes", [[], [0, 1], [-1, 2], [math.inf, 1], [[1, 2]]])
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="positive finite"):
        temperature_probs(sizes, 1)


@pytest.mark.parametrize("probs", [[], [0.5, 0.6], [1.5, -0.5], [math.nan, 1.0]])
def test_what_is_no_distribution_is_refused(probs):
    with pytest.raises(ValueError, match="probabilities must"):
        Static(probs)


def test_draws_follow_the_distribution_and_carry_its_probability():
    probs = np.array([0.5, 0.0, 0.3, 0.2])
    rng = np.random.default_rng(7)
    pulls = [draw(probs, rng) for _ in range(20_000)]
    counts = np.bincount([pull.arm for pull in pulls], minlength=4) / len(pulls)
    assert counts[1] == 0
    assert np.abs(counts - probs).max() < 0.012  # about 3.5 standard deviations
    assert all(pull.prob == probs[pull.arm] for pull in pulls)


def test_the_last_uniform_number_below_one_draws_the_last_arm():
    class Top:
        def random(self) -> float:
            return math.nextafter(1.0, 0.0)

    assert draw(np.array([0.1] * 10), Top()).arm == 9
