"""One cell: train or continue its run, then score it. Each cell is a process of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any

from facetmt import __version__
from facetmt.console import say
from facetmt.files import claimed, write_whole
from facetmt.report.studies.folder import Cell, is_finished
from facetmt.runlog import RECIPE
from facetmt.study.plan import Study
from facetmt.study.text import prepare_text
from facetmt.train.interrupt import EXIT_CODE, Interrupt, Interrupted
from facetmt.train.trials import lock_of

BUSY = 77  # exit code: another process runs this cell
TRIES, WAIT = 6, 0.5  # a lock may be held for a moment by a look at it, or by a process that is about to end
PACKAGES = ("jax", "jaxlib", "flax", "numpy", "sentencepiece", "sacrebleu")


def run_cell(study: Study, out: Path, cell: Cell, parent: int | None = None) -> int:
    """Finish the cell, unless it is finished; the exit code says how it ended."""
    run = cell.run(out)
    run.parent.mkdir(parents=True, exist_ok=True)
    with Interrupt() as interrupt:
        if parent is not None:
            Thread(target=end_with, args=(parent,), daemon=True).start()
        with patiently_claimed(lock_of(run)) as free:
            if not free:
                say(f"{run}: another process is running this cell; wait until it ends")
                return BUSY
            if is_finished(run):
                say(f"{cell}: already finished")
                return 0
            try:
                return train_and_score(study, out, cell, interrupt)
            except Interrupted:
                say(f"{cell}: stopped; everything is saved: run the same command again to continue")
                return EXIT_CODE


def train_and_score(study: Study, out: Path, cell: Cell, interrupt: Interrupt) -> int:
    """Imports JAX, which the processes that only start cells do without."""
    from facetmt.train.apply import evaluate_run
    from facetmt.train.run import train

    run, recipe = cell.run(out), study.recipe_of(cell)
    prepare_text(recipe, out, interrupt.check)
    note_surroundings(cell.about(out))
    interrupt.check()
    outcome = train(recipe, run, resume=(run / RECIPE).is_file())
    if not outcome.finished:
        raise Interrupted
    evaluate_run(run, [], check=interrupt.check)
    return 0


@contextmanager
def patiently_claimed(lock: Path) -> Iterator[bool]:
    """As `claimed`, but tries a few times."""
    for _ in range(TRIES - 1):
        with claimed(lock) as free:
            if free:
                yield True
                return
        time.sleep(WAIT)
    with claimed(lock) as free:
        yield free


def surroundings() -> dict[str, Any]:
    """What figures may depend on besides the recipe."""
    packages = {name: version(name) for name in PACKAGES}
    return {"facetmt": __version__, "python": sys.version.split()[0], **packages, "cores": core_count()}


def core_count() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def note_surroundings(path: Path) -> None:
    """Beside the run: the versions and cores of every process that worked on it, without repetition."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    now = surroundings()
    if now not in before:
        write_whole(path, json.dumps([*before, now], indent=1) + "\n")


def end_with(parent: int) -> None:
    """Stop as if asked to, once the process that started this one is gone."""
    while os.getppid() == parent:
        time.sleep(WAIT)
    os.kill(os.getpid(), signal.SIGTERM)
