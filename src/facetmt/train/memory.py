"""Want of memory is known before the first step: the compiled step says how much it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from facetmt.data.batch import Batch
from facetmt.errors import UserError
from facetmt.train.state import TrainState

ADVICE = (
    "lower batch.rows or batch.length (optimiser.accumulate keeps the nominal batch), set model.remat: true, "
    "or take a smaller model.preset"
)


class MeasuredStep:
    """A jitted step, compiled at its first call for the one shape that all batches have."""

    def __init__(self, step: Any) -> None:
        self._step = step
        self._compiled: Any = None

    def __call__(
        self, state: TrainState, batch: Batch, dev: Batch | None = None, fresh: ArrayLike = True
    ) -> tuple[TrainState, Array]:
        inputs = (state, batch, dev, np.bool_(fresh))
        try:
            if self._compiled is None:
                self._compiled = self._step.lower(*inputs).compile()
                check(needed(self._compiled), available())
            result: tuple[TrainState, Array] = self._compiled(*inputs)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            raise UserError(f"a training step does not fit into the device's memory; {ADVICE}") from error
        return result


def needed(compiled: Any) -> int | None:
    """Bytes on each device besides the inputs, which are there already."""
    sizes = compiled.memory_analysis()
    if sizes is None:
        return None
    fresh: int = sizes.temp_size_in_bytes + sizes.output_size_in_bytes - sizes.alias_size_in_bytes
    return fresh


def available() -> int | None:
    """Bytes that a device of this process has left."""
    device = jax.local_devices()[0]
    if stats := device.memory_stats():
        return int(stats["bytes_limit"] - stats["bytes_in_use"]) if "bytes_limit" in stats else None
    host = host_memory()
    return None if host is None else host // jax.local_device_count()


def host_memory() -> int | None:
    """MemAvailable, or what the control group leaves, where the system tells."""
    try:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text("ascii").splitlines())
        free = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text("ascii"))
        held = int((group / "memory.current").read_text("ascii"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text("ascii").splitlines())
        free = min(free, limit - held + int(stat["inactive_file"]))  # cached files make room
    except (OSError, KeyError, ValueError):  # no control group, or one without a limit
        pass
    return free


def check(wanted: int | None, there: int | None) -> None:
    """Refuse to begin what cannot go on."""
    if wanted is not None and there is not None and wanted > there:
        raise UserError(
            f"a training step needs {wanted / 2**30:.2f} GiB of memory a device, but {max(there, 0) / 2**30:.2f} GiB "
            f"are left; {ADVICE}"
        )
