"""The settings of a search and their runs: the grid, each setting's folder and lock, the table at the end."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facetmt.console import print_table, say
from facetmt.errors import UserError
from facetmt.recipe import split_setting
from facetmt.train.interrupt import EXIT_CODE

Settings = dict[str, Any]
Grid = dict[str, list[Any]]
PAPER_GRID: Grid = {"schedule.learning_rate": [0.001, 0.01, 0.1], "schedule.exploration": [0.1, 0.25, 0.5]}


@dataclass(frozen=True)
class Trial:
    """One setting and its result."""

    settings: Settings
    score: float | None  # best dev BLEU so far; None before the first validation
    state: str  # complete, pruned, running, interrupted, failed
    run: str  # name of its run directory
    error: str | None = None  # why it failed


def parse_grid(words: Sequence[str]) -> Grid:
    """One `key=a,b,c` per word, values read as in a recipe; the paper's grid if there are no words."""
    grid: Grid = {}
    for word in words:
        where = f"--grid {word}"
        key, separator, text = word.partition("=")
        example = "schedule.exploration=0.1,0.25"
        _, values = split_setting(f"{key}{separator}[{text}]" if text else "", where, example)
        if not all(value is None or isinstance(value, str | int | float | bool) for value in values):
            raise UserError(f"{where}: the values must be numbers, words, true, false or null; quote them")
        grid[key] = values
    return grid or PAPER_GRID


def run_name(settings: Mapping[str, Any]) -> str:
    """The same setting has the same folder, so that an interrupted trial is resumed."""
    words = ",".join(f"{key.rsplit('.', 1)[-1]}={value}" for key, value in settings.items())
    clean = "".join(letter if letter.isalnum() or letter in "=,.-_" else "_" for letter in words)[:80]
    return f"{clean}-{hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:6]}"


def describe(settings: Mapping[str, Any]) -> str:
    """As on a command line."""
    return " ".join(f"{key}={'null' if value is None else value}" for key, value in settings.items())


def machine_and_folder(run: Path) -> str:
    """Where the lock of a run is valid."""
    return f"{socket.gethostname()}:{run.resolve()}"


def lock_of(run: Path) -> Path:
    """The file that the process training the run holds a lock on."""
    return run.with_name(f".{run.name}.lock")


def print_trials(keys: Sequence[str], trials: Sequence[Trial]) -> None:
    """One row per setting, in the given order."""
    rows = [
        (
            *(str(trial.settings[key]) for key in keys),
            "–" if trial.score is None else f"{trial.score:.2f}",
            trial.state,
            trial.run,
        )
        for trial in trials
    ]
    columns = (*keys, "dev BLEU", "state", "run")
    print_table(columns, rows, title="Settings, best first", left=(*keys, "state", "run"))


def exit_code(trials: Sequence[Trial], finished: bool) -> int:
    """Say so if a signal stopped the search; a setting that failed is the user's to fix."""
    if not finished:
        say("stopped; everything is saved: run the same command again to continue")
        return EXIT_CODE
    if failed := [trial for trial in trials if trial.error is not None]:
        raise UserError(f"{len(failed)} settings failed; the first, {failed[0].run}: {failed[0].error}")
    return 0
