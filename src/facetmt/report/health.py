"""Health in words: what went wrong with a run, or may, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np

from facetmt.report.digest import Digest, digest
from facetmt.report.progress import best, latest, mean_of, share_of
from facetmt.runlog import Run

Severity = Literal["bad", "warning", "note"]
RANK = {"bad": 0, "warning": 1, "note": 2}

COLLAPSED = 0.95  # of softmax(w) on one facet
STARVED = 0.25  # of what the more modest of uniform and proportional sampling would have given
DUE = 40  # batches that a facet should have had before it can be called starved
REPEATED, WORN = 20.0, 100.0  # effective epochs
OVERCLIPPED = 0.25  # clipped rewards beyond the share that the quantiles ask for
DIVERGED = 1.15  # recent loss over the lowest one
FORGOTTEN = 2.0  # dev BLEU that a facet lost since its best
STALE = 0.6  # of the steps, after which dev BLEU did not get better
DEAR_REWARDS, SLOW_INPUT, PADDED = 0.4, 0.1, 0.3
NAMED = 5  # facets that a sentence names


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing about a run."""

    severity: Severity
    what: str
    remedy: str  # what to try


def findings(run: Run) -> list[Finding]:
    """All that is worth saying about a run, the worst first."""
    return examine(digest(run))


