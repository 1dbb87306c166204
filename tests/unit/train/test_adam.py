"""Our fused Adam against optax's."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from facetmt.train import state as rule
from facetmt.train.config import OptimiserConfig


@pytest.mark.parametrize("schedule", ["rsqrt", "peak-rsqrt", "linear", "constant"])
def test_a_hundred_updates_equal_those_of_optax(schedule):
    last = 150 if schedule == "linear" else None
    config = OptimiserConfig(schedule=schedule, learning_rate=0.05, warmup=20, decay_until=last)
    # optax counts updates from 0
    adam = optax.adam(
        lambda count: rule.learning_rate(config, count + 1), config.beta1, config.beta2, config.eps
    )
    keys = jax.random.split(jax.random.key(0), 4)
    start = {"kernel": jax.random.normal(keys[0], (4, 3)), "norm": {"scale": jnp.ones(5)}}
    goal = {"kernel": jax.random.normal(keys[1], (4, 3)), "norm": {"scale": jax.random.normal(keys[2], (5,))}}

    @jax.jit
    def both(ours, theirs, moments, key):
        """One update of each, with the noisy gradient of |θ - goal|²/2 at optax's parameters."""
        noise = jax.random.normal(key, (5,))
        gradient = jax.tree.map(lambda param, aim: param - aim + noise[: param.shape[-1]], theirs, goal)
        change, moments = adam.update(gradient, moments)
        ours = rule.adam_update(ours, gradient, jnp.float32(1.0), jnp.bool_(True), config)
        return ours, optax.apply_updates(theirs, change), moments

    ours, theirs, moments = rule.create_state(start), start, adam.init(start)
    for key in jax.random.split(keys[3], 100):
        ours, theirs, moments = both(ours, theirs, moments, key)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), ours.params, theirs)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), ours.mean, moments[0].mu
    )
    assert (
        min(float(jnp.abs(a - b).max()) for a, b in zip(*map(jax.tree.leaves, (start, theirs)), strict=True))
        > 0.01
    )
