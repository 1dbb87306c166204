"""Everything that one update changes, and the update rule: Adam on a warmed-up, decaying learning rate."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from facetmt.model.transformer import Params
from facetmt.train.config import OptimiserConfig


class TrainState(NamedTuple):
    """A pytree of device arrays: what a checkpoint holds of the model."""

    params: Params
    mean: Params  # Adam's first moment
    variance: Params  # Adam's second moment
    step: Array  # int32: steps taken, skipped ones too
    skipped: Array  # int32: updates skipped for a non-finite loss or gradient
    skipped_in_row: Array  # int32: of these, the ones since the last good update
    dev_loss: Array  # float32: the dev loss after the last step, the next one's "before" on a held batch


def create_state(params: Params) -> TrainState:
    """The state before the first step; the parameters are copied because a step donates its state."""
    return TrainState(
        params=jax.tree.map(jnp.array, params),
        mean=jax.tree.map(jnp.zeros_like, params),
        variance=jax.tree.map(jnp.zeros_like, params),
        step=jnp.zeros((), jnp.int32),
        skipped=jnp.zeros((), jnp.int32),
        skipped_in_row=jnp.zeros((), jnp.int32),
        dev_loss=jnp.zeros((), jnp.float32),
    )


def next_update(state: TrainState) -> Array:
    """The number t of the update to come, from 1; skipped steps do not count."""
    return state.step - state.skipped + 1


def learning_rate(config: OptimiserConfig, update: Array) -> Array:
    """The rate of the given update, the first being 1 (`OptimiserConfig.schedule` has the equations)."""
    t = update.astype(jnp.float32)
    warmup = float(max(config.warmup, 1))
    risen = config.learning_rate * jnp.minimum(1.0, t / warmup)
    if config.schedule == "constant":
        return risen
    if config.decay_until is not None:
        last = config.decay_until + 1.0
        return risen * jnp.clip((last - t) / (last - warmup), 0.0, 1.0)
    decayed = risen / jnp.sqrt(jnp.maximum(t, warmup))
    return decayed if config.schedule == "rsqrt" else decayed * warmup**0.5


def global_norm(tree: Params) -> Array:
    """√(Σ x²) over all leaves."""
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))


def adam_update(
    state: TrainState, gradient: Params, scale: Array, finite: Array, config: OptimiserConfig
) -> TrainState:
    """m += (1-β1)(g-m); v += (1-β2)(g²-v); θ -= lr·m̂/(√v̂ + eps) with g = scale·gradient.

    Nothing changes if the gradient is not finite.
    """
    # Skipping by coefficients of zero rather than by choosing between two trees keeps the update one pass
    # over memory and in place, three times as fast on a CPU.
    t = next_update(state).astype(jnp.float32)
    first = jnp.where(finite, 1.0 - config.beta1, 0.0)
    second = jnp.where(finite, 1.0 - config.beta2, 0.0)
    rate = jnp.where(finite, learning_rate(config, next_update(state)) / (1.0 - config.beta1**t), 0.0)
    unbias = 1.0 / (1.0 - config.beta2**t)
    good = jax.tree.map(lambda leaf: jnp.where(finite, leaf * scale, 0.0), gradient)
    means = jax.tree.map(lambda m, g: m + first * (g - m), state.mean, good)
    variances = jax.tree.map(lambda v, g: v + second * (g * g - v), state.variance, good)

    def moved(param: Array, m: Array, v: Array) -> Array:
        return param - rate * m / (jnp.sqrt(v * unbias) + config.eps)

    missed = 1 - finite.astype(jnp.int32)
    return TrainState(
        params=jax.tree.map(moved, state.params, means, variances),
        mean=means,
        variance=variances,
        step=state.step + 1,
        skipped=state.skipped + missed,
        skipped_in_row=(state.skipped_in_row + missed) * missed,
        dev_loss=state.dev_loss,
    )