def examine(run: Digest) -> list[Finding]:
    found = [finding for check in CHECKS for finding in check(run)]
    return sorted(found, key=lambda finding: RANK[finding.severity])


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def collapsed(run: Digest) -> Iterator[Finding]:
    """(π − γ/n)/(1−γ) is softmax(w): is nearly all of it on one facet?"""
    if run.rewards is None or run.probs is None or len(run.facets) < 2 or len(run.probs) < 10:
        return
    recent = run.probs[-max(1, len(run.probs) // 10) :].mean(axis=0)
    schedule = run.recipe.schedule
    gamma = schedule.exploration if schedule.policy in ("exp3", "exp3s") else 0.0
    share = (recent.max() - gamma / recent.size) / max(1.0 - gamma, 1e-9)
    if share >= COLLAPSED:
        name = run.facets[int(recent.argmax())]
        yield Finding(
            "warning",
            f"The bandit has collapsed to {name}: π is {recent.max():.0%}"
            + (f", the most that exploration {gamma:g} leaves." if gamma else "."),
            "If other facets suffer, raise schedule.exploration or lower schedule.learning_rate tenfold; "
            "policy exp3s can change its mind.",
        )


def starved(run: Digest) -> Iterator[Finding]:
    if run.share is None or run.kind in ("Base", "Static") or len(run.facets) < 2:
        return
    uniform = np.full(len(run.facets), 1.0 / len(run.facets))
    modest = uniform if run.sizes is None else np.minimum(uniform, run.sizes / run.sizes.sum())
    due = modest * run.steps >= DUE  # before that it may be chance
    poor = [run.facets[place] for place in np.flatnonzero(due & (run.share < STARVED * modest))]
    if poor:
        yield Finding(
            "warning",
            f"{plural(len(poor), 'facet')} got less than a quarter of what uniform or proportional sampling "
            f"would give: {listed(poor)}.",
            "Look at their dev BLEU below; if it lags behind the baseline's, raise schedule.exploration.",
        )


def forgotten(run: Digest) -> Iterator[Finding]:
    scores = [row["bleu"]["facets"] for row in run.validation]
    if len(scores) < 4:
        return
    lost = {
        name: max(row.get(name) or 0.0 for row in scores) - fmean(row.get(name) or 0.0 for row in scores[-2:])
        for name in scores[-1]
    }
    worst = sorted((name for name in lost if lost[name] >= FORGOTTEN), key=lambda name: -lost[name])
    if worst:
        yield Finding(
            "warning",
            f"{plural(len(worst), 'facet')} lost dev BLEU since its best: "
            + listed([f"{name} (−{lost[name]:.1f})" for name in worst])
            + ".",
            "The checkpoint of the best average is kept; more exploration or a smaller optimiser.learning_rate helps.",
        )


def clipping(run: Digest) -> Iterator[Finding]:
    health, schedule = latest(run, "health"), run.recipe.schedule
    if not health or run.rewards is None:
        return
    expected = schedule.low + 1.0 - schedule.high
    if schedule.policy != "odm" and health["saturation"] > expected + OVERCLIPPED:
        yield Finding(
            "warning",
            f"The reward scale is saturated: {health['saturation']:.0%} of the latest rewards were clipped "
            f"({expected:.0%} is meant), so they lag behind a trend.",
            "Make schedule.window smaller"
            + (
                "."
                if schedule.reward.endswith("pgnorm")
                else ", or choose a relative reward such as dev-pgnorm."
            ),
        )
    if health["dropped"]:
        share = health["dropped"] / max(run.steps, 1)
        yield Finding(
            "bad" if share > 0.01 else "note",
            f"{plural(health['dropped'], 'reward')} ({share:.1%}) were no finite number and were dropped.",
            "Look for empty or damaged sentences in the facets drawn there (pulls.csv), or lower the learning rate.",
        )


def repeated(run: Digest) -> Iterator[Finding]:
    if run.epochs is None:
        return
    order = [int(place) for place in np.argsort(-np.nan_to_num(run.epochs)) if run.epochs[place] > REPEATED]
    if order:
        highest = float(run.epochs[order[0]])
        yield Finding(
            "bad" if highest > WORN else "warning",
            f"{plural(len(order), 'facet')} went through training more than {REPEATED:.0f} times: "
            + listed([f"{run.facets[place]} ({run.epochs[place]:.0f} epochs)" for place in order])
            + ".",
            "Watch its dev loss for overfitting; add text to it, or lower its share with more exploration.",
        )


def diverging(run: Digest) -> Iterator[Finding]:
    losses = [row["loss"] for row in run.metrics if row.get("loss") is not None]
    skipped = latest(run, "skipped_in_row")
    if skipped:
        yield Finding(
            "bad",
            f"The last {plural(skipped, 'update')} had a loss that is no number and were skipped.",
            "Lower optimiser.learning_rate or optimiser.clip, or compute in float32 (model.compute).",
        )
    width = max(1, len(losses) // 20)
    if len(losses) >= 20:
        smooth = [fmean(losses[place : place + width]) for place in range(0, len(losses) - width + 1, width)]
        if smooth[-1] > DIVERGED * min(smooth):
            yield Finding(
                "bad",
                f"The training loss diverges: {smooth[-1]:.2f} lately, {min(smooth):.2f} at its lowest.",
                "Halve optimiser.learning_rate or lengthen its warmup, and resume from the best checkpoint.",
            )
    dev = [row["loss"]["average"] for row in run.validation if row["loss"]["average"] is not None]
    if len(dev) >= 4 and dev[-1] > DIVERGED * min(dev):
        yield Finding(
            "warning",
            f"The dev loss rises: {dev[-1]:.2f} now, {min(dev):.2f} at its lowest.",
            "The model overfits; stop with train.patience, or raise model.dropout.",
        )


def stale(run: Digest) -> Iterator[Finding]:
    top = best(run)
    if top and len(run.validation) >= 5 and run.steps and top.step < STALE * run.steps:
        yield Finding(
            "note",
            f"Dev BLEU was best at step {top.step:,} ({top.bleu:.1f}); the {run.steps - top.step:,} steps after it "
            "did not help.",
            "Set train.patience to stop earlier.",
        )


def costly(run: Digest) -> Iterator[Finding]:
    passes, waiting, padding = (
        share_of(run, "reward passes"),
        share_of(run, "waiting for input"),
        mean_of(run, "padding"),
    )
    if passes and passes > DEAR_REWARDS:
        yield Finding(
            "note",
            f"Reward passes take {passes:.0%} of the time.",
            "Use fewer train.dev_rows or a longer train.dev_hold; the reward `loss` is free.",
        )
    if waiting and waiting > SLOW_INPUT:
        yield Finding(
            "warning",
            f"Training waits for its input {waiting:.0%} of the time.",
            "Put the prepared data on a faster disk, or leave a processor free for it.",
        )
    if padding and padding > PADDED:
        yield Finding(
            "note",
            f"{padding:.0%} of the batches is padding.",
            "Make batch.length longer, so that more sentences fit into a row.",
        )


CHECKS: tuple[Callable[[Digest], Iterator[Finding]], ...] = (
    collapsed,
    starved,
    forgotten,
    clipping,
    repeated,
    diverging,
    stale,
    costly,
)
