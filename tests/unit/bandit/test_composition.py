import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.bandit import Exp3, Exp3S
from facetmt.bandit.composition import draw_composition, row_counts
from facetmt.bandit.policy import draw

weights = st.lists(st.floats(1e-6, 1), min_size=1, max_size=200)


class Number:
    """A generator that draws one given number, once."""

    def __init__(self, value: float) -> None:
        self.value, self.draws = value, 0

    def random(self) -> float:
        self.draws += 1
        return self.value


LAST = 1 - 2**-53  # the largest number that random() gives
uniform = st.sampled_from([0.0, 0.5, LAST]) | st.floats(0, LAST)


@given(weights, st.integers(0, 512), uniform)
def test_rows_are_all_shared_out_and_each_count_is_a_neighbour_of_its_share(values, rows, number):
    shares = np.array(values) / sum(values)
    rng = Number(number)
    counts = row_counts(shares, rows, rng)
    assert rng.draws == 1 and counts.dtype == np.int64
    assert counts.sum() == rows
    exact = rows * shares / shares.sum()
    assert np.all(counts >= np.floor(exact - 1e-9)) and np.all(counts <= np.ceil(exact + 1e-9))


@given(uniform)
def test_whole_shares_are_kept_to_the_row(number):
    assert row_counts(np.array([0.25, 0.5, 0.0, 0.25]), 24, Number(number)).tolist() == [6, 12, 0, 6]
    assert row_counts(np.array([0.0, 1.0, 0.0]), 7, Number(number)).tolist() == [0, 7, 0]


@pytest.mark.parametrize("rows", [1, 24, 64])
def test_counts_are_unbiased_down_to_a_share_of_a_thousandth(rows):
    shares = np.array([0.001, 0.649, 0.002, 0.3, 0.0475, 0.0005])
    rng = np.random.default_rng(7)
    batches = 20_000
    total = sum(row_counts(shares, rows, rng) for _ in range(batches))
    fraction = rows * shares - np.floor(rows * shares)
    error = np.sqrt(batches * fraction * (1 - fraction))  # each count is floor, or one more with `fraction`
    z = (total - batches * rows * shares) / error
    assert np.abs(z).max() < 3.5
    assert total.min() > 0


PI = np.array([0.5, 0.3, 0.15, 0.05])
GAINS = np.array([0.4, -0.2, 0.9, 0.1])  # r of the linear reward y = r·c


@pytest.mark.parametrize("kappa", [0.3, 5.0, 60.0])
def test_the_credit_is_unbiased_for_a_linear_reward(kappa):
    rng = np.random.default_rng(3)
    seen = []
    for _ in range(20_000):
        composition = draw_composition(PI, kappa, rng)
        x = np.zeros(4)
        for arm, share in composition.credit:
            x[arm] += share
        seen.append(x * (composition.shares @ GAINS))
    values = np.array(seen)
    error = values.std(axis=0) / math.sqrt(len(values))
    z = (values.mean(axis=0) - (GAINS - PI @ GAINS)) / error  # E[x·y] = r − π·r
    assert np.abs(z).max() < 3.5
    assert error.max() < 0.1  # so that the test would see a wrong factor


def test_a_small_kappa_draws_one_facet_with_its_probability_and_exp3s_credit_less_one():
    rng = np.random.default_rng(5)
    drawn = np.zeros(4)
    for _ in range(4_000):
        composition = draw_composition(PI, 1e-9, rng)
        arm = int(composition.shares.argmax())
        drawn[arm] += 1
        assert composition.shares[arm] > 1 - 1e-9
        expected = -np.ones(4)
        expected[arm] += 1 / PI[arm]
        assert np.allclose([share for _, share in composition.credit], expected, atol=1e-6)
    z = (drawn - 4_000 * PI) / np.sqrt(4_000 * PI * (1 - PI))
    assert np.abs(z).max() < 3.5


@pytest.mark.parametrize("kind", [Exp3, Exp3S])
def test_kappa_zero_is_exp3_pull_for_pull(kind):
    plain, mixed = kind(5), kind(5)
    first, second = np.random.default_rng(9), np.random.default_rng(9)
    rewards = np.random.default_rng(1).uniform(-1, 1, 500)
    for reward in rewards.tolist():
        pull = draw(plain.probs(), first)
        composition = draw_composition(mixed.probs(), 0.0, second)
        assert composition.shares.tolist() == np.eye(5)[pull.arm].tolist()
        assert composition.credit == pull.credit
        plain.update(pull.credit, reward)
        mixed.update(composition.credit, reward)
        assert plain.probs().tobytes() == mixed.probs().tobytes()
    assert first.bit_generator.state == second.bit_generator.state


@pytest.mark.parametrize("kind", [Exp3, Exp3S])
def test_the_limit_of_the_credit_gives_the_same_probabilities(kind):
    """x = 1[a]/π − 1 differs by what all weights share: the softmax is the same up to rounding."""
    plain, limit = kind(4), kind(4)
    rng = np.random.default_rng(2)
    for reward in rng.uniform(-1, 1, 200).tolist():
        pull = draw(plain.probs(), rng)
        plain.update(pull.credit, reward)
        limit.update([(arm, (arm == pull.arm) / pull.prob - 1) for arm in range(4)], reward)
        assert np.allclose(plain.probs(), limit.probs(), atol=1e-12)


def test_an_infinite_kappa_is_the_mixture_itself():
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    composition = draw_composition(PI, math.inf, rng)
    assert composition.shares.tolist() == PI.tolist() and composition.credit == ()
    assert rng.bit_generator.state == before


def test_a_facet_without_probability_is_never_drawn_and_earns_nothing():
    for kappa in (0.0, 1e-3, 8.0):
        composition = draw_composition(np.array([0.6, 0.0, 0.4]), kappa, np.random.default_rng(1))
        assert composition.shares[1] == 0 and 1 not in dict(composition.credit)
        assert math.isclose(composition.shares.sum(), 1, abs_tol=1e-12)


@pytest.mark.parametrize("kappa", [-1.0, math.nan])
def test_an_impossible_kappa_is_refused(kappa):
    with pytest.raises(ValueError, match="kappa must be"):
        draw_composition(PI, kappa, np.random.default_rng(1))


def test_shares_cannot_be_written_to():
    for kappa in (0.0, 3.0):
        with pytest.raises(ValueError, match="read-only"):
            draw_composition(PI, kappa, np.random.default_rng(1)).shares[0] = 1.0
