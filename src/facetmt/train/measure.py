"""What is measured of a step: its memory, before the first one runs, and what the reward's passes cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from facetmt.data.batch import Batch
from facetmt.errors import UserError
from facetmt.train.session import Session
from facetmt.train.state import TrainState
from facetmt.train.step import make_facet_loss

REPEATS = 3  # timings of the reward's pass, of which the median counts
ADVICE = (
    "lower batch.rows or batch.length (optimiser.accumulate keeps the nominal batch), set model.remat: true, "
    "or take a smaller model.preset"
)


class MeasuredStep:
    """A jitted step, compiled once for the one shape that all batches have; its memory is checked then."""

    def __init__(self, step: Any) -> None:
        self._step = step
        self._compiled: Any = None

    def compile(self, state: TrainState, batch: Batch, dev: Batch | None, fresh: ArrayLike) -> None:
        """Compile it, if that was not done before."""
        if self._compiled is None:
            with fitting():
                self._compiled = self._step.lower(state, batch, dev, np.bool_(fresh)).compile()
                check(needed(self._compiled), available())

    def __call__(
        self, state: TrainState, batch: Batch, dev: Batch | None, fresh: ArrayLike
    ) -> tuple[TrainState, Array]:
        self.compile(state, batch, dev, fresh)
        with fitting():
            result: tuple[TrainState, Array] = self._compiled(state, batch, dev, np.bool_(fresh))
        return result


@contextmanager
def fitting() -> Iterator[None]:
    """A device that is out of memory is one sentence."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise UserError(f"a training step does not fit into the device's memory; {ADVICE}") from error


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
    """MemAvailable, or what the control group leaves, where the system reports it."""
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
    """Refuse to start what cannot run."""
    if wanted is not None and there is not None and wanted > there:
        raise UserError(
            f"a training step needs {wanted / 2**30:.2f} GiB of memory per device, but only "
            f"{max(there, 0) / 2**30:.2f} GiB are left; {ADVICE}"
        )


class RewardCost:
    """Times the reward's forward pass alone, on a batch of its real shape, at the first log point."""

    def __init__(self, session: Session) -> None:
        self._session, self._reward = session, session.signal.reward
        self._batch: Any = None
        self._seconds: float | None = None if self._reward is not None and self._reward.after else 0.0

    def show(self, batch: Any, dev: Any) -> None:
        """Remember the kind of batch that the reward looks at."""
        if self._batch is None and self._seconds is None and self._reward is not None:
            self._batch = dev if self._reward.batch == "dev" else batch

    def share(self, step_seconds: float) -> float:
        """Share of a step that goes to the reward."""
        if self._seconds is None:
            self._seconds = self._measure()
        return round(min(1.0, self._seconds / max(step_seconds, 1e-9)), 4)

    def _measure(self) -> float:
        session = self._session
        batch = self._batch
        if batch.source.ndim == 3:  # micro-batches: one is timed, and counts for all
            batch = jax.tree.map(lambda leaf: leaf[0], batch)
        forward = make_facet_loss(session.graph, len(session.prepared.facets))
        forward(session.state.params, batch).loss.block_until_ready()
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            forward(session.state.params, batch).loss.block_until_ready()
            times.append(time.perf_counter() - start)
        once = sorted(times)[REPEATS // 2] * (len(self._batch.source) if self._batch.source.ndim == 3 else 1)
        # a held dev batch needs its "before" only when it is new
        fresh = 1 / session.recipe.train.dev_hold if self._reward is not None and self._reward.before else 0.0
        return once * (1 + fresh)
