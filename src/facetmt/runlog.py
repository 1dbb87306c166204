"""The run directory: the writer of its logs, and their reader."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, wraps
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, Concatenate, ParamSpec, TextIO, TypeVar

import numpy as np
import numpy.typing as npt

from facetmt.errors import UserError

RECIPE, CHECKPOINTS, SCORES, REPORT = "recipe.yaml", "checkpoints", "scores.json", "report.html"
PULLS, PROBS, METRICS, VALIDATION = "pulls.csv", "probs.csv", "metrics.jsonl", "validation.jsonl"
PULL_COLUMNS = ("step", "facet", "prob", "before", "after", "raw", "scaled")
NUMBERS = ("prob", "before", "after", "raw", "scaled")
FACETS, TRANSLATIONS = "facets.json", "translations"  # written beside the logs; only read here
CHUNK = 1 << 16  # rows parsed at once, or bytes read at once

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _explained(
    write: Callable[Concatenate[RunLog, Given], Result],
) -> Callable[Concatenate[RunLog, Given], Result]:
    """A full disk is one sentence, at whichever write it shows."""

    @wraps(write)
    def explained(self: RunLog, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return write(self, *args, **kwargs)
        except OSError as error:
            raise UserError(
                f"cannot write the logs in {self.directory} ({error.strerror or error}); "
                "make room, then continue with --resume"
            ) from error

    return explained


class RunLog:
    """Writes the logs of a run. Each checkpoint holds its position; resuming cuts the logs back to it."""

    def __init__(self, directory: Path, facets: Sequence[str], *, fresh: bool) -> None:
        """`fresh` begins the logs anew; otherwise they are continued, after `cut`."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, TextIO] = {
            name: (directory / name).open("w" if fresh else "a", encoding="utf-8", newline="")
            for name in (PULLS, PROBS, METRICS, VALIDATION)
        }
        self._pulls = csv.writer(self._files[PULLS], lineterminator="\n")
        self._probs = csv.writer(self._files[PROBS], lineterminator="\n")
        if fresh:
            self._pulls.writerow(PULL_COLUMNS)
            self._probs.writerow(("step", *facets))

    @_explained
    def pull(self, step: int, facet: str, values: Sequence[float]) -> None:
        """One step: `values` are prob, before, after, raw, scaled; what is not a number is left empty."""
        self._pulls.writerow((step, facet, *(_cell(value) for value in values)))

    @_explained
    def probs(self, step: int, probs: npt.NDArray[np.float64]) -> None:
        self._probs.writerow((step, *probs.tolist()))

    @_explained
    def metrics(self, row: Mapping[str, Any]) -> None:
        self._files[METRICS].write(json.dumps(_plain(row)) + "\n")

    @_explained
    def validation(self, row: Mapping[str, Any]) -> None:
        self._files[VALIDATION].write(json.dumps(_plain(row)) + "\n")

    @_explained
    def flush(self) -> None:
        """Let readers (a live report) see what was logged so far."""
        for file in self._files.values():
            file.flush()

    @_explained
    def position(self) -> dict[str, int]:
        """The length of each log in bytes, once it is safely on disk."""
        self.flush()
        for file in self._files.values():
            os.fsync(file.fileno())
        return {name: file.tell() for name, file in self._files.items()}

    def cut(self, position: Mapping[str, int]) -> None:
        """Forget what was logged after `position` was taken."""
        if missing := sorted(set(self._files) - set(position)):
            raise UserError(
                f"the checkpoint does not say how long {missing[0]} in {self.directory} was; delete that checkpoint "
                "to resume from an older one"
            )
        for name, length in position.items():
            file = self._files[name]
            if file.seek(0, os.SEEK_END) < length:
                raise UserError(
                    f"{self.directory / name} is shorter than when the checkpoint was saved; restore the log "
                    "from a copy, or start again in another run directory"
                )
            file.truncate(length)
            file.seek(0, os.SEEK_END)

    @_explained
    def close(self) -> None:
        with ExitStack() as stack:  # every file, whichever fails
            for file in self._files.values():
                stack.callback(file.close)


class SilentLog(RunLog):
    """For a process that leaves the writing to another: takes everything, keeps nothing."""

    def __init__(self) -> None:
        self._files = {}

    def pull(self, step: int, facet: str, values: Sequence[float]) -> None:
        pass

    def probs(self, step: int, probs: npt.NDArray[np.float64]) -> None:
        pass

    def metrics(self, row: Mapping[str, Any]) -> None:
        pass

    def validation(self, row: Mapping[str, Any]) -> None:
        pass

    def cut(self, position: Mapping[str, int]) -> None:
        pass


def _cell(value: float) -> float | str:
    return value if math.isfinite(value) else ("" if math.isnan(value) else str(value))


