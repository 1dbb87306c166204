"""The cores at hand, shared out to processes that run side by side, so that they do not slow each other."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from typing import IO

# read by XLA, OpenMP and OpenBLAS where a process cannot be bound to cores
THREADS = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def all_cores() -> list[int]:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def shared_out(cores: Sequence[int], jobs: int) -> list[list[int]]:
    """Cores of each job: neighbours together; one core is used by several only if there are too few."""
    if jobs > len(cores):
        return [[cores[job % len(cores)]] for job in range(jobs)]
    bounds = [job * len(cores) // jobs for job in range(jobs + 1)]
    return [list(cores[low:high]) for low, high in pairwise(bounds)]


def start_on(cores: Sequence[int], command: Sequence[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process bound to these cores, apart from this one's terminal, whose signals are passed on."""
    before = all_cores()
    environment = {**os.environ, **dict.fromkeys(THREADS, str(len(cores)))}
    bind(cores)  # a new process inherits it
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    finally:
        bind(before)


def bind(cores: Sequence[int]) -> None:
    """Bind this thread; not every system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
