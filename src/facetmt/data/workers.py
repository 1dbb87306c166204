"""Work spread over new processes; results come in order, and only a few wait at a time."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from facetmt.errors import UserError

Job = TypeVar("Job")
Result = TypeVar("Result")


class Workers:
    """An executor and the number of jobs that may be under way; without one, this process works."""

    def __init__(self, executor: Executor | None = None, ahead: int = 1) -> None:
        self._executor = executor
        self._ahead = ahead

    def run(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Results in the order of the jobs; jobs are taken only as fast as results are."""
        if self._executor is None:
            yield from map(work, jobs)
            return
        waiting: deque[Future[Result]] = deque()
        for job in jobs:
            waiting.append(self._executor.submit(work, job))
            if len(waiting) >= self._ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def open_workers(count: int | None, worthwhile: bool) -> Iterator[Workers]:
    """`count` processes (None: one per core if the work is worth starting them; 1: only this process)."""
    number = count or (_cores() if worthwhile else 1)
    if number == 1:
        yield Workers()
        return
    # spawn: a forked child would inherit the locks of whatever threads this process has
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(number, context, initializer=_settle_in)
    try:
        yield Workers(executor, 2 * number + 1)
    except BrokenProcessPool:
        raise UserError(
            "a worker process died, perhaps because memory ran out; free some and run the same command again"
        ) from None
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _cores() -> int:
    """Cores that this process may use, if the system says; otherwise all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _settle_in() -> None:
    """Ctrl-C reaches the whole group, but only the parent acts on it; no worker outlives the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
