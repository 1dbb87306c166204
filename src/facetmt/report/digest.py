"""A run, reduced to what a report shows: however long it is, no array is longer than a screen is wide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from facetmt.bandit.config import build_scheduler
from facetmt.bandit.schedules import NOTHING, Corpus
from facetmt.recipe import Recipe, load_recipe
from facetmt.report.rewards import Floats, Ints, Rewards, rewards
from facetmt.runlog import RECIPE, SEVERAL, Run

POINTS = 1000  # of a curve: more than a screen can show
FACET_VALUES = 400_000  # π values in one page, over all its runs: many facets or runs get coarser curves


@dataclass(frozen=True)
class Digest:
    """One run as a report sees it."""

    logs: Run
    name: str  # unique on its page
    recipe: Recipe
    facets: tuple[str, ...]  # of the data, also where the policy has one arm for all of them
    sizes: Floats | None  # [facets] training pairs
    steps: int  # done so far
    seconds: float
    prob_step: Ints  # [points]
    probs: Floats | None  # [points, facets] π, or shares of a batch; None where the whole is shuffled
    batches: Ints | None  # [facets] drawn so far; None where a batch is not of one facet
    share: Floats | None  # [facets] of the training: see `shares`
    epochs: Floats | None  # [facets] how often each pair was seen
    rewards: Rewards | None
    news: tuple[str, ...]  # what the policy said about its changes of shares, oldest first
    metrics: tuple[dict[str, Any], ...]  # at most POINTS log points
    validation: tuple[dict[str, Any], ...]

    @property
    def kind(self) -> str:
        return self.recipe.schedule.row.group

    @property
    def learns(self) -> bool:
        """Whether the policy learns what to draw."""
        return self.recipe.schedule.row.signal != NOTHING

    @property
    def composed(self) -> bool:
        """Whether a batch has rows of several facets, in shares that the policy decides."""
        return self.recipe.schedule.draws == "composition"

    @property
    def mean_rewards(self) -> Floats | None:
        """[facets] mean scaled reward over the run, where rewards are of single facets."""
        by_facet = None if self.rewards is None else self.rewards.by_facet
        return None if by_facet is None else by_facet.mean

    @property
    def finished(self) -> bool:
        return finished(self.recipe, self.steps, self.validation)

    @property
    def average_bleu(self) -> float | None:
        """Of the test sets; None before the run is evaluated."""
        scores = self.logs.scores
        return None if scores is None else float(scores["average"]["bleu"])

    def seconds_at(self, steps: npt.ArrayLike) -> Floats:
        """Wall-clock at these steps, interpolated between log points."""
        points = [(0.0, 0.0), *((row["step"], row["seconds"]) for row in self.metrics)]
        known = np.array(points)  # [points, 2]
        at: Floats = np.interp(np.asarray(steps, dtype=np.float64), known[:, 0], known[:, 1])
        return at


def finished(recipe: Recipe, steps: int, validation: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a run reached its last step, or stopped early because dev BLEU no longer improved."""
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
    """The runs' folder names; equal ones, and mere numbers, get their parent's name too, or else a count."""
    names = [run.name for run in runs]
    longer = [f"{run.directory.resolve().parent.name}/{run.name}" for run in runs]
    short = [names.count(name) == 1 and not name.isdigit() for name in names]
    names = [one if own else long for one, long, own in zip(names, longer, short, strict=True)]
    return [
        f"{name} ({names[:index].count(name) + 1})" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    ]


def digest(run: Run, points: int = POINTS) -> Digest:
    """Read a run's logs once and keep what a page needs."""
    recipe = load_recipe(run.directory / RECIPE)
    schedule = recipe.schedule
    whole = schedule.draws == "whole"
    metrics, validation = tuple(run.few_metrics(POINTS)), tuple(run.validation)
    facets = data_facets(run, whole, validation)
    sizes = known_sizes(run, facets)
    pulls = Run(run.directory).pulls  # not `run.pulls`, which would keep half a million rows
    prob_step, probs = from_the_start(*run.few_probs(points - 1), first_probs(recipe, run.facets, sizes))
    batches = None
    if schedule.draws == "facet":
        drawn = pulls.facet[pulls.facet != SEVERAL]
        batches = np.bincount(drawn, minlength=len(facets)).astype(np.int64)
    last = metrics[-1] if metrics else {}
    return Digest(
        logs=run,
        name=run.name,
        recipe=recipe,
        facets=facets,
        sizes=sizes,
        steps=run.last_step,
        seconds=float(max([last.get("seconds", 0.0), *(row["seconds"] for row in validation[-1:])])),
        prob_step=prob_step,
        probs=None if whole else probs,
        batches=batches,
        share=sizes_share(sizes) if whole else shares(batches, prob_step, probs, run.last_step),
        epochs=last_epochs(last.get("epochs", {}), facets, whole),
        rewards=rewards(pulls, schedule.window, (schedule.low, schedule.high)),
        news=tuple(run.news),
        metrics=metrics,
        validation=validation,
    )


def first_probs(recipe: Recipe, arms: Sequence[str], sizes: Floats | None) -> Floats | None:
    """π before the first step; None where it depends on sizes that were not logged."""
    schedule = recipe.schedule
    needs = schedule.row.needs(schedule)
    if not arms or needs == "tokens" or (sizes is None and needs):
        return None
    counts = [1.0] * len(arms) if sizes is None else sizes.tolist()
    return build_scheduler(schedule, Corpus(arms, counts), seed=0).probs()


def from_the_start(steps: Ints, probs: Floats, first: Floats | None) -> tuple[Ints, Floats]:
    """Put π before the first step, where known and not logged, ahead of the first log point."""
    if first is None or first.size != probs.shape[1] or not steps.size or steps[0] == 0:
        return steps, probs
    return np.concatenate([[0], steps]), np.vstack([first, probs])


def data_facets(run: Run, whole: bool, validation: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The facets of the data: the arms, or where one arm draws the whole, whatever file names them."""
    if not whole and run.facets:
        return run.facets
    if run.facet_table or not validation:
        return tuple(run.facet_table)
    return tuple(validation[-1]["loss"]["facets"])


def known_sizes(run: Run, facets: Sequence[str]) -> Floats | None:
    table = run.facet_table
    if not facets or any(name not in table for name in facets):
        return None
    return np.array([table[name]["train"] for name in facets], dtype=np.float64)


def sizes_share(sizes: Floats | None) -> Floats | None:
    """What each facet gets of the shuffled whole."""
    return None if sizes is None else sizes / sizes.sum()


def shares(batches: Ints | None, step: Ints, probs: Floats, last: int) -> Floats | None:
    """What each facet got of the training: of the batches, or its mean logged share over the steps."""
    if batches is not None:
        return batches / batches.sum() if batches.sum() else None
    if not step.size or not last:
        return None
    edges = np.concatenate([[0], step, [max(last, step[-1])]])
    values = np.vstack([probs[:1], probs, probs[-1:]])
    mean: Floats = np.trapezoid(values, edges, axis=0) / edges[-1]
    return mean


def last_epochs(epochs: Mapping[str, float], facets: Sequence[str], whole: bool) -> Floats | None:
    if not epochs or not facets:
        return None
    common = next(iter(epochs.values())) if whole else math.nan  # of the one arm
    return np.array([epochs.get(name, common) for name in facets], dtype=np.float64)
