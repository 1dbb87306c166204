"""The demo without a neural network: the bandit finds what helps, and the gradient is right."""

import numpy as np
import pytest

from facetmt.bandit import Exp3, Static
from facetmt.demo.classifier import World, cross_entropy, run


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noise_loses_and_the_bandit_beats_uniform_sampling(seed):
    bandit = run(Exp3(4, learning_rate=0.1, exploration=0.25), steps=1500, seed=seed)
    uniform = run(Static([0.25] * 4), steps=1500, seed=seed)
    assert bandit.probs[-500:, 3].mean() < 0.1  # noise, near its floor of γ/n
    assert bandit.dev_loss[-5:].mean() < 0.8 * uniform.dev_loss[-5:].mean()


def test_the_gradient_is_the_slope_of_the_loss():
    x, y = World(1).sample("grammar", 8)
    weights = np.random.default_rng(2).normal(size=(80, 6)) * 0.1
    loss, gradient = cross_entropy(weights, x, y)
    nudge = np.zeros_like(weights)
    nudge[3, 2] = 1e-6
    assert np.isclose((cross_entropy(weights + nudge, x, y)[0] - loss) / 1e-6, gradient[3, 2], atol=1e-5)
