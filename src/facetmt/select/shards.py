"""Scores of a long text, a file for each shard of lines: what is on the disk is neither computed again nor mistaken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from facetmt.errors import UserError
from facetmt.files import sha256, write_whole
from facetmt.select.pace import Pace

HEADER = "header.json"
LINES = 1 << 16  # of a shard

Floats = NDArray[np.float32]
Check = Callable[[], None]
Row = TypeVar("Row")


def identity(path: Path, check: Check) -> list[str | int]:
    """Name, bytes and sha256 of a text, which decide whether it is the same one; its folder does not."""
    try:
        return [path.name, path.stat().st_size, sha256(path, check)]
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def claim(folder: Path, about: Mapping[str, Any]) -> None:
    """Make the folder that of this work, or find that it is so; the folder of other work is refused."""
    wanted: dict[str, Any] = json.loads(json.dumps(about))
    path = folder / HEADER
    try:
        if not path.is_file():
            if folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
                raise UserError(
                    f"{folder} is not empty and says nothing of what it holds: give another folder"
                )
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(wanted, indent=1).encode())
            return
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot write to {folder} ({error.strerror}): give another folder") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} is damaged: delete {folder} to begin again") from None
    found = found if isinstance(found, dict) else {}
    if differ := sorted(key for key in {**found, **wanted} if found.get(key) != wanted.get(key)):
        raise UserError(
            f"{folder} holds work that was begun with other settings (other {', '.join(differ)}): "
            "delete it to begin again, or give another folder"
        )


class Shards:
    """The shards of one text in one folder, which belongs to one combination of text, models and settings."""

    def __init__(self, folder: Path, about: Mapping[str, Any], lines: int) -> None:
        self._folder, self._lines = folder, lines
        claim(folder, {**about, "lines of a shard": LINES})

    def scores(
        self,
        rows: Iterator[Row],
        score: Callable[[list[Row]], NDArray[Any]],
        portion: int,
        pace: Pace,
    ) -> Floats:
        """A score for each row; `score` is given those alone that no finished shard has, `portion` at a time."""
        found = []
        for number in range(-(-self._lines // LINES)):
            some = list(islice(rows, min(LINES, self._lines - number * LINES)))
            values = self._read(number, len(some))
            if values is None:
                parts = []
                for start in range(0, len(some), portion):
                    part = some[start : start + portion]
                    parts.append(np.asarray(score(part), np.float32))
                    pace.worked(len(part))
                values = np.concatenate(parts)
                self._write(number, values)
            else:
                pace.skipped(len(some))
            found.append(values)
        whole = np.concatenate(found) if found else np.zeros(0, np.float32)
        if len(whole) != self._lines or next(rows, None) is not None:
            raise UserError(f"the text changed while it was scored: delete {self._folder} and score it again")
        return whole

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:06d}.scores"

    def _read(self, number: int, lines: int) -> Floats | None:
        """A finished shard; one that is damaged, or of another length, is done again."""
        try:
            data = self._path(number).read_bytes()
        except OSError:
            return None
        body, digest = data[:-32], data[-32:]
        if hashlib.sha256(body).digest() != digest or len(body) != 4 * lines:
            return None
        return np.frombuffer(body, np.float32)

    def _write(self, number: int, values: Floats) -> None:
        body = values.tobytes()
        try:
            write_whole(self._path(number), body + hashlib.sha256(body).digest())
        except OSError as error:
            raise UserError(
                f"cannot write to {self._folder} ({error.strerror}): make room, then run the same command again"
            ) from None
