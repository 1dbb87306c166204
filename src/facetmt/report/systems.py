"""Systems and their scores: seeds of one recipe belong together, the best is marked, chance is tested for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal

from facetmt.errors import UserError
from facetmt.recipe import Recipe, load_recipe
from facetmt.report.digest import KINDS, unique_names
from facetmt.report.significance import Significance, p_values
from facetmt.runlog import METRICS, RECIPE, Run

Metric = Literal["bleu", "chrf"]
AVERAGE = "Avg"
WIDE = 12  # columns beyond which groups come before facets, and tables are turned


@dataclass(frozen=True)
class System:
    """Runs whose recipes differ in nothing but the seed."""

    name: str
    kind: str  # Base, Static or Bandit, as the paper's tables group them
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Column:
    kind: Literal["average", "facet", "group"]
    name: str


@dataclass(frozen=True)
class Cell:
    """A score, over the seeds of a system."""

    mean: float
    std: float | None  # over seeds; None for a single run
    best: bool
    stars: str  # * p < 0.05, ** p < 0.01 against the first system


@dataclass(frozen=True)
class Scoreboard:
    """Systems by columns: the average, the facets, the groups (the paper's tables 2 to 6)."""

    systems: tuple[System, ...]
    columns: tuple[Column, ...]
    cells: tuple[tuple[Cell | None, ...], ...]  # [systems][columns]
    costs: tuple[float | None, ...]  # [systems] seconds of a training step, where logged
    metric: Metric
    signature: str
    notes: tuple[str, ...]  # what the marks mean, or why there are none


def group_systems(runs: Sequence[Run]) -> list[System]:
    """Runs in their order, seeds of one recipe together under the name of the first."""
    groups: list[tuple[Recipe, list[int], list[Run], str]] = []
    for run, name in zip(runs, unique_names(runs), strict=True):
        recipe = load_recipe(run.directory / RECIPE)
        plain = without_seed(recipe)
        home = next((group for group in groups if group[0] == plain and recipe.seed not in group[1]), None)
        if home is None:
            groups.append((plain, [recipe.seed], [run], name))
        else:
            home[1].append(recipe.seed)
            home[2].append(run)
    return [
        System(
            name if len(members) == 1 else f"{name} ({len(members)} seeds)",
            KINDS.get(recipe.schedule.policy, "Bandit"),
            tuple(members),
        )
        for recipe, _, members, name in groups
    ]


def without_seed(recipe: Recipe) -> Recipe:
    """What makes two runs the same system: everything but the seed and where the files lie."""
    return replace(recipe, seed=0, prepared="", data=replace(recipe.data, root=""))


def scoreboard(runs: Sequence[Run], metric: Metric = "bleu", most_lines: int | None = None) -> Scoreboard:
    """Scores of all systems; the paired test is left out where it would read more than `most_lines` lines."""
    for run in runs:
        if run.scores is None:
            raise UserError(
                f"{run.directory} has no scores.json; score it first: facetmt evaluate {run.directory}"
            )
    systems = group_systems(runs)
    columns = all_columns(runs)
    tested = p_values([system.runs for system in systems], facet_names(columns), metric, most_lines)
    means = [[mean_and_std(system, column, metric) for column in columns] for system in systems]
    rows = []
    for place, row in enumerate(means):
        cells = []
        for index, column in enumerate(columns):
            value = row[index]
            rivals = [other[index] for other in means]
            cells.append(None if value is None else cell(value, rivals, tested, place, column))
        rows.append(tuple(cells))
    signature = runs[0].scores["signature"][metric] if runs[0].scores else ""
    costs = tuple(mean_cost(system) for system in systems)
    return Scoreboard(
        tuple(systems), tuple(columns), tuple(rows), costs, metric, signature, tuple(tested.notes)
    )


def mean_cost(system: System) -> float | None:
    """Seconds of a step over the seeds of a system; None where one has no log of them."""
    costs = [step_seconds(run) for run in system.runs]
    known = [cost for cost in costs if cost is not None]
    return fmean(known) if len(known) == len(costs) else None


def step_seconds(run: Run) -> float | None:
    """Of a step with its rewards and gradient probes, after the first line of the log: by then it is compiled."""
    if not (run.directory / METRICS).is_file():
        return None
    rows = [row for row in run.few_metrics(2) if row.get("time")]
    if len(rows) < 2:
        return None
    first, last = (float(row["time"]["train"] + row["time"].get("probe", 0.0)) for row in rows)
    return (last - first) / int(rows[1]["step"] - rows[0]["step"])


def all_columns(runs: Sequence[Run]) -> list[Column]:
    scores = [run.scores or {} for run in runs]
    facets = dict.fromkeys(name for score in scores for name in score.get("facets", {}))
    groups = dict.fromkeys(name for score in scores for name in score.get("groups", {}))
    average = [Column("average", AVERAGE)]
    by_facet, by_group = (
        [Column("facet", name) for name in facets],
        [Column("group", name) for name in groups],
    )
    wide = len(facets) + len(groups) >= WIDE
    return [*average, *by_group, *by_facet] if wide else [*average, *by_facet, *by_group]


def facet_names(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns if column.kind == "facet"]


def mean_and_std(system: System, column: Column, metric: Metric) -> tuple[float, float | None] | None:
    """Over the seeds of a system; None where a seed lacks the score."""
    values = []
    for run in system.runs:
        scores = run.scores or {}
        place = (
            scores["average"]
            if column.kind == "average"
            else scores.get(f"{column.kind}s", {}).get(column.name)
        )
        if place is None:
            return None
        values.append(float(place[metric]))
    return fmean(values), stdev(values) if len(values) > 1 else None


def cell(
    value: tuple[float, float | None],
    rivals: Sequence[tuple[float, float | None] | None],
    tested: Significance,
    place: int,
    column: Column,
) -> Cell:
    mean, std = value
    highest = max(round(rival[0], 2) for rival in rivals if rival is not None)
    p = tested.values.get((place, column.name)) if column.kind == "facet" else None
    stars = "" if p is None or p >= 0.05 else ("**" if p < 0.01 else "*")
    return Cell(mean, std, len(rivals) > 1 and round(mean, 2) == highest, stars)
