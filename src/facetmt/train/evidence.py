"""What `auto` learns from, measured ever more rarely: dev losses, source use and alignment of every facet.

Source use: by how much log p(y|x) per token falls when the pairs of a row swap their sources.
Alignment:  r_i = ⟨P·∇dev, ∇train_i⟩ with Adam's P = 1/√v, by a small step along −P·∇dev.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from facetmt.bandit.auto import Auto, next_measurement
from facetmt.bandit.composition import row_counts
from facetmt.data.batch import Batch
from facetmt.data.config import BatchConfig
from facetmt.data.dev import dev_batches
from facetmt.data.prepared import Prepared
from facetmt.data.sampler import RowSampler, Sampler
from facetmt.model.transformer import Graph, Params
from facetmt.recipe import Recipe
from facetmt.train.config import OptimiserConfig
from facetmt.train.loss import facet_loss, plain_loss, score
from facetmt.train.place import Placement
from facetmt.train.state import TrainState, learning_rate

# rows of a measurement, twice as long as a batch's: of all facets together, and at most of one
ROWS, MOST_ROWS = 32, 4
DEV_PAIRS, MOST_DEV_PAIRS = 64, 512  # of each facet, the same ones each time; of all together
DEV_EVERY = 3  # measurements from one with dev losses to the next: slopes are slow, and sources urgent
DEV_ROWS = 64  # of the gradient that alignment looks along
# of the largest learning rate: at all of it the loss curves upwards before any facet is helped
STRIDE = 0.01
BACKWARD = 3.0  # forward passes that a gradient costs

Floats = NDArray[np.float64]


class Evidence:
    """Measures the facets of a run and tells its policy; what it knows is in the policy and the streams."""

    def __init__(
        self,
        recipe: Recipe,
        prepared: Prepared,
        graph: Graph,
        placement: Placement,
        policy: Auto,
        epochs: Callable[[], Mapping[str, float]],
    ) -> None:
        self._policy, self._epochs = policy, epochs
        source, target = recipe.batch.width
        facets = len(prepared.facets)
        each = min(MOST_ROWS, max(1, ROWS // facets))
        shape = BatchConfig(rows=each * facets, length=2 * source, target_length=2 * target)
        share = placement.share(shape.rows)
        self._put, self._counts = share.put, [each] * facets
        train = prepared.stores("train")
        self._train = RowSampler(train, shape, recipe.seed, share.rows, purpose="evidence")
        groups = policy.groups
        dev = prepared.dev.few(min(DEV_PAIRS, max(groups, MOST_DEV_PAIRS // facets))).dealt(groups)
        self._dev = [share.put(one) for one in dev_batches(dev, shape, share.rows)]
        self._facets = [facet.name for facet in prepared.facets]
        everywhere = placement.everywhere
        self._losses = jax.jit(
            lambda params, batch: jnp.stack(facet_loss(graph, params, batch, groups * facets)),
            out_shardings=everywhere,
        )
        self._measure = jax.jit(make_measure(graph, facets), out_shardings=everywhere)
        self._objective = (
            Objective(recipe, prepared, graph, placement, policy.counts) if policy.aligns else None
        )
        # of a measurement, in steps of training
        self.cost = self._passes(shape) / (BACKWARD * recipe.optimiser.accumulate * room(recipe.batch))
        self._next, self._times = next_measurement(0, self.cost), 0

    def _passes(self, shape: BatchConfig) -> float:
        """Tokens of a measurement's forward passes: sources, dev losses, the objective's gradient."""
        dev = len(self._dev) / DEV_EVERY
        if self._objective is None:
            return (2 + dev) * room(shape)
        return (3 + dev) * room(shape) + BACKWARD * room(self._objective.shape)

    def __call__(self, step: int, state: TrainState) -> list[str]:
        """Measure if it is time; a sentence on every notable change of shares."""
        if step < self._next:
            return []
        self._next = next_measurement(step, self.cost)
        policy, news = self._policy, []
        if self._times % DEV_EVERY == 0:
            news += policy.observe_dev(step, self._dev_losses(state))
        self._times += 1
        (batch,), cursors = self._train.draw_rows(self._counts)
        commit(self._train, cursors)
        moved = None if self._objective is None else self._objective.step(step, state)
        use, *alignment = np.asarray(self._measure(state.params, moved, self._put(batch)), np.float64)
        news += policy.observe_use(step, *ratio(use))
        for found in alignment:
            news += policy.observe_alignment(step, *ratio(found))
        epochs = self._epochs()
        return [*news, *policy.observe_epochs(step, np.array([epochs[name] for name in self._facets]))]

    def _dev_losses(self, state: TrainState) -> Floats:
        """[groups, facets], NaN where there are no pairs."""
        loss, tokens = np.sum([np.asarray(self._losses(state.params, one)) for one in self._dev], axis=0)
        losses: Floats = np.where(tokens > 0, loss / np.maximum(tokens, 1), np.nan)
        return losses.reshape(self._policy.groups, -1)

    def state(self) -> dict[str, Any]:
        """Where the streams stand, and when the next measurement is due."""
        objective = None if self._objective is None else self._objective.sampler.state()
        return {
            "next": self._next,
            "times": self._times,
            "train": self._train.state(),
            "objective": objective,
        }

    def restore(self, state: Mapping[str, Any] | None) -> None:
        if state is None:
            raise KeyError("the measurements of the policy")
        self._next, self._times = int(state["next"]), int(state["times"])
        self._train.restore(state["train"])
        if self._objective is not None:
            self._objective.sampler.restore(state["objective"])


def room(batch: BatchConfig) -> int:
    """Tokens on both sides."""
    return batch.rows * sum(batch.width)


def commit(sampler: Sampler, cursors: Sequence[Any]) -> None:
    """Count what was drawn as consumed."""
    for stream, cursor in enumerate(cursors):
        sampler.commit(cursor, stream)


class Objective:
    """The direction in which the dev loss of what counts falls fastest, as Adam would take it."""

    def __init__(
        self, recipe: Recipe, prepared: Prepared, graph: Graph, placement: Placement, counts: Floats
    ) -> None:
        stores = prepared.stores("dev")
        counting = [
            facet for facet, weight in enumerate(counts.tolist()) if weight > 0 and len(stores[facet])
        ]
        self._shares = counts[counting] / counts[counting].sum()
        self.shape = BatchConfig(
            rows=DEV_ROWS, length=recipe.batch.length, target_length=recipe.batch.target_length
        )
        share = placement.share(DEV_ROWS)
        self._put, self._seed = share.put, recipe.seed
        self.sampler = RowSampler(
            [stores[facet] for facet in counting], self.shape, recipe.seed, share.rows, purpose="objective"
        )
        self._stepped = jax.jit(make_stepped(graph, recipe.optimiser))

    def step(self, step: int, state: TrainState) -> Params:
        """The parameters after a small step along −P·∇dev, on rows that are new."""
        rng = np.random.default_rng([self._seed, step])
        (batch,), cursors = self.sampler.draw_rows(row_counts(self._shares, DEV_ROWS, rng).tolist())
        commit(self.sampler, cursors)
        params: Params = self._stepped(state, self._put(batch))
        return params


def make_stepped(graph: Graph, optimiser: OptimiserConfig) -> Callable[[TrainState, Batch], Params]:
    def stepped(state: TrainState, batch: Batch) -> Params:
        rate = STRIDE * learning_rate(optimiser, jnp.asarray(max(optimiser.warmup, 1)))
        gradient = jax.grad(plain_loss, argnums=1)(graph, state.params, batch)
        params: Params = jax.tree.map(
            lambda param, d: param - rate * d,
            state.params,
            preconditioned(state, optimiser, gradient),
        )
        return params

    return stepped


def preconditioned(state: TrainState, optimiser: OptimiserConfig, gradient: Params) -> Params:
    """P·g, with Adam's P = 1/(√v̂ + eps)."""
    updates = jnp.maximum(state.step - state.skipped, 1).astype(jnp.float32)
    unbias = 1.0 / (1.0 - optimiser.beta2**updates)
    direction: Params = jax.tree.map(
        lambda g, v: g / (jnp.sqrt(v * unbias) + optimiser.eps + 1e-12), gradient, state.variance
    )
    return direction


