"""What people read while a verb works: plain lines, tables, and one kind of progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

NEW, SAME = 1.0, 10.0  # seconds between two lines of progress, where the work is new and where it is the same

Clock = Callable[[], float]
Show = Callable[[str, int, int | None], None]  # text, units done, units in all where that is known
Tell = Callable[[str], None]  # one line
TellStage = Callable[[str, int, int], None]  # stage, done, total (0: unknown)


def say(line: str) -> None:
    """A line to standard error, so that standard output holds results alone."""
    print(line, file=sys.stderr, flush=True)


def print_line(line: str) -> None:
    """A line of results; names are never read as markup."""
    plain().print(line, soft_wrap=True)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str | None = None,
    left: Sequence[str] = (),
    bold: Sequence[str] = (),
) -> None:
    """A table of results; columns in `left` hold words, the others figures; rows in `bold` stand out."""
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right")
    for row in rows:
        table.add_row(*row, style="bold" if row[0] in bold else None)
    plain().print(table)


def plain() -> Console:
    return Console(markup=False, highlight=False)  # a facet may be called [bold]


class Pace:
    """Counts units of work; the rate leaves out what was already done and the first portion (it compiles)."""

    def __init__(
        self, what: str, unit: str, total: int | None, show: Show, clock: Clock = time.monotonic
    ) -> None:
        self._what, self._unit, self._total, self._show, self._clock = what, unit, total, show, clock
        self._done = self._measured = 0
        self._start: tuple[float, float] | None = None  # time and share after the first portion

    def skipped(self, count: int) -> None:
        """This many units were done before."""
        self._done += count
        self._report("")

    def worked(self, count: int) -> None:
        """This many more units are done."""
        self.reached(self._done + count)

    def reached(self, done: int, share: float | None = None) -> None:
        """This many units are done, which is `share` of the whole where the total is not known."""
        self._measured += done - self._done if self._start else 0
        self._done = done
        share = done / self._total if self._total else share
        now = self._clock()
        self._start = self._start or (now, share or 0.0)
        self._report(self._estimate(now - self._start[0], share))

    def _estimate(self, seconds: float, share: float | None) -> str:
        """Rate and time left."""
        text = ""
        if self._measured > 0 and seconds > 0 and self._start is not None:
            if self._unit:
                text += f", {self._measured / seconds:,.0f} {self._unit}/s"
            if share is not None and self._start[1] < share < 1:
                text += f", {duration(seconds * (1 - share) / (share - self._start[1]))} left"
        return text

    def _report(self, estimate: str) -> None:
        total = f"/{self._total:,}" if self._total else ""
        unit = f" {self._unit}" if self._unit else ""
        self._show(f"{self._what}: {self._done:,}{total}{unit}{estimate}", self._done, self._total)


def duration(seconds: float) -> str:
    """45 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(what: str, unit: str, total: int | None = None, *, bar: bool = True) -> Iterator[Pace]:
    """The pace of one piece of work: a bar on a terminal, elsewhere a line now and then."""
    with shows(bar) as show_for:
        yield Pace(what, unit, total, show_for(what))


@contextmanager
def stages() -> Iterator[TellStage]:
    """Progress of work in several stages, whose names come as it goes on."""
    with shows() as show_for:
        paces: dict[str, Pace] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in paces:
                paces[stage] = Pace(stage, "", total, show_for(stage))
            paces[stage].reached(done)

        yield tell


@contextmanager
def shows(bar: bool = True) -> Iterator[Callable[[str], Show]]:
    """What shows the progress of each piece of work, by its name."""
    if not (bar and sys.stderr.isatty()):
        lines = Lines()
        yield (
            lambda what: (
                lambda text, done, total: lines.show(what, text, bool(total) and done >= (total or 0))
            )
        )
        return
    columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True)) as bars:

        def show_for(what: str) -> Show:
            task = bars.add_task(what, total=None)
            return lambda text, done, total: bars.update(
                task, completed=done, total=total or None, description=text
            )

        yield show_for


class Lines:
    """Progress for logs and pipes: a line now and then; work that is soon done says nothing."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock, self._what, self._text, self._said = clock, "", "", clock()

    def show(self, what: str, text: str, ended: bool) -> None:
        """Say it if the last line is old enough, or if it is the end of what was mentioned before."""
        same, now = what == self._what, self._clock()
        if text != self._text and ((same and ended) or now - self._said >= (SAME if same else NEW)):
            say(text)
            self._what, self._text, self._said = what, text, now
