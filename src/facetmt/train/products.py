"""What training on each facet does to the dev loss of each: ⟨P·∇dev_k, ∇train_j⟩ at a checkpoint.

To first order a step along −P·∇train_j, P = 1/√v of Adam, lowers the dev loss of k by that much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray

from facetmt.data.batch import Batch
from facetmt.data.config import BatchConfig
from facetmt.data.dev import DevSet, dev_batches
from facetmt.data.store import Store
from facetmt.model.transformer import Graph, Params
from facetmt.permutation import permuted, stream_key
from facetmt.train.config import OptimiserConfig
from facetmt.train.evidence import preconditioned
from facetmt.train.loss import plain_loss, token_count
from facetmt.train.place import Placement
from facetmt.train.state import TrainState

GROUPS = 10  # independent groups of a facet's text: their scatter gives the errors
TOKENS = 15_360  # of each facet and side: a dev gradient of fewer than half of it is mostly noise
MOST_TOKENS = 320_000  # of training text in one measurement, re-reading included
MEMORY = 1 << 30  # bytes of dev gradients held at once
FILL = 0.9  # of a group's rows: what fits in almost surely

Floats = NDArray[np.float64]


class Text(NamedTuple):
    """Groups of pairs of one facet, none of them twice."""

    store: Store
    groups: list[NDArray[np.int64]]  # GROUPS x indices into the store
    shape: BatchConfig  # of the batch that a group is packed into

    @property
    def pairs(self) -> int:
        return sum(len(group) for group in self.groups)

    def batches(self, group: int, rows: slice) -> Iterator[Batch]:
        return dev_batches(DevSet([self.store], [self.groups[group]]), self.shape, rows)


@dataclass(frozen=True)
class Plan:
    """What is read: dev text of the rows of the matrix, training text of its columns."""

    dev: list[Text]
    train: list[Text]
    at_once: int  # dev facets whose gradients are held together; the training text is read for each such lot

    @property
    def groups(self) -> int:
        """Gradients to compute."""
        return GROUPS * (len(self.dev) + len(self.train) * -(-len(self.dev) // self.at_once))


def make_plan(
    dev: Sequence[Store], train: Sequence[Store], width: BatchConfig, parameters: int, tokens: int, seed: int
) -> Plan:
    """As much training text of each facet as of its dev text, or less where there are many facets."""
    at_once = max(1, min(len(dev), MEMORY // (4 * parameters * GROUPS)))
    readings = len(train) * -(-len(dev) // at_once)
    fewer = min(tokens, MOST_TOKENS // readings)
    return Plan(
        [choose_text(store, width, tokens, seed, "transfer dev") for store in dev],
        [choose_text(store, width, fewer, seed, "transfer train") for store in train],
        at_once,
    )


def choose_text(store: Store, width: BatchConfig, tokens: int, seed: int, purpose: str) -> Text:
    """Random pairs, in groups of about `tokens`/GROUPS target tokens, or what the facet has."""
    source_length, target_length = width.width
    rows = max(1, round(tokens / GROUPS / target_length))
    shape = BatchConfig(rows=rows, length=source_length, target_length=target_length)
    header = store.header
    fitting = min(
        source_length * header.pairs / max(1, header.source_tokens),
        target_length * header.pairs / max(1, header.target_tokens),
    )
    each = max(1, min(int(FILL * rows * fitting), len(store) // GROUPS))
    key = stream_key(seed, purpose, store.name)
    chosen = permuted(np.arange(GROUPS * each), len(store), key)
    return Text(store, np.split(chosen, GROUPS), shape)


def measure(
    graph: Graph,
    state: TrainState,
    optimiser: OptimiserConfig,
    plan: Plan,
    placement: Placement,
    tell: Callable[[int], None] = lambda groups: None,
) -> Floats:
    """⟨P·∇dev_k of group g, ∇train_j of group h⟩ for all of them: [K, G, F, H]."""
    gradient = make_gradient(graph, placement)
    state = placement.replicated(state)
    diagonal = ravel_pytree(
        preconditioned(state, optimiser, jax.tree.map(jnp.ones_like, state.params))
    )[0]  # fmt: skip
    product = jax.jit(
        lambda one, other: jnp.matmul(one, other.T, precision="highest"), out_shardings=placement.everywhere
    )

    def gradients(text: Text) -> Array:
        """Of the mean loss of each group: [G, P]."""
        share = placement.share(text.shape.rows)
        found = []
        for group in range(GROUPS):
            parts = [gradient(state.params, share.put(one)) for one in text.batches(group, share.rows)]
            total, count = (sum(column) for column in zip(*parts, strict=True))
            found.append(total / jnp.maximum(count, 1.0))
            found[-1].block_until_ready()  # or the queue would hold a gradient of every batch
            tell(1)
        return jnp.stack(found)

    lots = []
    for start in range(0, len(plan.dev), plan.at_once):
        lot = plan.dev[start : start + plan.at_once]
        directions = jnp.concatenate([gradients(text) * diagonal for text in lot])  # [lot·G, P]
        columns = [np.asarray(product(directions, gradients(text)), np.float64) for text in plan.train]
        lots.append(np.stack(columns, axis=1).reshape(len(lot), GROUPS, len(plan.train), GROUPS))
    return np.concatenate(lots)


def make_gradient(graph: Graph, placement: Placement) -> Callable[[Params, Any], tuple[Array, Array]]:
    """The gradient of the summed loss of a batch as one vector [P], and its target tokens."""

    def summed(params: Params, batch: Batch) -> tuple[Array, Array]:
        tokens = token_count(batch)
        found = jax.grad(lambda params: plain_loss(graph, params, batch) * tokens)(params)
        return ravel_pytree(found)[0], tokens

    return jax.jit(summed, out_shardings=placement.everywhere)
