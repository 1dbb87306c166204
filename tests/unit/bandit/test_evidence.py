import json
import math

import numpy as np
import pytest

from facetmt.bandit.evidence import Estimate, Mean, Slope, shrunk


def test_a_mean_weighs_by_the_step():
    mean = Mean(2)
    mean.add(100, np.array([1.0, math.nan]), np.array([0.1, 0.1]))
    mean.add(300, np.array([2.0, 5.0]), np.array([0.1, 0.2]))
    estimate = mean.estimate()
    assert np.allclose(estimate.value, [1.75, 5.0])
    assert math.isclose(estimate.error[1], 0.2)


def test_what_was_never_measured_is_unknown():
    estimate = Mean(2).estimate()
    assert estimate.value.tolist() == [0, 0] and not estimate.known.any()


@pytest.mark.parametrize("claimed", [0.0, 0.3])
def test_the_error_of_a_mean_is_true_and_never_below_the_scatter(claimed):
    rng = np.random.default_rng(1)
    mean = Mean(2000)  # as many trials
    for step in range(50, 2001, 50):
        mean.add(step, rng.normal(1.0, 0.3, 2000), np.full(2000, claimed))
    estimate = mean.estimate()
    assert math.isclose(estimate.value.std(), float(np.median(estimate.error)), rel_tol=0.1)


def test_a_slope_is_that_of_log_time_and_levels_drop_out():
    slope = Slope(2)
    for step in range(100, 1001, 50):
        slope.add(step, np.array([4.0 - 0.7 * math.log(step), 9.0 + 0.2 * math.log(step)]))
    estimate = slope.estimate()
    assert np.allclose(estimate.value, [0.7, -0.2], atol=1e-9)
    assert np.all(estimate.error < 1e-5)


def test_the_error_of_a_slope_is_true():
    rng = np.random.default_rng(2)
    slope = Slope(2000)
    for step in range(50, 2001, 50):
        slope.add(step, 4.0 - 0.5 * math.log(step) + rng.normal(0, 0.05, 2000))
    estimate = slope.estimate()
    assert abs(estimate.value.mean() - 0.5) < 0.01
    assert math.isclose(estimate.value.std(), float(np.median(estimate.error)), rel_tol=0.1)


def test_the_error_of_a_slope_knows_that_other_rows_have_other_slopes():
    """Four groups of rows whose slopes differ by 0.2: the mean of four is off by 0.1."""
    rng = np.random.default_rng(3)
    slope, tilt = Slope(1000, 4), rng.normal(0, 0.2, (4, 1000))
    for step in range(50, 2001, 50):
        slope.add(step, 4.0 - (0.5 + tilt) * math.log(step) + rng.normal(0, 0.01, (4, 1000)))
    estimate = slope.estimate()
    assert math.isclose(estimate.value.std(), 0.1, rel_tol=0.1)
    assert math.isclose(math.sqrt(np.mean(estimate.error**2)), 0.1, rel_tol=0.1)


def test_a_facet_with_a_single_group_of_rows_has_no_known_slope():
    slope = Slope(2, 3)
    for step in range(50, 2001, 50):
        values = np.full((3, 2), 4.0 - 0.5 * math.log(step))
        values[1:, 1] = math.nan
        slope.add(step, values)
    assert slope.estimate().known.tolist() == [True, False]


def test_facets_of_grouped_slopes_may_change_places():
    saved, restored = Slope(2, 3), Slope(3, 3)
    for step in range(50, 501, 50):
        saved.add(step, 4.0 - np.array([0.5, 0.2]) * math.log(step) * np.array([[0.9], [1.0], [1.1]]))
    restored.restore(saved.state(), [1, None, 0])
    assert np.array_equal(restored.estimate().value[[2, 0]], saved.estimate().value)
    assert restored.estimate().known.tolist() == [True, False, True]


def test_a_few_points_are_no_slope():
    slope = Slope(1)
    for step in (10, 20, 30, 40):
        slope.add(step, np.array([1.0]))
    assert not slope.estimate().known.any()


@pytest.mark.parametrize("kind", [Mean, Slope])
def test_sums_are_kept_to_the_bit_and_facets_may_change_places(kind):
    whole, half = kind(3), kind(3)
    rng = np.random.default_rng(3)
    values = rng.normal(3, 1, (20, 3))
    for index, row in enumerate(values):
        whole.add(10 + index, row, np.ones(3))
    for index, row in enumerate(values[:9]):
        half.add(10 + index, row, np.ones(3))
    rest = kind(3)
    rest.restore(json.loads(json.dumps(half.state())), range(3))
    for index, row in enumerate(values[9:], start=9):
        rest.add(10 + index, row, np.ones(3))
    assert rest.state() == whole.state()
    moved = kind(3)
    moved.restore(whole.state(), [2, None, 0])
    assert moved.estimate().known.tolist() == [True, False, True]
    assert moved.estimate().value[0] == whole.estimate().value[2]


def test_differences_are_shrunk_by_signal_over_signal_and_noise():
    values = np.array([0.0, 2.0])
    mean, apart = shrunk(Estimate(values, np.zeros(2)), np.ones(2))
    assert mean == 1.0 and apart.tolist() == [-1.0, 1.0]
    # variance 2 between them, of which 1 is noise: signal 1, signal/(signal + noise) = 1/2
    mean, apart = shrunk(Estimate(values, np.ones(2)), np.ones(2))
    assert mean == 1.0 and np.allclose(apart, [-0.5, 0.5])


def test_differences_within_the_error_are_none():
    _, apart = shrunk(Estimate(np.array([0.0, 2.0]), np.full(2, 3.0)), np.ones(2))
    assert apart.tolist() == [0.0, 0.0]


def test_facets_without_weight_or_knowledge_have_no_part():
    estimate = Estimate(np.array([1.0, 3.0, 50.0, 7.0]), np.array([0.0, 0.0, math.inf, 0.0]))
    mean, apart = shrunk(estimate, np.array([1.0, 1.0, 1.0, 0.0]))
    assert mean == 2.0 and apart.tolist() == [-1.0, 1.0, 0.0, 0.0]
    assert shrunk(estimate, np.zeros(4))[0] == 0.0
