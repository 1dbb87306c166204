"""How far a long work has come, its rate and the time left: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

EVERY = 30.0  # seconds between two lines where there is no terminal

Show = Callable[[str, int], None]  # what to say, and how much is done


class Pace:
    """Counts what was done; what was found done already does not count for the rate."""

    def __init__(
        self, what: str, unit: str, total: int, show: Show, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._unit, self._total, self._show, self._clock = what, unit, total, show, clock
        self._done = self._measured = 0
        self._begun = clock()
        self._started = False

    def skipped(self, count: int) -> None:
        """So much was there already."""
        self._done += count
        self._tell()

    def worked(self, count: int) -> None:
        """So much was done now; the first portion, in which the program is compiled, is not measured."""
        self._done += count
        if self._started:
            self._measured += count
        else:
            self._started, self._begun = True, self._clock()
        self._tell()

    def _tell(self) -> None:
        text = f"{self._what}: {self._done:,}/{self._total:,} {self._unit}"
        seconds = self._clock() - self._begun
        if self._measured and seconds > 0:
            rate = self._measured / seconds
            text += f", {rate:,.0f} {self._unit}/s"
            if left := self._total - self._done:
                text += f", {duration(left / rate)} left"
        self._show(text, self._done)


def duration(seconds: float) -> str:
    """45 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@contextmanager
def shown(what: str, unit: str, total: int) -> Iterator[Pace]:
    """A pace that people can see."""
    if not sys.stderr.isatty():
        yield Pace(what, unit, total, plain_lines(total))
        return
    columns = (
        BarColumn(bar_width=20),
        TextColumn("{task.description}", markup=False),
    )  # names may hold brackets
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(what, total=total)
        yield Pace(what, unit, total, lambda text, done: bars.update(task, completed=done, description=text))


def plain_lines(total: int, clock: Callable[[], float] = time.monotonic) -> Show:
    """A line every EVERY seconds, and one at the end."""
    last = clock()

    def show(text: str, done: int) -> None:
        nonlocal last
        if done >= total or clock() - last >= EVERY:
            last = clock()
            print(text, file=sys.stderr, flush=True)

    return show
