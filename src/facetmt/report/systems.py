"""Systems and their scores: seeds of one recipe are one system; the best is marked, significance tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median_low, stdev
from typing import Literal

from facetmt.errors import UserError
from facetmt.recipe import Recipe, load_recipe
from facetmt.report.comparable import Caveat, caveats
from facetmt.report.digest import POINTS, unique_names
from facetmt.report.outcomes import Outcome, all_outcomes
from facetmt.report.significance import Significance, compared, of_mean
from facetmt.runlog import METRICS, RECIPE, Run

Metric = Literal["bleu", "chrf"]
AVERAGE = "Avg"
WIDE = 12  # columns beyond which groups come before facets, and tables are turned


@dataclass(frozen=True)
class System:
    """Runs whose recipes differ only in the seed, scored in one way."""

    name: str
    kind: str  # group of the policy: Base, Static, Bandit as in the paper's tables, or another
    outcomes: tuple[Outcome, ...]
    rows: tuple[str, ...]  # the names that caveats use for them


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
    mark: str  # relative to the first system: + better, - worse, p < 0.05; ++ and -- p < 0.01
    interval: float | None = None  # half of the 95 % interval of a single run


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
    caveats: tuple[Caveat, ...]  # why rows cannot be compared like for like


def group_systems(runs: Sequence[Run]) -> list[System]:
    """Runs in their order, seeds of one recipe together under the first name; named outcomes follow."""
    groups: list[tuple[Recipe, list[int], list[Run], list[str]]] = []
    for run, name in zip(runs, unique_names(runs), strict=True):
        recipe = load_recipe(run.directory / RECIPE)
        plain = without_seed(recipe)
        home = next((group for group in groups if group[0] == plain and recipe.seed not in group[1]), None)
        if home is None:
            groups.append((plain, [recipe.seed], [run], [name]))
        else:
            home[1].append(recipe.seed)
            home[2].append(run)
            home[3].append(name)
    systems = [
        system
        for recipe, _, members, names in groups
        for system in systems_of(recipe.schedule.row.group, members, names)
    ]
    taken = [system.name for system in systems]  # different recipes in one folder: the run's own name tells
    return [
        replace(system, name=with_seeds(system.rows[0], len(system.rows)))
        if taken.count(system.name) > 1
        else system
        for system in systems
    ]


def systems_of(kind: str, runs: Sequence[Run], names: Sequence[str]) -> list[System]:
    """One system for each way in which these seeds were scored."""
    found: dict[str, list[tuple[Outcome, str]]] = {}
    for run, name in zip(runs, names, strict=True):
        for outcome in all_outcomes(run):
            found.setdefault(outcome.name, []).append((outcome, name))
    systems = []
    for members in found.values():
        outcomes = tuple(outcome for outcome, _ in members)
        rows = tuple(outcome.label(name) for outcome, name in members)
        first = outcomes[0].label(folder_of([name for _, name in members]))
        systems.append(System(with_seeds(first, len(members)), kind, outcomes, rows))
    return systems


def with_seeds(name: str, seeds: int) -> str:
    return f"{name} ({seeds} seeds)" if seeds > 1 else name


def folder_of(names: Sequence[str]) -> str:
    """The folder of runs that are called SYSTEM/SEED, as in a study; otherwise the first name."""
    folders = {folder for folder, _, seed in (name.rpartition("/") for name in names) if seed.isdigit()}
    return folders.pop() if len(folders) == 1 and "" not in folders else names[0]


def without_seed(recipe: Recipe) -> Recipe:
    """What makes two runs the same system: everything but the seed and the location of files."""
    return replace(recipe, seed=0, prepared="", data=replace(recipe.data, root=""))


def scoreboard(
    runs: Sequence[Run], metric: Metric = "bleu", most_lines: int | None = None, *, intervals: bool = False
) -> Scoreboard:
    """Scores of all systems; the paired test is skipped if it would read more than `most_lines` lines."""
    for run in runs:
        if not all_outcomes(run):
            raise UserError(
                f"{run.directory}: there is no scores.json; first run `facetmt evaluate {run.directory}`"
            )
    systems = group_systems(runs)
    columns = all_columns(systems)
    facets = [column.name for column in columns if column.kind == "facet"]
    tested = compared(
        [system.outcomes for system in systems], facets, metric, most_lines, intervals=intervals
    )
    means = [[mean_and_std(system, column, metric) for column in columns] for system in systems]
    rows = []
    for number, row in enumerate(means):
        cells = []
        for index, column in enumerate(columns):
            value = row[index]
            rivals = [other[index] for other in means]
            own = facets_of(systems[number]) if column.kind == "average" else [column.name]
            cells.append(None if value is None else cell(value, rivals, tested, number, column, own))
        rows.append(tuple(cells))
    return Scoreboard(
        systems=tuple(systems),
        columns=tuple(columns),
        cells=tuple(rows),
        costs=tuple(mean_cost(system) for system in systems),
        metric=metric,
        signature=systems[0].outcomes[0].scores["signature"][metric],
        notes=tuple(tested.notes),
        caveats=tuple(caveats(runs)),
    )


def facets_of(system: System) -> list[str]:
    return list(system.outcomes[0].scores["facets"])


def mean_cost(system: System) -> float | None:
    """Mean seconds per step over the seeds of a system; None if one did not log them."""
    costs = [step_seconds(outcome.run) for outcome in system.outcomes]
    known = [cost for cost in costs if cost is not None]
    return fmean(known) if len(known) == len(costs) else None


def step_seconds(run: Run) -> float | None:
    """Seconds of a step with its rewards and measurements: the median over log points, so that compiling,
    which older versions count as training, does not matter. Measurements are rare: their median times how
    often they took place."""
    if not (run.directory / METRICS).is_file():
        return None
    rows = [row for row in run.few_metrics(POINTS) if row.get("time")]
    if len(rows) < 2:
        return None
    steps = [float(row["step"]) for row in rows]
    trained, probed = ([float(row["time"].get(part, 0.0)) for row in rows] for part in ("train", "probe"))
    train = median_low(
        [(b - a) / (t - s) for (a, b), (s, t) in zip(pairwise(trained), pairwise(steps), strict=True)]
    )
    probes = [b - a for a, b in pairwise(probed) if b > a]
    return train + (median_low(probes) * len(probes) / (steps[-1] - steps[0]) if probes else 0.0)


def all_columns(systems: Sequence[System]) -> list[Column]:
    scores = [outcome.scores for system in systems for outcome in system.outcomes]
    facets = dict.fromkeys(name for score in scores for name in score.get("facets", {}))
    groups = dict.fromkeys(name for score in scores for name in score.get("groups", {}))
    average = [Column("average", AVERAGE)]
    by_facet, by_group = (
        [Column("facet", name) for name in facets],
        [Column("group", name) for name in groups],
    )
    wide = len(facets) + len(groups) >= WIDE
    return [*average, *by_group, *by_facet] if wide else [*average, *by_facet, *by_group]


def mean_and_std(system: System, column: Column, metric: Metric) -> tuple[float, float | None] | None:
    """Over the seeds of a system; None where a seed has no such score."""
    values = []
    for outcome in system.outcomes:
        scores = outcome.scores
        found = (
            scores["average"]
            if column.kind == "average"
            else scores.get(f"{column.kind}s", {}).get(column.name)
        )
        if found is None:
            return None
        values.append(float(found[metric]))
    return fmean(values), stdev(values) if len(values) > 1 else None


def cell(
    value: tuple[float, float | None],
    rivals: Sequence[tuple[float, float | None] | None],
    tested: Significance,
    system: int,
    column: Column,
    facets: Sequence[str],
) -> Cell:
    """`facets` are those behind the cell; their intervals make its own."""
    mean, std = value
    highest = max(round(rival[0], 2) for rival in rivals if rival is not None)
    halves = [tested.intervals.get((system, name)) for name in facets]
    known = [half for half in halves if half is not None] if column.kind != "group" else []
    return Cell(
        mean,
        std,
        best=len(rivals) > 1 and round(mean, 2) == highest,
        mark=mark(tested.values.get((system, column.name))) if column.kind == "facet" else "",
        interval=of_mean(known) if known and len(known) == len(halves) else None,
    )


def mark(verdict: tuple[float, float] | None) -> str:
    """Better or worse than the first system, and how certainly."""
    if verdict is None or verdict[0] >= 0.05:
        return ""
    p, gain = verdict
    return ("+" if gain > 0 else "-") * (2 if p < 0.01 else 1)
