"""What people watch during training: a live line on a terminal, else plain lines; TensorBoard on request."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from facetmt.console import say
from facetmt.errors import UserError

Row = Mapping[str, Any]
TOP = 3  # facets named in the live line


class Watcher(Protocol):
    """Is notified of how the training goes."""

    def metrics(self, row: Row, shares: Mapping[str, float]) -> None: ...
    def validation(self, row: Row, best: bool) -> None: ...
    def say(self, text: str) -> None: ...
    def close(self) -> None: ...


def watch(directory: Path, steps: int, done: int, tensorboard: bool) -> list[Watcher]:
    """The watchers of a run: a live line on a terminal, plain lines elsewhere."""
    screen: Watcher = LiveLine(steps, done) if sys.stderr.isatty() else PlainLines(steps)
    return [screen, TensorBoard(directory)] if tensorboard else [screen]


def describe(row: Row, shares: Mapping[str, float]) -> str:
    """Loss, speed and the facets with the largest shares."""
    top = sorted(shares.items(), key=lambda item: -item[1])[:TOP]
    favoured = " ".join(f"{name} {share:.0%}" for name, share in top)
    loss = "loss  –" if row["loss"] is None else f"loss {row['loss']:.3f}"
    return f"{loss}  {row['tokens_per_second']:,.0f} tokens/s  {favoured}"


def describe_validation(row: Row, best: bool) -> str:
    loss, bleu = row["loss"]["average"], row["bleu"]["average"]
    note = "  (best so far)" if best else ""
    return f"step {row['step']:,}: dev loss {loss:.3f}  dev BLEU {bleu:.1f}{note}"


class PlainLines:
    """One line per log point, for logs and pipes."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def metrics(self, row: Row, shares: Mapping[str, float]) -> None:
        self.say(f"step {row['step']:,}/{self._steps:,}  {describe(row, shares)}  {row['seconds']:,.0f} s")

    def validation(self, row: Row, best: bool) -> None:
        self.say(describe_validation(row, best))

    def say(self, text: str) -> None:
        say(text)

    def close(self) -> None:
        """Nothing is held open."""


class LiveLine:
    """A bar with step, loss, speed, favoured facets and the time left."""

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
                "train.tensorboard: the package tensorboardX is missing; pip install 'facetmt[tensorboard]'"
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
        """Remarks are for the screen."""

    def close(self) -> None:
        self._writer.close()
