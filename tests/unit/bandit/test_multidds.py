import math

import numpy as np
import pytest

from facetmt.bandit.multidds import MultiDds


def test_it_starts_from_its_prior_and_moves_towards_what_aligns():
    policy = MultiDds(3, learning_rate=0.05, prior=[0.2, 0.3, 0.5])
    assert np.allclose(policy.probs(), [0.2, 0.3, 0.5])
    for _ in range(60):
        policy.update([(0, 0.5), (1, 0.0), (2, -0.2)], 1.0)
    probs = policy.probs()
    assert probs[0] > 0.8 > 0.2 > probs[1] > probs[2]


def test_equal_alignment_pulls_towards_uniform():
    """Σ_i R·∇ log π(i) vanishes only where π is uniform."""
    policy = MultiDds(2, learning_rate=0.05, prior=[0.1, 0.9])
    for _ in range(200):
        policy.update([(0, 0.3), (1, 0.3)], 1.0)
    assert np.allclose(policy.probs(), 0.5, atol=0.05)


def test_the_first_adam_step_has_the_size_of_the_learning_rate():
    policy = MultiDds(2, learning_rate=0.1, prior=[0.5, 0.5])
    policy.update([(0, 0.4), (1, 0.0)], 1.0)
    assert math.isclose(math.log(policy.probs()[0] / policy.probs()[1]), 0.2, rel_tol=1e-6)


def test_one_measurement_may_take_many_steps():
    """The authors take 200: π follows each, so they are not one step of 200 times the size."""
    once, often = MultiDds(2, learning_rate=0.01), MultiDds(2, learning_rate=0.01, updates=200)
    once.update([(0, 0.4), (1, 0.1)], 1.0)
    often.update([(0, 0.4), (1, 0.1)], 1.0)
    for _ in range(199):
        once.update([(0, 0.4), (1, 0.1)], 1.0)
    assert often.state() == once.state() and often.probs()[0] > 0.7


@pytest.mark.parametrize(
    "settings", [{"arms": 0}, {"arms": 2, "learning_rate": 0.0}, {"arms": 2, "updates": 0}]
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError, match=r"arm|learning_rate|updates"):
        MultiDds(**settings)
