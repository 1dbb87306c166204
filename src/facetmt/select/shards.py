"""Scores of a long text, one file per shard of lines; finished work is not repeated, nor mixed up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from facetmt.console import Pace, say
from facetmt.errors import UserError
from facetmt.files import sha256, write_whole
from facetmt.train.interrupt import EXIT_CODE, Check

HEADER = "header.json"
AGAIN = "run the same command again"  # how label and filter continue
LINES = 1 << 16  # per shard

Floats = NDArray[np.float32]
Row = TypeVar("Row")


def stopped(kept: Path) -> int:
    """Say what is kept after a signal; the exit code."""
    say(f"stopped by a signal; what is done is kept in {kept}: {AGAIN} to continue")
    return EXIT_CODE


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """An error of the disk inside is one clear sentence."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path}: cannot write there ({error.strerror or error}); make room, then {AGAIN}"
        ) from None


def identity(path: Path, check: Check) -> list[str | int]:
    """Name, bytes and sha256 of a text: two texts with the same identity are the same, in whatever folder."""
    try:
        return [path.name, path.stat().st_size, sha256(path, check)]
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the path") from None


def claim(folder: Path, about: Mapping[str, Any]) -> None:
    """Mark the folder as this work's, or check that it is; refuse the folder of other work."""
    wanted: dict[str, Any] = json.loads(json.dumps(about))
    path = folder / HEADER
    try:
        if not path.is_file():
            if folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
                raise UserError(f"{folder}: the folder is not empty and has no {HEADER}; give another folder")
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(wanted, indent=1).encode())
            return
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{folder}: cannot write there ({error.strerror}); give another folder") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path}: the file is damaged; delete {folder} to start again") from None
    found = found if isinstance(found, dict) else {}
    if differ := sorted(key for key in {**found, **wanted} if found.get(key) != wanted.get(key)):
        raise UserError(
            f"{folder}: the work there was started with other settings (other {', '.join(differ)}); "
            "delete it to start again, or give another folder"
        )


class Shards:
    """The shards of one text; their folder belongs to one combination of text, models and settings."""

    def __init__(self, folder: Path, about: Mapping[str, Any], lines: int, columns: int = 1) -> None:
        self._folder, self._lines, self._columns = folder, lines, columns
        claim(folder, {**about, "lines of a shard": LINES})

    def scores(
        self,
        rows: Iterator[Row],
        score: Callable[[list[Row]], NDArray[Any]],
        portion: int,
        pace: Pace,
    ) -> Floats:
        """The values of each row, [lines, columns]; only rows of unfinished shards are given to `score`."""
        found = []
        for number in range(-(-self._lines // LINES)):
            some = list(islice(rows, min(LINES, self._lines - number * LINES)))
            values = self._read(number, len(some))
            if values is None:
                parts = []
                for start in range(0, len(some), portion):
                    part = some[start : start + portion]
                    parts.append(np.asarray(score(part), np.float32).reshape(len(part), self._columns))
                    pace.worked(len(part))
                values = np.concatenate(parts)
                self._write(number, values)
            else:
                pace.skipped(len(some))
            found.append(values)
        whole = np.concatenate(found) if found else np.zeros((0, self._columns), np.float32)
        if len(whole) != self._lines or next(rows, None) is not None:
            raise UserError(
                f"{self._folder}: the text changed while it was scored; delete the folder, then {AGAIN}"
            )
        return whole

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:06d}.scores"

    def _read(self, number: int, lines: int) -> Floats | None:
        """A finished shard; None if it is missing, damaged or of another length."""
        try:
            data = self._path(number).read_bytes()
        except OSError:
            return None
        body, digest = data[:-32], data[-32:]
        if hashlib.sha256(body).digest() != digest or len(body) != 4 * lines * self._columns:
            return None
        return np.frombuffer(body, np.float32).reshape(lines, self._columns)

    def _write(self, number: int, values: Floats) -> None:
        body = values.tobytes()
        with writing(self._folder):
            write_whole(self._path(number), body + hashlib.sha256(body).digest())
