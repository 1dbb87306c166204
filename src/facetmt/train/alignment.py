"""What MultiDDS-S measures: how far the gradient of each facet points where the dev set wants to go.

R(i) = mean_j cos(∇dev_j, ∇train_i) = ĝ_i · mean_j d̂_j: with unit gradients the K² cosines are K products.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from facetmt.data.batch import Batch
from facetmt.data.stream import dev_batches
from facetmt.model.transformer import Params
from facetmt.train.loss import loss_sum, mean, token_count
from facetmt.train.session import Session
from facetmt.train.state import global_norm


class Alignment:
    """2K backward passes: one a facet on its next training batch, one a facet on its part of the dev set."""

    def __init__(self, session: Session) -> None:
        self._sampler, self._place = session.sampler, session.share.put
        stores = session.prepared.stores("dev")
        self._dev = [
            next(iter(dev_batches([store], [chosen], session.recipe.batch, session.share.rows)))
            for store, chosen in zip(stores, session.prepared.dev_chosen, strict=True)
            if len(chosen)
        ]
        graph = session.graph

        def unit_gradient(params: Params, batch: Batch) -> Any:
            present = (batch.target_segment > 0).astype(jnp.float32)

            def loss(at: Params) -> Any:
                model = nnx.merge(graph, at)
                total = loss_sum(model.hidden(batch, None), model.matrix(), batch.label, present, 0.0)
                return mean(total, token_count(batch))

            gradient = jax.grad(loss)(params)
            norm = jnp.maximum(global_norm(gradient), 1e-30)
            return jax.tree.map(lambda leaf: leaf / norm, gradient)

        self._unit = jax.jit(unit_gradient)
        self._add = jax.jit(lambda one, other: jax.tree.map(jnp.add, one, other))
        self._product = jax.jit(
            lambda one, other: sum(jax.tree.leaves(jax.tree.map(lambda a, b: jnp.sum(a * b), one, other))),
            out_shardings=session.placement.everywhere,
        )

    def credit(self, params: Params) -> list[tuple[int, float]]:
        """(facet, R(facet)) for every facet; draws nothing from the streams."""
        wanted: Any = None
        for batch in self._dev:
            unit = self._unit(params, self._place(batch))
            wanted = unit if wanted is None else self._add(wanted, unit)
        credit = []
        for facet in range(len(self._sampler.names)):
            batch, _ = self._sampler.draw(self._sampler.cursor(facet), facet)
            product = self._product(self._unit(params, self._place(batch)), wanted)
            credit.append((facet, float(product) / len(self._dev)))
        return credit
