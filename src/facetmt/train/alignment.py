"""What MultiDDS-S measures: how far the gradient of each facet points where the dev set wants to go.

R(i) = mean_j cos(∇dev_j, ∇train_i) = ĝ_i · mean_j d̂_j: with unit gradients the K² cosines are K products.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from facetmt.data.batch import Batch
from facetmt.data.config import BatchConfig
from facetmt.data.prepared import Prepared
from facetmt.data.sampler import DevFacetSampler, FacetSampler
from facetmt.model.transformer import Graph, Params
from facetmt.train.loss import plain_loss
from facetmt.train.place import Placement
from facetmt.train.state import global_norm


class Alignment:
    """2K backward passes: one per facet on a training batch, one per facet on a dev batch.

    New batches are drawn for each measurement, from streams that training does not use.
    """

    def __init__(
        self, graph: Graph, prepared: Prepared, shape: BatchConfig, seed: int, placement: Placement
    ) -> None:
        share = placement.share(shape.rows)
        self._put = share.put
        self._train = FacetSampler(prepared.stores("train"), shape, seed, share.rows, purpose="probe")
        self._dev = DevFacetSampler(prepared.dev, shape, seed, share.rows, purpose="probe dev")

        def unit_gradient(params: Params, batch: Batch) -> Any:
            gradient = jax.grad(plain_loss, argnums=1)(graph, params, batch)
            norm = jnp.maximum(global_norm(gradient), 1e-30)
            return jax.tree.map(lambda leaf: leaf / norm, gradient)

        self._unit = jax.jit(unit_gradient)
        self._add = jax.jit(lambda one, other: jax.tree.map(jnp.add, one, other))
        self._product = jax.jit(
            lambda one, other: sum(jax.tree.leaves(jax.tree.map(lambda a, b: jnp.sum(a * b), one, other))),
            out_shardings=placement.everywhere,
        )

    def __call__(self, params: Params) -> list[float]:
        """R(i) of every facet."""
        wanted: Any = None
        for stream in range(len(self._dev.names)):
            unit = self._unit(params, self._put(self._dev.next(stream)))
            wanted = unit if wanted is None else self._add(wanted, unit)
        return [
            float(self._product(self._unit(params, self._put(self._train.next(facet))), wanted))
            / len(self._dev.names)
            for facet in range(len(self._train.names))
        ]

    def state(self) -> dict[str, Any]:
        """Where both kinds of streams stand."""
        return {"train": self._train.state(), "dev": self._dev.state()}

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Continue as saved; a run of version 0.1.0 saved nothing, and starts its streams here."""
        if state is not None:
            self._train.restore(state["train"])
            self._dev.restore(state["dev"])
