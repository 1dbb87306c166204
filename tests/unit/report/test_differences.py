"""Facets that bring the same are not told apart, and a real difference is seen as often as was promised."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.bandit import Exp3, FacetScheduler
from facetmt.report.differences import POWER, correlation_time, differences


def rewards(seed, facets, steps, better=0.0, correlation=0.5, learning_rate=0.1):
    """The log of a real scheduler: rewards fall, wave, and are correlated in time; facet 0 is `better`."""
    rng = np.random.default_rng(seed)
    policy = Exp3(facets, learning_rate=learning_rate, exploration=0.25)
    scheduler = FacetScheduler(
        [str(n) for n in range(facets)], policy, lambda before, after: after, seed=seed
    )
    arms, scaled, probs, noise = [], [], [], 0.0
    for step in range(steps):
        probs.append(scheduler.probs())
        pull = scheduler.pull()
        noise = correlation * noise + np.sqrt(1 - correlation**2) * rng.standard_normal()
        drift = 3 * np.exp(-step / 200) + 0.5 * np.sin(step / 100)
        record = scheduler.feedback(pull, before=0.0, after=drift + noise + better * (pull.arm == 0))
        arms.append(pull.arm)
        scaled.append(record.scaled)
    return np.array(arms, np.int32), np.array(scaled), probs


@pytest.mark.parametrize(("facets", "steps", "correlation"), [(8, 500, 0.5), (3, 400, 0.9), (20, 400, 0.0)])
def test_equal_facets_are_hardly_ever_told_apart(facets, steps, correlation):
    """However the rewards drift, and the policy follows them: in 5 % of the runs, not of the facets."""
    runs = 80
    found = [differences(*rewards(seed, facets, steps, correlation=correlation)) for seed in range(runs)]
    false = np.mean([one.told.any() for one in found])
    assert false <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / runs)
    z = np.concatenate([one.difference / one.error for one in found])
    assert 0.85 < np.nanstd(z) < 1.15


def test_a_difference_is_seen_as_often_as_promised():
    """Added to the scaled rewards of facet 0, so that its size is known exactly."""
    seen, errors, size = [], [], 0.22
    for seed in range(80):
        arm, scaled, probs = rewards(seed, 4, 600, learning_rate=0.005)
        found = differences(arm, scaled + size * (arm == 0), probs)
        seen.append(found.told[0])
        errors.append((found.difference[0] - size) / found.error[0])
        promised = found.smallest[0]
    assert abs(np.mean(errors)) < 0.4  # the difference itself is found without bias
    expected = promised / size
    assert 0.8 < expected < 1.25, "choose a size near the smallest that is visible"
    assert POWER - 0.2 < np.mean(seen) < POWER + 0.18


def test_far_larger_differences_are_always_seen():
    arm, scaled, probs = rewards(1, 5, 600, better=3.0)
    found = differences(arm, scaled, probs)
    assert found.told[0] and found.difference[0] > 0.5


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(2, 9), st.integers(1, 60))
def test_any_log_gives_figures_or_none(seed, facets, steps):
    arm, scaled, probs = rewards(seed, facets, steps)
    found = differences(arm, scaled, probs)
    rare = found.draws < 5
    assert np.isnan(found.error[rare]).all() and not found.told[rare].any()
    assert np.all(found.error[~rare] >= 0) and found.draws.sum() == steps
    assert 0 < found.independent <= steps


def test_correlated_rewards_are_worth_fewer():
    rng = np.random.default_rng(1)
    white = rng.standard_normal(4000)
    red = np.zeros(4000)
    for step in range(1, 4000):
        red[step] = 0.8 * red[step - 1] + white[step]
    assert correlation_time(white) == pytest.approx(1.0, abs=0.3)
    assert correlation_time(red) == pytest.approx(9.0, rel=0.35)  # (1 + ρ)/(1 − ρ)
    assert correlation_time(np.zeros(5)) == 1.0
