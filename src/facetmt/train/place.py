"""Where arrays live: batches split by rows over all devices, the rest on each device or split too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from facetmt.data.batch import Batch
from facetmt.errors import UserError

SMALL = 1 << 14  # an array of fewer numbers is not worth splitting


class Share(NamedTuple):
    """What a process reads of each batch, and how this becomes its part of the global arrays."""

    rows: slice
    put: Callable[[Batch], Any]  # these rows [R, L], or [A, R, L] with micro-batches


class Placement:
    """A one-dimensional mesh over all devices; `split` spreads parameters and optimiser state over it too."""

    def __init__(self, *, split: bool = False) -> None:
        devices = sorted(jax.devices(), key=lambda device: (device.process_index, device.id))
        self._mesh = Mesh(np.array(devices), ("data",), axis_types=(AxisType.Auto,))
        self._local = [n for n, one in enumerate(devices) if one.process_index == jax.process_index()]
        self._split = split
        self.devices = len(devices)
        self.everywhere = self._sharding()
        self._whole = jax.jit(lambda tree: tree, out_shardings=self.everywhere)

    def share(self, rows: int) -> Share:
        """This process's rows of a batch: all of them if the devices cannot share them evenly."""
        if rows % self.devices:
            return Share(slice(0, rows), lambda batch: self._put(batch, rows, ()))
        each = rows // self.devices
        mine = slice(self._local[0] * each, (self._local[-1] + 1) * each)
        return Share(mine, lambda batch: self._put(batch, rows, ("data",)))

    def training_share(self, rows: int) -> Share:
        """Like `share`, but refuses rows that the devices cannot share evenly."""
        if rows % self.devices:
            raise UserError(
                f"batch.rows is {rows}, which {self.devices} devices cannot share evenly; "
                f"make it a multiple of {self.devices}"
            )
        return self.share(rows)

    def shardings(self, tree: Any) -> Any:
        """Where each array of a training state lives."""
        return jax.tree.map(self._state_sharding, tree)

    def state(self, tree: Any) -> Any:
        """A training state, the same in every process, put where it lives."""
        return jax.tree.map(lambda leaf: self._from_host(leaf, self._state_sharding(leaf)), tree)

    def replicated(self, tree: Any) -> Any:
        """The same value on every device."""
        return jax.tree.map(lambda leaf: self._from_host(leaf, self.everywhere), tree)

    def whole(self, params: Any) -> Any:
        """Parameters that are on every device, for work that needs all of them again and again."""
        return self._whole(params) if self._split else params

    def spread(self, array: NDArray[Any]) -> Any:
        """A host array that every process has, by rows over the devices."""
        sharding = self._sharding("data") if len(array) % self.devices == 0 else self.everywhere
        return self._from_host(array, sharding)

    def fetch(self, tree: Any) -> Any:
        """Arrays of any place, on the host."""
        whole = tree if self.devices == 1 else self._whole(tree)
        return jax.tree.map(np.asarray, whole)

    def _sharding(self, *axes: str | None) -> NamedSharding:
        return NamedSharding(self._mesh, PartitionSpec(*axes))  # type: ignore[no-untyped-call]

    def _state_sharding(self, leaf: Any) -> NamedSharding:
        """Split along the longest axis that the devices share evenly."""
        if not self._split or leaf.size < SMALL:
            return self.everywhere
        fitting = [axis for axis, size in enumerate(leaf.shape) if size % self.devices == 0]
        if not fitting:
            return self.everywhere
        axis = max(fitting, key=lambda axis: int(leaf.shape[axis]))
        return self._sharding(*(None,) * axis, "data")

    def _put(self, batch: Batch, rows: int, axes: tuple[str, ...]) -> Any:
        def put(leaf: NDArray[Any]) -> Any:
            micro = leaf.ndim - 2
            sharding = self._sharding(*(None,) * micro, *axes)
            shape = (*leaf.shape[:micro], rows, leaf.shape[-1])
            return jax.make_array_from_process_local_data(sharding, leaf, shape)  # type: ignore[no-untyped-call]

        return jax.tree.map(put, batch)

    def _from_host(self, leaf: Any, sharding: NamedSharding) -> Any:
        host = np.asarray(leaf)
        return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])
