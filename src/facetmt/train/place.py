"""Where arrays live: batches split by rows over all devices, everything else on each of them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from facetmt.data.batch import Batch
from facetmt.errors import UserError


class Placement:
    """A one-dimensional mesh over all devices."""

    def __init__(self, rows: int) -> None:
        self._mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
        if rows % jax.device_count():
            raise UserError(
                f"batch.rows is {rows}, which {jax.device_count()} devices cannot share evenly; "
                f"make it a multiple of {jax.device_count()}"
            )

    def batch(self, batch: Batch) -> Any:
        """Rows over the devices: [R, L], or [A, R, L] with micro-batches."""
        axes = (None, "data") if batch.source.ndim == 3 else ("data",)
        shared = batch.source.shape[-2] % jax.device_count() == 0  # a small dev batch need not be
        return self._put(batch, NamedSharding(self._mesh, PartitionSpec(*axes if shared else ())))  # type: ignore[no-untyped-call]

    def replicated(self, tree: Any) -> Any:
        """The same value on every device."""
        return self._put(tree, NamedSharding(self._mesh, PartitionSpec()))  # type: ignore[no-untyped-call]

    def _put(self, tree: Any, sharding: NamedSharding) -> Any:
        return jax.tree.map(lambda leaf: jax.device_put(np.asarray(leaf), sharding), tree)
