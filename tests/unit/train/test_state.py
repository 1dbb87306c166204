"""The learning-rate curve and the Adam update."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.train.config import OptimiserConfig
from facetmt.train.state import adam_update, create_state, global_norm, learning_rate


def rate(config, t):
    return float(learning_rate(config, jnp.asarray(t)))


def test_the_papers_rates_peak_where_warm_up_ends():
    ted = OptimiserConfig(learning_rate=0.0625, warmup=4000)
    assert rate(ted, 4000) == pytest.approx(0.0625 / 4000**0.5)
    assert rate(ted, 1000) == pytest.approx(rate(ted, 4000) / 4)
    assert rate(ted, 16000) == pytest.approx(rate(ted, 4000) / 2)


@given(st.integers(1, 10**6), st.integers(0, 10**5))
@settings(max_examples=50)
def test_the_rate_rises_to_its_peak_and_falls_after(t, warmup):
    config = OptimiserConfig(learning_rate=0.01, warmup=warmup)
    peaked = OptimiserConfig(learning_rate=0.01, warmup=warmup, schedule="peak-rsqrt")
    assert 0 < rate(config, t) <= rate(config, max(warmup, 1)) * (1 + 1e-6)
    assert rate(peaked, t) == pytest.approx(rate(config, t) * max(warmup, 1) ** 0.5, rel=1e-5)
    flat = OptimiserConfig(learning_rate=0.01, warmup=warmup, schedule="constant")
    assert rate(flat, t) == pytest.approx(0.01 * min(1, t / max(warmup, 1)), rel=1e-5)


@given(st.integers(0, 1000), st.integers(1, 1000))
@settings(max_examples=50)
def test_a_linear_rate_falls_evenly_to_its_last_update(warmup, falling):
    last = warmup + falling
    config = OptimiserConfig(learning_rate=0.01, warmup=warmup, schedule="linear", decay_until=last)
    peak = max(warmup, 1)
    assert rate(config, peak) == pytest.approx(0.01)
    assert rate(config, last) == pytest.approx(0.01 / (last + 1 - peak), rel=1e-4)
    assert rate(config, last + 1) == rate(config, 10 * last) == 0.0
    half = (peak + last + 1) / 2
    assert rate(config, half) == pytest.approx(0.005, rel=1e-4)


def reference_adam(param, gradients, config):
    """Kingma and Ba (2015), algorithm 1, in float64."""
    m = v = np.zeros_like(param)
    for t, gradient in enumerate(gradients, 1):
        m = config.beta1 * m + (1 - config.beta1) * gradient
        v = config.beta2 * v + (1 - config.beta2) * gradient**2
        bias = (1 - config.beta1**t, 1 - config.beta2**t)
        param = param - rate(config, t) * (m / bias[0]) / (np.sqrt(v / bias[1]) + config.eps)
    return param


def test_updates_are_adams():
    config = OptimiserConfig(learning_rate=0.5, warmup=3)
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=(4, 3)), rng.normal(size=(6, 4, 3))
    state = create_state({"w": jnp.asarray(start, jnp.float32)})
    step = jax.jit(lambda s, g: adam_update(s, {"w": g}, jnp.float32(2.0), jnp.bool_(True), config))
    for gradient in gradients:
        state = step(state, jnp.asarray(gradient, jnp.float32))
    np.testing.assert_allclose(state.params["w"], reference_adam(start, 2 * gradients, config), rtol=1e-4)
    assert int(state.step) == 6 and int(state.skipped) == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_skipped_update_changes_the_counters_alone(bad):
    config = OptimiserConfig(warmup=0)
    state = create_state({"w": jnp.ones((3,))})
    good = adam_update(state, {"w": jnp.ones((3,))}, jnp.float32(1), jnp.bool_(True), config)
    skipped = adam_update(good, {"w": jnp.full((3,), bad)}, jnp.float32(bad), jnp.bool_(False), config)
    for name in ("params", "mean", "variance"):
        np.testing.assert_array_equal(getattr(skipped, name)["w"], getattr(good, name)["w"])
    assert (int(skipped.step), int(skipped.skipped), int(skipped.skipped_in_row)) == (2, 1, 1)
    twice = adam_update(skipped, {"w": jnp.ones((3,))}, jnp.float32(1), jnp.bool_(False), config)
    recovered = adam_update(twice, {"w": jnp.ones((3,))}, jnp.float32(1), jnp.bool_(True), config)
    assert (int(twice.skipped_in_row), int(recovered.skipped_in_row), int(recovered.skipped)) == (2, 0, 2)
    # a skipped step does not advance the schedule: the next good update is the second, as without it
    direct = adam_update(good, {"w": jnp.ones((3,))}, jnp.float32(1), jnp.bool_(True), config)
    np.testing.assert_array_equal(recovered.params["w"], direct.params["w"])


def test_the_global_norm_is_that_of_the_joined_vector():
    assert float(global_norm({"a": jnp.array([3.0]), "b": {"c": jnp.array([[4.0], [12.0]])}})) == 13.0
