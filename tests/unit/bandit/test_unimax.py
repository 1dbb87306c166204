import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.bandit.unimax import unimax_probs

sizes = st.lists(st.integers(1, 10**9), min_size=1, max_size=60)
budgets = st.floats(1, 1e13)
caps = st.sampled_from([1.0, 4.0, 10.0])


def test_by_hand():
    # 280 tokens may fill 2,800 of 100,000; the other two share the rest
    shares = unimax_probs([50_000, 280, 90_000], budget=100_000)
    assert np.allclose(shares, [0.486, 0.028, 0.486], atol=1e-12)


def test_what_a_capped_facet_leaves_may_be_too_much_for_the_next():
    shares = unimax_probs([10, 100, 10_000], budget=6_000, cap=10)
    assert np.allclose(shares * 6_000, [100, 1_000, 4_900], atol=1e-9)


def test_weights_by_hand():
    # the second facet counts half; the third is capped
    shares = unimax_probs([50_000, 60_000, 280], budget=100_000, weights=[1.0, 0.5, 1.0])
    assert np.allclose(shares, [0.972 * 2 / 3, 0.972 / 3, 0.028], atol=1e-12)
    with pytest.raises(ValueError, match="weights must be positive"):
        unimax_probs([1, 2], 10, weights=[1.0, 0.0])


@given(sizes, budgets, caps)
def test_a_distribution_in_the_order_of_the_sizes(tokens, budget, cap):
    shares = unimax_probs(tokens, budget, cap)
    assert math.isclose(shares.sum(), 1, abs_tol=1e-12)
    ordered = shares[np.argsort(tokens, kind="stable")]
    assert np.all(np.diff(ordered) >= -1e-12)


@given(sizes, budgets, caps)
def test_nobody_passes_the_cap_unless_all_do(tokens, budget, cap):
    epochs = unimax_probs(tokens, budget, cap) * budget / np.array(tokens)
    if cap * sum(tokens) >= budget:
        assert epochs.max() <= cap * (1 + 1e-9)
    else:
        assert np.allclose(epochs, budget / sum(tokens), rtol=1e-9)  # in proportion to size


@given(sizes, budgets, caps)
def test_all_below_the_cap_have_the_same_share(tokens, budget, cap):
    shares = unimax_probs(tokens, budget, cap)
    free = shares[shares * budget < cap * np.array(tokens) * (1 - 1e-9)]
    assert np.allclose(free, shares.max(), rtol=1e-9)


@given(sizes, caps)
def test_a_small_budget_is_shared_evenly(tokens, cap):
    shares = unimax_probs(tokens, min(tokens) * cap, cap)
    assert np.allclose(shares, 1 / len(tokens), atol=1e-12)


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=20), st.integers(1, 10**6), budgets)
def test_more_text_never_lowers_a_share(tokens, more, budget):
    grown = [tokens[0] + more, *tokens[1:]]
    assert unimax_probs(grown, budget)[0] >= unimax_probs(tokens, budget)[0] - 1e-12


@pytest.mark.parametrize("tokens", [[], [0, 1], [-1, 2], [math.nan, 1], [[1, 2]]])
def test_impossible_sizes_are_refused(tokens):
    with pytest.raises(ValueError, match="positive finite"):
        unimax_probs(tokens, 10)


@pytest.mark.parametrize(("budget", "cap"), [(0, 10), (-1, 10), (math.nan, 10), (math.inf, 10), (10, 0)])
def test_impossible_budgets_are_refused(budget, cap):
    with pytest.raises(ValueError, match="must be positive"):
        unimax_probs([1, 2], budget, cap)
