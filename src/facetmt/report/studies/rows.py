"""A study's summary by system: means and deviations over seeds, which tables and plots share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from facetmt.translate.evaluate import OBJECTIVE

ENOUGH = 3  # seeds below which a row is marked

Cell = dict[str, Any]  # of summary.json


@dataclass(frozen=True)
class Row:
    """A system with at least one finished cell."""

    name: str
    overrides: str
    cells: tuple[Cell, ...]  # by seed
    seeds: tuple[str, ...]
    significance: dict[str, dict[str, float]]  # by facet: p and gain over the baseline

    @property
    def few(self) -> bool:
        return len(self.cells) < ENOUGH

    def values(self, read: Callable[[Cell], float | None]) -> list[float]:
        """A figure of each seed, where it is known."""
        return [value for value in map(read, self.cells) if value is not None]

    def spread(self, read: Callable[[Cell], float | None]) -> tuple[float, float | None] | None:
        """Mean and standard deviation of a figure; None where a seed has none."""
        values = self.values(read)
        if len(values) < len(self.cells):
            return None
        return fmean(values), stdev(values) if len(values) > 1 else None


def rows_of(summary: dict[str, Any]) -> list[Row]:
    """The baseline first, then the others in the order of the study file."""
    names = [summary["baseline"], *(name for name in summary["systems"] if name != summary["baseline"])]
    systems = [(name, summary["systems"][name]) for name in names]
    return [
        Row(name, one["overrides"], tuple(one["cells"].values()), tuple(one["cells"]), one["significance"])
        for name, one in systems
        if one["cells"]
    ]


def facets_of(rows: Sequence[Row]) -> list[str]:
    """Every test set that a row has a score of."""
    return list(dict.fromkeys(name for row in rows for cell in row.cells for name in cell["test"]["facets"]))


def groups_of(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for cell in row.cells for name in cell["test"]["groups"]))


def counting(cell: Cell, metric: str) -> float:
    """The score that a system is judged by: of the facets that count, all unless the objective names some."""
    test = cell["test"]
    score: float = test["groups"].get(OBJECTIVE, test["average"])[metric]
    return score


def few_count(rows: Sequence[Row]) -> bool:
    """Whether every run has an objective: then an average of all test sets says little."""
    return all(OBJECTIVE in cell["test"]["groups"] for row in rows for cell in row.cells)


def mean_curve(curves: Sequence[dict[str, list[Any]]], key: str) -> tuple[list[int], list[float]]:
    """The mean over seeds, at the steps that all of them have."""
    known = [
        {step: value for step, value in zip(one["step"], one[key], strict=True) if value is not None}
        for one in curves
    ]
    steps = [step for step in known[0] if all(step in one for one in known)]
    return steps, [fmean(one[step] for one in known) for step in steps]