def make_measure(graph: Graph, facets: int) -> Callable[[Params, Params | None, Batch], Array]:
    """Source use, and with `moved` parameters alignment: [1 or 2, 5, F] sums over pairs, for `ratio`."""

    def measure(params: Params, moved: Params | None, batch: Batch) -> Array:
        facet = jnp.max(batch.facet, axis=1)  # a row is of one facet, and padding says 0
        pairs = jnp.max(batch.source_segment, axis=1, keepdims=True)
        swapped = jnp.where(batch.source_segment > 0, batch.source_segment % jnp.maximum(pairs, 1) + 1, 0)
        plain, length = score(graph, params, batch)  # [R, N] each
        other, _ = score(graph, params, batch._replace(source_segment=swapped))  # type: ignore[arg-type]
        several = pairs > 1  # alone in its row, a pair has no other source
        found = [pair_sums((plain - other) * several, length * several, facet, facets)]
        if moved is not None:
            ahead, _ = score(graph, moved, batch)
            found.append(pair_sums(ahead - plain, length, facet, facets))
        return jnp.stack(found)

    return measure


def pair_sums(value: Array, length: Array, facet: Array, facets: int) -> Array:
    """Σd, Σn, Σd², Σd·n, Σn² over the pairs of each facet: [R, N] values d and lengths n -> [5, F]."""
    planes = jnp.stack([value, length, value * value, value * length, length * length])
    return jax.ops.segment_sum(planes.sum(axis=2).T, facet, facets).T


def ratio(sums: Floats) -> tuple[Floats, Floats]:
    """Σd/Σn of each facet and its standard error, √Σ(d − ρ·n)²/Σn; NaN without pairs."""
    value, length, squares, products, lengths = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        found = value / length
        left = np.maximum(squares - 2 * found * products + found * found * lengths, 0.0)
        return found, np.sqrt(left) / length
