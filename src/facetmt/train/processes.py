"""Several processes that train one model: how they join, stay in step, and end together."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import numpy as np
from jax.experimental import multihost_utils
from numpy.typing import NDArray

from facetmt.errors import UserError
from facetmt.train.interrupt import Interrupt, Interrupted

JOIN_SECONDS = 300  # how long the processes wait for each other at the start
HEARTBEAT_SECONDS = 30  # a process silent for this long counts as dead, and ends the others
LOST = 76  # exit code: another process is gone
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# what JAX, gloo and NCCL say about a peer that no longer answers
SIGNS = ("gloo", "nccl", "unavailable", "connection", "heartbeat", "deadline", "coordination", "socket")


@dataclass(frozen=True)
class Cluster:
    """How to find the other processes; all None: JAX asks Slurm, Open MPI, Kubernetes or the TPU pod."""

    address: str | None = None  # HOST:PORT of process 0, where they meet
    processes: int | None = None  # how many there are
    process: int | None = None  # which one this is, from 0

    def __post_init__(self) -> None:
        given = [value is not None for value in (self.address, self.processes, self.process)]
        if any(given) and not all(given):
            raise UserError("give --coordinator, --processes and --process together, or none of them")
        if self.processes is not None and not 0 <= (self.process or 0) < self.processes:
            raise UserError(
                f"--process is {self.process}, but {self.processes} processes are numbered "
                f"0 to {self.processes - 1}"
            )
        if self.address is not None and not self.address.rpartition(":")[2].isdigit():
            raise UserError(f"--coordinator {self.address}: write it as HOST:PORT, such as node0:12345")


@contextmanager
def one_of_many(cluster: Cluster | None) -> Iterator[None]:
    """Inside, this process is one of many. One that fails ends at once, so that the others need not wait."""
    if cluster is None:
        yield
        return
    join(cluster)
    try:
        yield
    except BaseException as error:
        leave(error)
    jax.distributed.shutdown()  # type: ignore[no-untyped-call]


def join(cluster: Cluster) -> None:
    """Meet the other processes."""
    # SIGTERM is the training loop's to handle
    jax.config.update("jax_enable_preemption_service", False)  # type: ignore[no-untyped-call]
    address = cluster.address
    local = address is not None and address.rpartition(":")[0] in LOOPBACK
    try:
        jax.distributed.initialize(
            address,
            cluster.processes,
            cluster.process,
            cluster_detection_method=None if address is None else "deactivate",
            coordinator_bind_address=address if local else None,
            initialization_timeout=JOIN_SECONDS,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
        )
    except (ValueError, RuntimeError) as error:
        raise UserError(
            f"the processes could not join ({first_line(error)}); start all of them with the same "
            "--coordinator, or under Slurm, Open MPI, Kubernetes or on a TPU pod with --distributed "
            "(docs/scaling.md)"
        ) from error


def leave(error: BaseException) -> NoReturn:
    """Say what happened and end at once: a tidy exit would wait for processes that wait for this one."""
    here = f"process {jax.process_index()} of {jax.process_count()}"
    cause = error.__cause__ if isinstance(error, UserError) else error
    if cause is not None and any(sign in str(cause).lower() for sign in SIGNS):
        code = LOST
        text = (
            f"{here} lost another one ({first_line(cause)}); see what that one said, "
            "then start all of them again with --resume"
        )
    elif isinstance(error, UserError):
        text, code = str(error), 2
    else:
        text, code = f"{here} failed", 1
        traceback.print_exception(error)
    sys.stderr.write(f"facetmt: {text}\n")  # in one piece, whatever other threads may print
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def several() -> bool:
    """Whether this process is one of many; asks JAX for its devices only if it may be."""
    return jax.distributed.is_initialized() and jax.process_count() > 1


def is_first_process() -> bool:
    """The first process writes logs and speaks to the user."""
    return not several() or jax.process_index() == 0


def on_first_process(work: Callable[[], Any]) -> Any:
    """The first process works, the others wait; all get its answer (JSON), or the error that it made."""
    if not several():
        return work()
    answer: dict[str, Any] = {}
    if is_first_process():
        try:
            answer["value"] = work()
        except (UserError, OSError) as error:
            answer["error"] = str(error)
    text = np.frombuffer(json.dumps(answer).encode(), np.uint8)
    length = int(multihost_utils.broadcast_one_to_all(np.int32(len(text))))
    text = multihost_utils.broadcast_one_to_all(np.resize(text, length))
    answer = json.loads(bytes(np.asarray(text)))
    if "error" in answer:
        raise UserError(answer["error"])
    return answer["value"]


def gather(values: NDArray[Any]) -> NDArray[Any]:
    """[processes, ...]: the same array from each process."""
    return np.asarray(multihost_utils.process_allgather(values)).reshape(-1, *values.shape)


class Agreement:
    """Every few steps: did any process get a signal, and have all processes done the same?"""

    def __init__(self, interrupt: Interrupt, every: int) -> None:
        self._interrupt, self._every = interrupt, every
        self._history = hashlib.sha256()

    def record(self, step: int, arm: int, *values: float) -> None:
        """Remember a step: its pull and its feedback."""
        self._history.update(struct.pack(f"<qq{len(values)}d", step, arm, *values))

    def at(self, step: int) -> None:
        """Leave from here if a signal came; several processes must leave at the same step."""
        if not several() or step % self._every == 0:
            self.check()

    def check(self) -> None:
        """As `at`, at a place that all processes reach equally often."""
        if not several():
            self._interrupt.check()
            return
        digest = np.frombuffer(self._history.digest()[:8], np.uint32)
        rows = gather(np.array([*digest, self._interrupt.asked], np.uint32))
        if (rows[:, :-1] != rows[0, :-1]).any():
            raise UserError(
                "the processes do not agree on what was trained so far, so their bandits would drift apart; "
                "look for a faulty machine or unequal software, then start all of them again with --resume"
            )
        if rows[:, -1].any():
            raise Interrupted
