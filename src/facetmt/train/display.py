"""What people watch while it trains: a live line on a terminal, else plain lines; TensorBoard if asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from facetmt.errors import UserError

Row = Mapping[str, Any]
TOP = 3  # facets named in the live line
EVERY = 10.0  # seconds between lines of progress where there is no terminal


class Watcher(Protocol):
    """Something that is told how the training goes."""

    def metrics(self, row: Row, shares: Mapping[str, float]) -> None: ...
    def validation(self, row: Row, best: bool) -> None: ...
    def say(self, text: str) -> None: ...
    def close(self) -> None: ...


def watch(directory: Path, steps: int, done: int, tensorboard: bool) -> list[Watcher]:
    """The watchers of a run: a terminal gets a live line, anything else plain lines."""
    screen: Watcher = LiveLine(steps, done) if sys.stderr.isatty() else PlainLines(steps)
    return [screen, TensorBoard(directory)] if tensorboard else [screen]


def describe(row: Row, shares: Mapping[str, float]) -> str:
    """Loss, speed and the facets that get the most."""
    top = sorted(shares.items(), key=lambda item: -item[1])[:TOP]
    favoured = " ".join(f"{name} {share:.0%}" for name, share in top)
    loss = "loss  –" if row["loss"] is None else f"loss {row['loss']:.3f}"
    return f"{loss}  {row['tokens_per_second']:,.0f} tokens/s  {favoured}"


def describe_validation(row: Row, best: bool) -> str:
    loss, bleu = row["loss"]["average"], row["bleu"]["average"]
    note = "  (best so far)" if best else ""
    return f"step {row['step']:,}: dev loss {loss:.3f}  dev BLEU {bleu:.1f}{note}"


@contextmanager
def prepare_progress() -> Iterator[Callable[[str, int, int], None]]:
    """A callback (stage, done, total) that draws a bar per stage on a terminal, and elsewhere a line now and then."""
    if not sys.stderr.isatty():
        yield PlainStages()
        return
    columns = (
        TextColumn("{task.description}", markup=False),  # names may hold brackets
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield tell


Worked = Callable[[int, float | None], None]  # (units done, share of the whole where it is known)


@contextmanager
def work_progress(what: str, unit: str, *, bar: bool = True) -> Iterator[Worked]:
    """A callback for long work: a bar with the time left on a terminal, else a line now and then."""
    if not (bar and sys.stderr.isatty()):
        yield PlainProgress(what, unit)
        return
    columns = (TextColumn(what), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=Console(stderr=True)) as bars:
        task = bars.add_task(f"0 {unit}", total=1.0)
        yield lambda done, share: bars.update(task, description=f"{done:,} {unit}", completed=share or 0.0)


class PlainProgress:
    """One line every few seconds, the first after as many: short work says nothing."""

    def __init__(self, what: str, unit: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._unit, self._clock = what, unit, clock
        self._start = self._said = clock()

    def __call__(self, done: int, share: float | None) -> None:
        now = self._clock()
        if now - self._said < EVERY:
            return
        self._said = now
        left = ""
        if share:
            seconds = round((now - self._start) * (1 - share) / share)
            left = f", {share:.0%}, about {timedelta(seconds=seconds)} left"
        print(f"{self._what}: {done:,} {self._unit}{left}", file=sys.stderr, flush=True)


class PlainStages:
    """How far the stages of a preparation are, for logs and pipes; what is soon done says nothing."""

    NEW, SAME = 1.0, 5.0  # seconds since the last line, for a new stage and for the same

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._stage, self._said = clock, "", clock()

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = self._clock()
        if now - self._said >= (self.SAME if stage == self._stage else self.NEW):
            print(f"{stage} {done:,}{f'/{total:,}' if total else ''}", file=sys.stderr, flush=True)
            self._stage, self._said = stage, now


class PlainLines:
    """One line a log point, for logs and pipes."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def metrics(self, row: Row, shares: Mapping[str, float]) -> None:
        self.say(f"step {row['step']:,}/{self._steps:,}  {describe(row, shares)}  {row['seconds']:,.0f} s")

    def validation(self, row: Row, best: bool) -> None:
        self.say(describe_validation(row, best))

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is held open."""


class LiveLine:
    """A bar with step, loss, speed, favoured facets and the time that remains."""

    def __init__(self, steps: int, done: int) -> None:
        self._progress = Progress(
            TextColumn("step {task.completed:,.0f}/{task.total:,.0f}"),
            BarColumn(bar_width=20),
            TextColumn("{task.description}", markup=False),  # names may hold brackets
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._progress.add_task("compiling the step", total=steps, completed=done)
        self._progress.start()

    def metrics(self, row: Row, shares: Mapping[str, float]) -> None:
        self._progress.update(self._task, completed=row["step"], description=describe(row, shares))

    def validation(self, row: Row, best: bool) -> None:
        self.say(describe_validation(row, best))

    def say(self, text: str) -> None:
        self._progress.console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        self._progress.stop()


class TensorBoard:
    """Scalars for TensorBoard in RUN/tensorboard."""

    def __init__(self, directory: Path) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise UserError(
                "train.tensorboard needs the package tensorboardX: pip install 'facetmt[tensorboard]'"
            ) from None
        self._writer = SummaryWriter(str(directory / "tensorboard"))

    def metrics(self, row: Row, shares: Mapping[str, float]) -> None:
        for name in ("loss", "lr", "tokens_per_second", "gradient_norm"):
            if row.get(name) is not None:
                self._writer.add_scalar(f"train/{name}", row[name], row["step"])
        for facet, share in shares.items():
            self._writer.add_scalar(f"share/{facet}", share, row["step"])

    def validation(self, row: Row, best: bool) -> None:
        for kind in ("loss", "bleu"):
            self._writer.add_scalar(f"dev/{kind}", row[kind]["average"], row["step"])
            for facet, value in row[kind]["facets"].items():
                self._writer.add_scalar(f"dev_{kind}/{facet}", value, row["step"])

    def say(self, text: str) -> None:
        """Words are for the screen."""

    def close(self) -> None:
        self._writer.close()
