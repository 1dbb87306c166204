"""All cells of a study, each in its own process, side by side on the cores at hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from facetmt.console import duration, say
from facetmt.files import claimed
from facetmt.report.studies.folder import Cell, is_finished
from facetmt.study.cell import BUSY
from facetmt.study.cores import all_cores, shared_out, start_on
from facetmt.study.plan import Study
from facetmt.study.progress import Board
from facetmt.study.text import prepare_all
from facetmt.train.interrupt import EXIT_CODE, Interrupt, Interrupted
from facetmt.train.trials import lock_of

POLL, LOOK = 0.1, 2.0  # seconds between looks at own processes, and at cells that other calls run
TAIL = 4096  # bytes at the end of a log in which its last line is


@dataclass
class Started:
    """A cell that a process of this call is running."""

    cell: Cell
    process: subprocess.Popen[bytes]
    slot: int
    log: Path
    start: float = field(default_factory=time.monotonic)


@dataclass
class Ending:
    """How the cells of a study ended."""

    stopped: bool = False  # a signal came; everything is saved
    failed: dict[Cell, str] = field(default_factory=dict)  # why, and where its log is


def run_study(study: Study, out: Path, jobs: int | None = None) -> Ending:
    """Finish every cell that is not finished; a cell that fails does not stop the others."""
    with Interrupt() as interrupt:
        try:
            prepare_all(study, out, interrupt.check)
        except Interrupted:
            return Ending(stopped=True)
        cells = study.cells
        cores = all_cores()
        # by the whole study: a call that continues it gives each cell as many cores as the first one did
        shares = shared_out(cores, min(jobs or len(cores), len(cells)))
        board = Board(study, out)
        left = [cell for cell in cells if not is_finished(cell.run(out))]
        say(f"{len(cells)} cells, {len(cells) - len(left)} finished before; up to {len(shares)} side by side")
        with board.shown():
            return Runner(study, out, shares, left, interrupt, board).run()


class Runner:
    """Starts cells where cores are free, and takes note of how they end."""

    def __init__(
        self,
        study: Study,
        out: Path,
        shares: list[list[int]],
        left: list[Cell],
        interrupt: Interrupt,
        board: Board,
    ) -> None:
        self._study, self._out, self._shares, self._interrupt = study, out, shares, interrupt
        self._left, self._board = left, board
        self._elsewhere: list[Cell] = []  # run by another call, at least when last looked at
        self._running: list[Started] = []
        self._ending = Ending()
        self._told = False  # whether the running cells were told to stop
        self._looked = 0.0

    def run(self) -> Ending:
        while self._running or (not self._stopping() and (self._left or self._elsewhere)):
            self._reap()
            if self._stopping():
                self._pass_on()
            else:
                self._look_elsewhere()
                self._start()
            self._board.show([one.cell for one in self._running], len(self._elsewhere))
            time.sleep(POLL)
        self._ending.stopped = self._ending.stopped or self._interrupt.asked
        return self._ending

    def _stopping(self) -> bool:
        return self._interrupt.asked

    def _pass_on(self) -> None:
        if not self._told:
            self._told = True
            say(f"stopping; waiting until {len(self._running)} cells are saved")
            for one in self._running:
                one.process.send_signal(signal.SIGTERM)

    def _start(self) -> None:
        """Take the next cells, in order, while there are free cores."""
        taken = {one.slot for one in self._running}
        for slot in (slot for slot in range(len(self._shares)) if slot not in taken):
            cell = self._next_free()
            if cell is None:
                return
            self._running.append(self._started(cell, slot))

    def _next_free(self) -> Cell | None:
        while self._left:
            cell = self._left.pop(0)
            if not self._is_free(cell):
                say(f"{cell}: another process is running it")
                self._elsewhere.append(cell)
            elif not self._is_done(cell):
                return cell
        return None

    def _started(self, cell: Cell, slot: int) -> Started:
        run, log = cell.run(self._out), cell.log(self._out)
        log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "facetmt", "study", str(self._study.path), "--out", str(self._out)]
        command += ["--cell", str(cell), "--parent", str(os.getpid())]
        say(f"{cell}: {'continued' if run.exists() else 'started'}")
        with log.open("ab") as output:
            return Started(cell, start_on(self._shares[slot], command, output), slot, log)

    def _reap(self) -> None:
        for one in [one for one in self._running if one.process.poll() is not None]:
            self._running.remove(one)
            code = one.process.returncode
            if code == 0 and self._is_done(one.cell, f" after {duration(time.monotonic() - one.start)}"):
                continue
            if code == BUSY:
                self._elsewhere.append(one.cell)
            elif code == EXIT_CODE or (self._told and code in (-signal.SIGTERM, -signal.SIGINT)):
                self._ending.stopped = True
                say(f"{one.cell}: stopped; everything is saved")
            else:
                reason = f"killed by signal {-code}" if code < 0 else last_line(one.log)
                self._ending.failed[one.cell] = f"{reason} (log: {one.log})"
                say(f"{one.cell}: failed; the other cells go on")

    def _look_elsewhere(self) -> None:
        """Cells that another call no longer runs are finished, or taken over."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        for cell in [cell for cell in self._elsewhere if self._is_free(cell)]:
            self._elsewhere.remove(cell)
            if not self._is_done(cell):
                self._left.append(cell)

    def _is_free(self, cell: Cell) -> bool:
        lock = lock_of(cell.run(self._out))
        lock.parent.mkdir(parents=True, exist_ok=True)
        with claimed(lock) as free:
            return free

    def _is_done(self, cell: Cell, when: str = "") -> bool:
        done = is_finished(cell.run(self._out))
        if done:
            say(f"{cell}: finished{when}")
        return done


def last_line(log: Path) -> str:
    """What a process said last, without the name of the command."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL))
        lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip().removeprefix("facetmt: ") if lines else "it said nothing"
