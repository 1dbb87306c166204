"""The reader of a run directory."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from facetmt.errors import UserError
from facetmt.runlog.names import (
    CHECKPOINTS,
    COMPOSITION,
    FACETS,
    METRICS,
    OUTCOMES,
    PROBS,
    PULL_COLUMNS,
    PULLS,
    RECIPE,
    SCORES,
    TRANSFER,
    TRANSLATIONS,
    VALIDATION,
    outcome_path,
)

NUMBERS = PULL_COLUMNS[2:]
SEVERAL = -1  # facet of a pull that is a composition
CHUNK = 1 << 16  # rows parsed at once, or bytes read at once


def _damaged(rows: Sequence[Sequence[str]], facets: Mapping[str, int]) -> int:
    """Number of the first row of pulls.csv that cannot be read, counted from 1."""
    for number, row in enumerate(rows, start=1):
        try:
            step, facet, *numbers = row
            int(step), facets[facet], [float(cell) for cell in numbers if cell]
        except (ValueError, KeyError):
            return number
        if len(row) != len(PULL_COLUMNS):
            return number
    return len(rows)


def _runs_inside(directory: Path) -> list[str]:
    return [
        path.parent.name for path in sorted(directory.glob(f"*/{PULLS}")) if (path.parent / RECIPE).is_file()
    ]


def _no_run(directory: Path) -> str:
    """Why a path is not a run, and which run may have been meant."""
    if directory.is_file():
        return f"{directory}: a file, not a run directory; name the folder that `facetmt train --run` made"
    if directory.is_dir():
        inside = _runs_inside(directory)
        why = "it holds runs" if inside else f"it has no {RECIPE}"
        advice = f"name one of {', '.join(inside[:5])}" if inside else "name a folder that `train --run` made"
        return f"{directory}: not a run directory, {why}; {advice}"
    near = get_close_matches(directory.name, _runs_inside(directory.parent), n=1)
    advice = f"did you mean {directory.parent / near[0]}?" if near else "`facetmt train --run` makes one"
    return f"{directory}: there is no such run; {advice}"


@dataclass(frozen=True)
class Pulls:
    """pulls.csv as columns."""

    step: npt.NDArray[np.int64]
    facet: npt.NDArray[np.int32]  # index into `names`; SEVERAL where the batch has rows of several facets
    names: tuple[str, ...]
    prob: npt.NDArray[np.float64]
    before: npt.NDArray[np.float64]
    after: npt.NDArray[np.float64]
    raw: npt.NDArray[np.float64]
    scaled: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """A run directory, read lazily. A last line that is still being written is ignored."""

    directory: Path

    def __post_init__(self) -> None:
        recipe, *others = ((self.directory / name).is_file() for name in (RECIPE, PULLS, SCORES))
        project = not any(others) and _runs_inside(self.directory)  # a folder of runs beside their recipe
        if not recipe or project:
            raise UserError(_no_run(self.directory))

    @property
    def name(self) -> str:
        return self.directory.resolve().name

    @cached_property
    def facets(self) -> tuple[str, ...]:
        """The arms, in the order of probs.csv (`mixed` has one, of that name); none before the log starts."""
        return tuple(next(self._csv(PROBS), [""])[1:])

    @cached_property
    def pulls(self) -> Pulls:
        rows = islice(self._csv(PULLS), 1, None)
        places = {COMPOSITION: SEVERAL, **{name: index for index, name in enumerate(self.facets)}}
        steps, facets = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        values = [np.empty((len(NUMBERS), 0))]
        done = 1  # lines read, including the header
        while chunk := list(islice(rows, CHUNK)):
            try:
                step, facet, *numbers = zip(*chunk, strict=True)
                steps.append(np.array([int(cell) for cell in step], dtype=np.int64))
                facets.append(np.array([places[name] for name in facet], dtype=np.int32))
                values.append(
                    np.array([[float(cell) if cell else math.nan for cell in row] for row in numbers])
                )
            except (ValueError, KeyError) as error:
                raise self._damage(PULLS, done + _damaged(chunk, places)) from error
            done += len(chunk)
        columns = np.concatenate(values, axis=1)
        return Pulls(np.concatenate(steps), np.concatenate(facets), self.facets, *columns)

    @cached_property
    def probs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Steps [points], and π or the shares [points, facets]."""
        return self._table(islice(self._csv(PROBS), 1, None))

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        return list(self._jsonl(METRICS))

    @cached_property
    def validation(self) -> list[dict[str, Any]]:
        return list(self._jsonl(VALIDATION))

    @cached_property
    def news(self) -> list[str]:
        """What the policy said about its changes of shares, oldest first."""
        rows = (
            self._object(METRICS, number, line)
            for number, line in enumerate(self._lines(METRICS), start=1)
            if '"news"' in line  # spares parsing the others
        )
        return [sentence for row in rows for sentence in row.get("news", [])]

    @cached_property
    def last_step(self) -> int:
        """The latest step in any log, 0 before the first; a validation may follow the last log point."""
        steps = [0]
        for name in (METRICS, VALIDATION):
            if (self.directory / name).is_file():
                steps += [int(self._object(name, *line)["step"]) for line in self._few_lines(name, 1)]
        if (self.directory / PULLS).is_file():
            for number, line in self._few_lines(PULLS, 1, header=1):
                try:
                    steps.append(int(line.split(",")[0]))
                except ValueError as error:
                    raise self._damage(PULLS, number) from error
        return max(steps)

    @cached_property
    def scores(self) -> dict[str, Any] | None:
        scores: dict[str, Any] | None = self._json(SCORES)
        return scores

    def outcomes(self) -> dict[str, dict[str, Any]]:
        """Name -> content of scores.json of each outcome of `evaluate`, sorted; "", the plain one, first."""
        folders = self.directory / OUTCOMES
        named = sorted(path.name for path in folders.iterdir()) if folders.is_dir() else []
        found = {name: self._json(outcome_path(name) + SCORES) for name in ("", *named)}
        return {name: scores for name, scores in found.items() if scores is not None}

    @cached_property
    def facet_table(self) -> dict[str, dict[str, Any]]:
        """facets.json: name -> source and target language, `train` pairs; empty until it is written."""
        return self._json(FACETS) or {}

    @cached_property
    def transfer(self) -> dict[str, Any] | None:
        """transfer.json; None until `transfer` has measured."""
        found: dict[str, Any] | None = self._json(TRANSFER)
        return found

    @cached_property
    def saved_step(self) -> int:
        """The step of the newest checkpoint; 0 where there is none, as in a copy of the logs alone."""
        names = [path.name.removeprefix("step-") for path in (self.directory / CHECKPOINTS).glob("step-*")]
        return max((int(name) for name in names if name.isdigit()), default=0)

    def translations(self, facet: str, outcome: str = "") -> Iterator[dict[str, str]]:
        """{source, reference, hypothesis} of each test sentence; empty if the facet was not translated."""
        name = self.translated(facet, outcome)
        return self._jsonl(name) if (self.directory / name).is_file() else iter(())

    def few_translations(self, facet: str, count: int, outcome: str = "") -> list[dict[str, str]]:
        """As `translations`, at most `count` evenly spaced sentences."""
        name = self.translated(facet, outcome)
        there = (self.directory / name).is_file()
        return [self._object(name, *line) for line in self._few_lines(name, count)] if there else []

    def translated(self, facet: str, outcome: str = "") -> str:
        """The file of a facet's translations; the name comes from a log, which may not be trusted."""
        name = f"{facet}.jsonl"
        if PurePath(name).name != name or "\\" in name:
            raise UserError(
                f"{self.directory}: the facet name {facet!r} could lead out of this folder; refused"
            )
        return f"{outcome_path(outcome)}{TRANSLATIONS}/{name}"

    def few_probs(self, points: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """As `probs`, at most `points` evenly spaced rows, including the last; the others are not parsed."""
        return self._table(csv.reader(line for _, line in self._few_lines(PROBS, points, header=1)))

    def few_metrics(self, points: int) -> list[dict[str, Any]]:
        """As `metrics`, at most `points` evenly spaced rows, including the last."""
        return [self._object(METRICS, *line) for line in self._few_lines(METRICS, points)]

    def _few_lines(self, name: str, points: int, header: int = 0) -> Iterator[tuple[int, str]]:
        """(number, line) of evenly spaced lines; a first pass only counts."""
        path = self.directory / name
        if not path.is_file():
            raise self._missing(name)
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
            raise self._damage(name, number) from error

    def _table(self, rows: Iterable[list[str]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Rows of probs.csv as steps [points] and values [points, facets]."""
        try:
            table = np.array([[float(cell) for cell in row] for row in rows])
            table = table.reshape(-1, len(self.facets) + 1)
        except ValueError as error:
            raise UserError(f"{self.directory / PROBS}: damaged ({error}); restore it from a copy") from error
        return table[:, 0].astype(np.int64), table[:, 1:]

    def _damage(self, name: str, number: int) -> UserError:
        return UserError(f"{self.directory / name}, line {number}: damaged; restore the file from a copy")

    def _missing(self, name: str) -> UserError:
        return UserError(f"{self.directory}: there is no {name}; wait until the run has started")

    def _lines(self, name: str) -> Iterator[str]:
        try:
            with (self.directory / name).open(encoding="utf-8", newline="") as file:
                yield from (line for line in file if line.endswith("\n"))
        except FileNotFoundError as error:
            raise self._missing(name) from error

    def _csv(self, name: str) -> Iterator[list[str]]:
        return csv.reader(self._lines(name))

    def _jsonl(self, name: str) -> Iterator[dict[str, Any]]:
        for number, line in enumerate(self._lines(name), start=1):
            yield self._object(name, number, line)
