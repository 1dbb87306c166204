"""One jitted call per step: the update and the passes that its reward needs (paper, section 2)."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jax.typing import ArrayLike
from numpy.typing import NDArray

from facetmt.bandit.reward import RewardRow
from facetmt.data.batch import Batch
from facetmt.model.transformer import Graph, Params
from facetmt.train.config import OptimiserConfig
from facetmt.train.loss import FacetLoss, facet_loss, mean, token_count, training_loss
from facetmt.train.state import TrainState, adam_update, global_norm, learning_rate, next_update

DevAverage = Literal["tokens", "facets"]
LossSum = Callable[[Params, Batch, Array], tuple[Array, Array]]  # params, batch, dropout key -> loss, tokens


class Metrics(NamedTuple):
    """What a step reports; made on the host from the one array that it returns."""

    loss: float  # smoothed training loss per token
    tokens: int  # non-padding target tokens of the training batch
    before: float  # the reward's loss before the update; NaN if it is not measured
    after: float  # the reward's loss after the update
    gradient_norm: float  # before clipping
    learning_rate: float
    finite: bool  # False: the update was skipped
    skipped_in_row: int
    dev_loss: NDArray[np.float32]  # [F] summed dev loss after the update; zeros without a dev pass
    dev_tokens: NDArray[np.float32]  # [F] the dev batch's tokens


class Step(Protocol):
    """The arrays of `batch` are [R, S], or [A, R, S] for A micro-batches; `state` is donated."""

    def __call__(
        self, state: TrainState, batch: Batch, dev: Batch | None = None, fresh: ArrayLike = True
    ) -> tuple[TrainState, Array]:
        """New state and what `read_metrics` reads; `fresh`: `dev` is not the batch of the step before."""


def read_metrics(values: Array) -> Metrics:
    """Fetch a step's array (this waits for the step) and name its parts."""
    fetched = np.asarray(values)
    facets = fetched[8:].reshape(2, -1)
    loss, tokens, before, after, norm, rate, finite, skipped = (float(x) for x in fetched[:8])
    return Metrics(
        loss, int(tokens), before, after, norm, rate, bool(finite), int(skipped), facets[0], facets[1]
    )


def make_step(
    graph: Graph,
    optimiser: OptimiserConfig,
    *,
    num_facets: int,
    seed: int,
    reward: RewardRow | None = None,
    dev_average: DevAverage = "tokens",
    objective: Sequence[float] | None = None,
    shardings: tuple[Any, Any] | None = None,
) -> Step:
    """The jitted step with the passes of a reward; dropout at step t comes from fold_in(key(seed), t).

    `shardings` say where its two results live; None leaves it to the compiler.
    """

    def train_loss(params: Params, batch: Batch, key: Array) -> tuple[Array, Array]:
        model = nnx.merge(graph, params)
        return training_loss(model, batch, optimiser.label_smoothing, key), token_count(batch)

    def dev_loss(params: Params, dev: Batch) -> tuple[Array, FacetLoss]:
        by_facet = facet_loss(graph, params, dev, num_facets)
        return average(by_facet, dev_average, objective), by_facet

    def step(
        state: TrainState, batch: Batch, dev: Batch | None = None, fresh: ArrayLike = True
    ) -> tuple[TrainState, Array]:
        key = jax.random.fold_in(jax.random.key(seed), state.step)
        total, tokens, gradient = gradients(train_loss, state.params, batch, key)
        loss, norm = mean(total, tokens), mean(global_norm(gradient), tokens)
        finite = jnp.isfinite(loss) & jnp.isfinite(norm)
        # the gradient is of the sum over tokens: divide by their number, then clip
        scale = mean(clip_scale(norm, optimiser.clip), tokens)
        new = adam_update(state, gradient, scale, finite, optimiser)

        before = after = loss
        by_facet = FacetLoss(jnp.zeros(num_facets), jnp.zeros(num_facets))
        if reward is not None and reward.batch == "train" and reward.after:
            after = mean(*totals(train_loss, new.params, batch, key))
        elif reward is not None and reward.batch == "dev":
            if dev is None:
                raise ValueError("this reward is measured on a dev batch; pass one to the step")
            before = jnp.full((), jnp.nan)
            if reward.before:
                before = jax.lax.cond(fresh, lambda: dev_loss(state.params, dev)[0], lambda: state.dev_loss)
            after, by_facet = dev_loss(new.params, dev)
            new = new._replace(dev_loss=after)

        rate = learning_rate(optimiser, next_update(state))
        scalars = [loss, tokens, before, after, norm, rate, finite, new.skipped_in_row]
        head = jnp.stack([scalar.astype(jnp.float32) for scalar in scalars])
        return new, jnp.concatenate([head, by_facet.loss, by_facet.tokens])

    return jax.jit(step, donate_argnums=0, out_shardings=shardings)


def clip_scale(norm: Array, largest: float) -> Array:
    """min(1, largest/norm); 1 when `largest` is 0."""
    return jnp.minimum(1.0, largest / jnp.maximum(norm, 1e-30)) if largest else jnp.ones(())


def average(by_facet: FacetLoss, over: DevAverage, objective: Sequence[float] | None = None) -> Array:
    """The mean over tokens (the paper), or over the facets that the batch holds, each its own mean.

    With an `objective` each facet has its weight: on its tokens, or on its mean.
    """
    weights = jnp.ones_like(by_facet.tokens) if objective is None else jnp.array(objective, jnp.float32)
    if over == "tokens":
        return ratio(weights * by_facet.loss, weights * by_facet.tokens)
    return ratio(weights * mean(*by_facet), weights * (by_facet.tokens > 0))


def ratio(values: Array, weights: Array) -> Array:
    """Σ values/Σ weights; 0 where nothing has a weight."""
    total = jnp.sum(weights)
    return jnp.sum(values) / jnp.where(total > 0, total, 1.0)


def gradients(loss: LossSum, params: Params, batch: Batch, key: Array) -> tuple[Array, Array, Params]:
    """Loss, tokens and gradient, each summed over the micro-batches."""
    differentiate = jax.value_and_grad(loss, has_aux=True)
    if batch.source.ndim == 2:
        (total, tokens), gradient = differentiate(params, batch, key)
        return total, tokens, gradient
    Sums = tuple[Array, Array, Params]

    def add(sums: Sums, micro: tuple[Batch, Array]) -> tuple[Sums, None]:
        (total, tokens), gradient = differentiate(params, *micro)
        return jax.tree.map(jnp.add, sums, (total, tokens, gradient)), None

    nothing = (jnp.zeros(()), jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
    return jax.lax.scan(add, nothing, (batch, micro_keys(batch, key)))[0]


def totals(loss: LossSum, params: Params, batch: Batch, key: Array) -> tuple[Array, Array]:
    """Loss and tokens summed over the micro-batches, with the dropout masks of `gradients`."""
    if batch.source.ndim == 2:
        return loss(params, batch, key)
    some, counts = jax.lax.map(lambda micro: loss(params, *micro), (batch, micro_keys(batch, key)))
    return jnp.sum(some), jnp.sum(counts)


def micro_keys(batch: Batch, key: Array) -> Array:
    """One dropout key per micro-batch."""
    return jax.random.split(key, batch.source.shape[0])


def make_facet_loss(
    graph: Graph, num_facets: int, sharding: Any = None
) -> Callable[[Params, Batch], FacetLoss]:
    """Jitted validation: `(params, batch) -> FacetLoss`, without dropout and smoothing."""
    return jax.jit(lambda params, batch: facet_loss(graph, params, batch, num_facets), out_shardings=sharding)
