"""A run, reduced to what a report shows: no array is longer than a screen is wide, whatever the run's length."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from facetmt.bandit.config import build_scheduler
from facetmt.bandit.schedules import Corpus
from facetmt.recipe import Recipe, load_recipe
from facetmt.runlog import RECIPE, Pulls, Run

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

POINTS = 1000  # of a curve: more than a screen can show
FACET_VALUES = 400_000  # π values in one page, over all its runs: many facets or runs get coarser curves
REWARD_POINTS, FACET_REWARD_POINTS = 200, 40
REWARDS_A_POINT = 10  # behind each median
PULLS_A_POINT = 25  # rewards of a facet behind each point of its curve, on average


@dataclass(frozen=True)
class Rewards:
    """The rewards of a bandit run along its steps."""

    step: Ints  # [points]
    raw: Floats  # [points] median since the point before
    low: Floats  # [points] the clipping quantiles that the scaler used there
    high: Floats
    clipped: float  # share of all rewards that were scaled to −1 or 1
    facet_step: Ints  # [bins]
    facet_scaled: Floats  # [bins, facets] mean scaled reward; NaN where a facet was not drawn
    mean_scaled: Floats  # [facets] over the whole run
    mean: float  # of all scaled rewards; near 0 where the scale fits


@dataclass(frozen=True)
class Digest:
    """One run as a report sees it."""

    run: Run
    name: str  # unique on its page
    recipe: Recipe
    facets: tuple[str, ...]  # of the data (the mixed baseline has them too, behind its one arm)
    sizes: Floats | None  # [facets] training pairs
    steps: int  # done so far
    seconds: float
    prob_step: Ints  # [points]
    probs: Floats | None  # [points, facets]; None for the mixed baseline
    batches: Ints | None  # [facets] drawn so far; None for the mixed baseline
    share: Floats | None  # [facets] of the training batches; of the mixed baseline: of its pairs
    epochs: Floats | None  # [facets] how often each pair was seen
    rewards: Rewards | None
    metrics: tuple[dict[str, Any], ...]  # at most POINTS log points
    validation: tuple[dict[str, Any], ...]

    @property
    def kind(self) -> str:
        return self.recipe.schedule.row.group

    @property
    def finished(self) -> bool:
        return finished(self.recipe, self.steps, self.validation)

    @property
    def average_bleu(self) -> float | None:
        """Of the test sets; None before the run is evaluated."""
        scores = self.run.scores
        return None if scores is None else float(scores["average"]["bleu"])

    def seconds_at(self, steps: npt.ArrayLike) -> Floats:
        """Wall-clock at these steps, read off the log points."""
        known = np.array(
            [(0.0, 0.0), *((row["step"], row["seconds"]) for row in self.metrics)]
        )  # [points, 2]
        at: Floats = np.interp(np.asarray(steps, dtype=np.float64), known[:, 0], known[:, 1])
        return at


def finished(recipe: Recipe, steps: int, validation: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a run came to its last step, or its patience to an end."""
    patience = recipe.train.patience
    scores = [row["bleu"]["average"] for row in validation if row["bleu"]["average"] is not None]
    stale = len(scores) - 1 - scores.index(max(scores)) if scores else 0
    return steps >= recipe.train.steps or (patience is not None and stale >= patience)