def _plain(value: Any) -> Any:
    """JSON has no NaN: what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _damaged(rows: Sequence[Sequence[str]], facets: Mapping[str, int]) -> int:
    """Which of the rows of pulls.csv is the first that cannot be read, counted from 1."""
    for number, row in enumerate(rows, start=1):
        try:
            step, facet, *numbers = row
            int(step), facets[facet], [float(cell) for cell in numbers if cell]
        except (ValueError, KeyError):
            return number
        if len(row) != len(PULL_COLUMNS):
            return number
    return len(rows)


@dataclass(frozen=True)
class Pulls:
    """pulls.csv as columns."""

    step: npt.NDArray[np.int64]
    facet: npt.NDArray[np.int32]  # index into `names`
    names: tuple[str, ...]
    prob: npt.NDArray[np.float64]
    before: npt.NDArray[np.float64]
    after: npt.NDArray[np.float64]
    raw: npt.NDArray[np.float64]
    scaled: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """A run directory, read lazily. A last line that is still being written is left out."""

    directory: Path

    def __post_init__(self) -> None:
        if not self.directory.exists():
            raise UserError(f"there is no run {self.directory}; check the path")
        if not (self.directory / RECIPE).is_file():
            raise UserError(f"{self.directory} is not a run directory: it has no {RECIPE}")

    @property
    def name(self) -> str:
        return self.directory.resolve().name

    @cached_property
    def facets(self) -> tuple[str, ...]:
        """The arms, in the order of probs.csv (for `mixed` the one arm of that name); none before the first log."""
        return tuple(next(self._csv(PROBS), [""])[1:])

    @cached_property
    def pulls(self) -> Pulls:
        rows = islice(self._csv(PULLS), 1, None)
        places = {name: index for index, name in enumerate(self.facets)}
        steps, facets = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        values = [np.empty((len(NUMBERS), 0))]
        done = 1  # lines read, the header among them
        while chunk := list(islice(rows, CHUNK)):
            try:
                step, facet, *numbers = zip(*chunk, strict=True)
                steps.append(np.array([int(cell) for cell in step], dtype=np.int64))
                facets.append(np.array([places[name] for name in facet], dtype=np.int32))
                values.append(
                    np.array([[float(cell) if cell else math.nan for cell in row] for row in numbers])
                )
            except (ValueError, KeyError) as error:
                raise UserError(
                    f"{self.directory / PULLS}, line {_damaged(chunk, places) + done} is damaged; "
                    "restore the log from a copy"
                ) from error
            done += len(chunk)
        columns = np.concatenate(values, axis=1)
        return Pulls(np.concatenate(steps), np.concatenate(facets), self.facets, *columns)

    @cached_property
    def probs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Steps [points], and π [points, facets]."""
        rows = list(self._csv(PROBS))[1:]
        table = np.array([[float(cell) for cell in row] for row in rows]).reshape(-1, len(self.facets) + 1)
        return table[:, 0].astype(np.int64), table[:, 1:]

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        return list(self._jsonl(METRICS))

    @cached_property
    def validation(self) -> list[dict[str, Any]]:
        return list(self._jsonl(VALIDATION))

    @cached_property
    def scores(self) -> dict[str, Any] | None:
        scores: dict[str, Any] | None = self._json(SCORES)
        return scores

    @cached_property
    def facet_table(self) -> dict[str, dict[str, Any]]:
        """facets.json: name -> source and target language, `train` pairs; empty where it is not written yet."""
        return self._json(FACETS) or {}

    def translations(self, facet: str) -> Iterator[dict[str, str]]:
        """{source, reference, hypothesis} of each test sentence; nothing where the facet was not translated."""
        name = self._translated(facet)
        return self._jsonl(name) if (self.directory / name).is_file() else iter(())

    def few_translations(self, facet: str, count: int) -> list[dict[str, str]]:
        """As `translations`, at no more than so many evenly spaced sentences."""
        name = self._translated(facet)
        there = (self.directory / name).is_file()
        return [self._object(name, *line) for line in self._few_lines(name, count)] if there else []

    def _translated(self, facet: str) -> str:
        """The file of a facet's translations; the name comes from a log, which may be a stranger's."""
        name = f"{facet}.jsonl"
        if PurePath(name).name != name or "\\" in name:
            raise UserError(f"{self.directory} names a facet {facet!r}, which could lead out of it: refused")
        return f"{TRANSLATIONS}/{name}"

    def few_probs(self, points: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """As `probs`, at no more than so many evenly spaced rows; the others are skipped, not parsed."""
        rows = csv.reader(line for _, line in self._few_lines(PROBS, points, header=1))
        try:
            table = np.array([[float(cell) for cell in row] for row in rows]).reshape(
                -1, len(self.facets) + 1
            )
        except ValueError as error:
            raise UserError(f"{self.directory / PROBS} is damaged: {error}") from error
        return table[:, 0].astype(np.int64), table[:, 1:]

    def few_metrics(self, points: int) -> list[dict[str, Any]]:
        """As `metrics`, at no more than so many evenly spaced rows, the last one among them."""
        return [self._object(METRICS, *line) for line in self._few_lines(METRICS, points)]

    def _few_lines(self, name: str, points: int, header: int = 0) -> Iterator[tuple[int, str]]:
        """(number, line) of evenly spaced lines; a first pass only counts."""
        path = self.directory / name
        if not path.is_file():
            raise UserError(f"{self.directory} has no {name}; has the run started?")
        with path.open("rb") as file:
            lines = sum(block.count(b"\n") for block in iter(lambda: file.read(CHUNK), b""))
        chosen = np.linspace(lines - 1, header, min(points, max(lines - header, 0))).round().astype(np.int64)
        wanted = set(chosen.tolist())
        with path.open("rb") as file:
            for number, line in enumerate(islice(file, lines)):
                if number in wanted:
                    yield number + 1, line.decode()

    def _json(self, name: str) -> Any:
        path = self.directory / name
        return self._object(name, 1, path.read_text(encoding="utf-8")) if path.is_file() else None

    def _object(self, name: str, number: int, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise UserError(f"{self.directory / name}, line {number} is damaged: {error}") from error

    def _lines(self, name: str) -> Iterator[str]:
        try:
            with (self.directory / name).open(encoding="utf-8", newline="") as file:
                yield from (line for line in file if line.endswith("\n"))
        except FileNotFoundError as error:
            raise UserError(f"{self.directory} has no {name}; has the run started?") from error

    def _csv(self, name: str) -> Iterator[list[str]]:
        return csv.reader(self._lines(name))

    def _jsonl(self, name: str) -> Iterator[dict[str, Any]]:
        for number, line in enumerate(self._lines(name), start=1):
            yield self._object(name, number, line)
