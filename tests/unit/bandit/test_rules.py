"""The rules of `auto` by themselves; what they do to the shares of a run is in test_auto."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.bandit.evidence import Estimate
from facetmt.bandit.rules import (
    LEAST_SLOPE,
    LOWEST,
    REPEATED,
    alignment_drift,
    overfitting_drift,
    slope_target,
    typical_error,
    use_target,
    usual_use,
    worn,
)

ALL = np.ones(4)
VALUES = st.lists(st.floats(-3, 3), min_size=4, max_size=4)
ERRORS = st.lists(st.one_of(st.floats(1e-6, 2), st.just(math.inf)), min_size=4, max_size=4)


def known(values, errors=0.01):
    return Estimate(np.array(values, float), np.broadcast_to(np.array(errors, float), len(values)).copy())


@given(VALUES, ERRORS)
def test_targets_and_drifts_are_finite_and_bounded(values, errors):
    estimate = known(values, errors)
    use = use_target(estimate, ALL)
    assert np.all((use >= LOWEST) & (use <= 0))
    slopes = slope_target(estimate, ALL)
    if slopes is not None:
        assert np.all(np.isfinite(slopes)) and np.all(slopes >= math.log(LEAST_SLOPE) - 1e-12)
    assert np.all(np.abs(overfitting_drift(estimate, np.full(4, 9.0))) <= 1)
    drift = alignment_drift(estimate, known([1.0]), np.array([1.0, 0, 0, 0]))
    assert drift is not None and np.all(np.isfinite(drift)) and abs(drift.sum()) < 1e-9


@given(VALUES)
def test_nothing_follows_from_what_is_not_known(values):
    unknown = known(values, math.inf)
    assert slope_target(unknown, ALL) is None
    assert not use_target(unknown, ALL).any()
    assert not overfitting_drift(unknown, np.full(4, 9.0)).any()
    assert typical_error(unknown, ALL) == math.inf


def test_slopes_that_are_surely_apart_become_shares_in_proportion():
    target = slope_target(known([0.8, 0.4, 0.4, 0.4], 1e-4), ALL)
    assert target is not None
    np.testing.assert_allclose(target[0] - target[1], math.log(2), atol=1e-3)
    assert slope_target(known([0.8, 0.4, 0.4, 0.4], 1.0), ALL) is None  # within their errors


@pytest.mark.parametrize(("noise", "least", "most"), [(0.0, LOWEST, LOWEST), (0.2, 0, 0), (0.5, 0, 0)])
def test_text_is_useless_only_where_its_sources_hardly_matter(noise, least, most):
    target = use_target(known([0.5, 0.6, 0.4, noise]), ALL)
    assert least <= target[3] <= most and not target[:3].any()


@given(st.floats(-0.5, 0.5), st.floats(0, 0.5))
def test_more_use_is_never_worse(use, more):
    counting = np.array([1.0, 1.0, 1.0, 0.0])
    lower, higher = (use_target(known([0.5, 0.6, 0.4, u], 0.05), counting)[3] for u in (use, use + more))
    assert lower <= higher


def test_the_usual_use_is_that_of_the_facets_that_count():
    median, error = usual_use(known([0.5, 0.7, 9.0, 9.0], 0.1), np.array([1.0, 1.0, 0, 0]))
    assert math.isclose(median, 0.6) and math.isclose(error, 1.25 * 0.1 / math.sqrt(2))
    assert usual_use(known([0.5] * 4), np.zeros(4)) == (0.0, 0.0)


def test_alignment_moves_helpers_apart_and_what_counts_together():
    counts = np.array([1.0, 1.0, 0, 0])
    drift = alignment_drift(known([0.5, -0.1, 0.6, -1.0], 1e-4), known([1.0]), counts)
    assert drift is not None
    assert drift[0] == drift[1] and drift[2] > drift[0] > drift[3]
    assert alignment_drift(known([0.5, -0.1, 0.6, -1.0]), known([0.1], 0.1), counts) is None


def test_a_rising_dev_loss_counts_against_text_only_while_it_repeats():
    slopes = known([-0.5, -0.5, 0.5, 0.001])
    drift = overfitting_drift(slopes, np.array([REPEATED + 1, 1.0, 9.0, 9.0]))
    assert drift[0] < -0.9 and drift[1] == 0 and drift[2] > 0.9 and drift[3] == 0


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=5))
def test_text_wears_out_after_four_epochs(epochs):
    lost = worn(np.array(epochs))
    assert np.all((lost <= 0) & (lost >= LOWEST))
    assert np.array_equal(lost == 0, np.array(epochs) <= REPEATED)