def digests(runs: Sequence[Run]) -> list[Digest]:
    """All runs of a page, with names that differ from each other."""
    facets = max((len(run.facet_table) or len(run.facets) for run in runs), default=1)
    points = min(POINTS, max(100, FACET_VALUES // max(1, facets * len(runs))))
    return [
        replace(digest(run, points), name=name) for run, name in zip(runs, unique_names(runs), strict=True)
    ]


def unique_names(runs: Sequence[Run]) -> list[str]:
    """The runs' folder names; where two are equal, with the folder above, or else numbered."""
    names = [run.name for run in runs]
    longer = [f"{run.directory.resolve().parent.name}/{run.name}" for run in runs]
    names = [long if names.count(name) > 1 else name for name, long in zip(names, longer, strict=True)]
    return [
        f"{name} ({names[:place].count(name) + 1})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def digest(run: Run, points: int = POINTS) -> Digest:
    """Read a run's logs once and keep what a page needs; the pulls are let go."""
    recipe = load_recipe(run.directory / RECIPE)
    mixed = recipe.schedule.draws == "whole"
    metrics, validation = tuple(run.few_metrics(POINTS)), tuple(run.validation)
    facets = data_facets(run, mixed, validation)
    sizes = known_sizes(run, facets)
    pulls = Run(run.directory).pulls  # half a million rows, so they are not kept
    prob_step, probs = from_the_start(*run.few_probs(points - 1), first_probs(recipe, run.facets, sizes))
    batches = None if mixed else np.bincount(pulls.facet, minlength=len(facets)).astype(np.int64)
    last = metrics[-1] if metrics else {}
    return Digest(
        run=run,
        name=run.name,
        recipe=recipe,
        facets=facets,
        sizes=sizes,
        steps=run.last_step,
        seconds=float(max([last.get("seconds", 0.0), *(row["seconds"] for row in validation[-1:])])),
        prob_step=prob_step,
        probs=None if mixed else probs,
        batches=batches,
        share=shares(batches, sizes, mixed),
        epochs=last_epochs(last.get("epochs", {}), facets, mixed),
        rewards=rewards(pulls, recipe.schedule.window, (recipe.schedule.low, recipe.schedule.high)),
        metrics=metrics,
        validation=validation,
    )


def first_probs(recipe: Recipe, arms: Sequence[str], sizes: Floats | None) -> Floats | None:
    """π before the first step; None where it depends on sizes that nobody wrote down."""
    schedule = recipe.schedule
    needs = schedule.row.needs(schedule)
    if not arms or needs == "tokens" or (sizes is None and needs):
        return None
    counts = [1.0] * len(arms) if sizes is None else sizes.tolist()
    return build_scheduler(schedule, Corpus(arms, counts), seed=0).probs()


def from_the_start(steps: Ints, probs: Floats, first: Floats | None) -> tuple[Ints, Floats]:
    """The log of π begins only at its first log point; what came before the first step is known."""
    if first is None or first.size != probs.shape[1] or not steps.size:
        return steps, probs
    return np.concatenate([[0], steps]), np.vstack([first, probs])


def data_facets(run: Run, mixed: bool, validation: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The facets of the data: the arms, or for the mixed baseline whatever file names them."""
    if not mixed and run.facets:
        return run.facets
    if run.facet_table or not validation:
        return tuple(run.facet_table)
    return tuple(validation[-1]["loss"]["facets"])


def known_sizes(run: Run, facets: Sequence[str]) -> Floats | None:
    table = run.facet_table
    if not facets or any(name not in table for name in facets):
        return None
    return np.array([table[name]["train"] for name in facets], dtype=np.float64)


def shares(batches: Ints | None, sizes: Floats | None, mixed: bool) -> Floats | None:
    """What each facet got of the training."""
    if mixed:
        return None if sizes is None else sizes / sizes.sum()
    return None if batches is None or not batches.sum() else batches / batches.sum()


def last_epochs(epochs: Mapping[str, float], facets: Sequence[str], mixed: bool) -> Floats | None:
    if not epochs or not facets:
        return None
    whole = next(iter(epochs.values())) if mixed else math.nan  # of its one arm
    return np.array([epochs.get(name, whole) for name in facets], dtype=np.float64)


def rewards(pulls: Pulls, window: int, quantiles: tuple[float, float]) -> Rewards | None:
    """Medians along the steps, the clipping quantiles as the scaler saw them, and means by facet."""
    given = np.flatnonzero(np.isfinite(pulls.raw) & np.isfinite(pulls.scaled))
    if not given.size:
        return None
    raw, scaled, step, facet = pulls.raw[given], pulls.scaled[given], pulls.step[given], pulls.facet[given]
    points = min(max(raw.size // REWARDS_A_POINT, 1), REWARD_POINTS)
    ends = np.unique(np.linspace(raw.size / points, raw.size, points).round().astype(np.int64))
    starts = np.concatenate([[0], ends[:-1]])
    bounds = np.array([np.quantile(raw[max(0, end - window) : end], quantiles) for end in ends])
    facets = len(pulls.names)
    bins = min(max(raw.size // (PULLS_A_POINT * facets), 6), FACET_REWARD_POINTS, raw.size)
    place = np.arange(raw.size) * bins // raw.size  # [rewards] -> bin
    total, count = (
        np.bincount(place * facets + facet, weights=weights, minlength=bins * facets).reshape(bins, facets)
        for weights in (scaled, None)
    )
    with np.errstate(invalid="ignore"):  # 0/0: a facet that was not drawn has no mean
        by_bin, overall = total / count, total.sum(0) / count.sum(0)
    return Rewards(
        step=step[ends - 1],
        raw=np.array([np.median(raw[start:end]) for start, end in zip(starts, ends, strict=True)]),
        low=bounds[:, 0],
        high=bounds[:, 1],
        clipped=float((np.abs(scaled) == 1).mean()),
        facet_step=step[np.searchsorted(place, np.arange(bins), side="right") - 1],
        facet_scaled=by_bin,
        mean_scaled=overall,
        mean=float(scaled.mean()),
    )
