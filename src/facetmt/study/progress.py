"""How far a study is: steps of all cells, the time left, the cells that are running."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from facetmt.console import Pace, shows
from facetmt.report.studies.folder import Cell, is_finished
from facetmt.runlog import METRICS
from facetmt.study.plan import Study

LIVE, PLAIN = 1.0, 60.0  # seconds between two looks at the logs: on a terminal, and elsewhere
TAIL = 1 << 16  # bytes at the end of a log in which its last line is


class Board:
    """Reads how far the cells are, now and then."""

    def __init__(self, study: Study, out: Path) -> None:
        self._study, self._out = study, out
        self._steps = {cell: study.recipe_of(cell).train.steps for cell in study.cells}
        self._done = {
            cell: steps if is_finished(cell.run(out)) else steps_done(cell.run(out))
            for cell, steps in self._steps.items()
        }
        self._pace: Pace | None = None
        self._suffix, self._looked = "", time.monotonic()
        self._running: set[Cell] = set()
        self._every = LIVE if sys.stderr.isatty() else PLAIN

    @contextmanager
    def shown(self) -> Iterator[None]:
        """A bar on a terminal, elsewhere a line now and then."""
        with shows() as show_for:
            show = show_for("study")
            total = sum(self._steps.values())
            self._pace = Pace(
                "study", "steps", total, lambda text, done, total: show(text + self._suffix, done, total)
            )
            self._pace.skipped(sum(self._done.values()))
            yield

    def show(self, running: Sequence[Cell], elsewhere: int) -> None:
        """Update what is shown, unless that was done a moment ago."""
        ended = self._running - set(running)
        for cell in ended:
            run = cell.run(self._out)
            self._done[cell] = self._steps[cell] if is_finished(run) else steps_done(run)
        self._running = set(running)
        if self._pace is None or (time.monotonic() - self._looked < self._every and not ended):
            return
        self._looked = time.monotonic()
        for cell in running:
            self._done[cell] = steps_done(cell.run(self._out))
        other = f", {elsewhere} run by another process" if elsewhere else ""
        names = " ".join(map(str, running))
        self._suffix = f"; running: {names or 'none'}{other}"
        self._pace.reached(sum(self._done.values()))


def steps_done(run: Path) -> int:
    """The last step in a run's log of metrics, read from its end; 0 before the first log point."""
    try:
        with (run / METRICS).open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL))
            whole = file.read().rpartition(b"\n")[0]
        return int(json.loads(whole.rpartition(b"\n")[2])["step"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0
