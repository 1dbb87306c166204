"""Health in words: what went wrong with a run, or may go wrong, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

import numpy as np

from facetmt.bandit import REWARDS
from facetmt.bandit.config import ScheduleConfig
from facetmt.bandit.scheduler import starved as below_half
from facetmt.report.digest import Digest, digest
from facetmt.report.progress import best, latest, mean_of, share_of
from facetmt.report.rewards import Floats
from facetmt.report.words import listed, plural, signed
from facetmt.runlog import Run

Severity = Literal["bad", "warning", "note"]
RANK = {"bad": 0, "warning": 1, "note": 2}

COLLAPSED = 0.95  # of softmax(w) on one facet
OFF_CENTRE = 0.3  # mean scaled reward; where the scale fits, it is near 0
HARDLY, WEAK = 1.0, 5.0  # average BLEU below which a model does not translate, or hardly does
REPEATED, WORN = 20.0, 100.0  # effective epochs
OVERCLIPPED = 0.25  # clipped rewards beyond the share that the quantiles imply
DIVERGED = 1.15  # recent loss over the lowest
FORGOTTEN = 2.0  # dev BLEU that a facet lost since its best
STALE = 0.6  # of the steps, after which dev BLEU did not improve
EXPENSIVE_REWARDS, SLOW_INPUT, PADDED = 0.4, 0.1, 0.3


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing about a run."""

    severity: Severity
    what: str
    remedy: str  # what to try


def findings(run: Run) -> list[Finding]:
    """Everything worth knowing about a run, worst first."""
    return examine(digest(run))


def examine(run: Digest) -> list[Finding]:
    found = [finding for check in CHECKS for finding in check(run)]
    return sorted(found, key=lambda finding: RANK[finding.severity])


def explores(schedule: ScheduleConfig) -> bool:
    """Whether the policy uses schedule.exploration, so that raising it can be advised."""
    return schedule.row.exploration(replace(schedule, exploration=1.0)) > 0


def untranslated(run: Digest) -> Iterator[Finding]:
    """A model may train without a fault and still be useless."""
    top = best(run)
    score = run.average_bleu if run.average_bleu is not None else top.bleu if top else None
    if score is None or score >= WEAK:
        return
    which = "test" if run.average_bleu is not None else "best dev"
    yield Finding(
        "bad" if score < HARDLY else "warning",
        f"The model {'does not translate' if score < HARDLY else 'hardly translates'}: average {which} BLEU "
        f"{score:.2f}. Differences between such scores mean little.",
        "Train longer, on more text, or with a higher optimiser.learning_rate; look at sample translations."
        if run.finished
        else "The run is not finished; look again later.",
    )


def lately(run: Digest) -> Floats | None:
    """Mean π over the last tenth of the log, once a policy that learns has learned for long enough."""
    if run.probs is None or not run.learns or len(run.facets) < 2 or len(run.probs) < 10:
        return None
    recent: Floats = run.probs[-max(1, len(run.probs) // 10) :].mean(axis=0)
    return recent


def collapsed(run: Digest) -> Iterator[Finding]:
    """(π − γ/n)/(1−γ) is softmax(w): is nearly all of it on one facet?"""
    recent = lately(run)
    if run.rewards is None or recent is None:
        return
    schedule = run.recipe.schedule
    gamma = schedule.row.exploration(schedule)
    share = (recent.max() - gamma / recent.size) / max(1.0 - gamma, 1e-9)
    if share >= COLLAPSED:
        name = run.facets[int(recent.argmax())]
        yield Finding(
            "warning",
            f"The bandit has collapsed to {name}: π is {recent.max():.0%}"
            + (f", the most that exploration {gamma:g} leaves." if gamma else "."),
            (
                "If other facets suffer, raise schedule.exploration or lower schedule.learning_rate tenfold; "
                if explores(schedule)
                else "If other facets suffer, choose another schedule.policy; "
            )
            + "the policy exp3s can change its mind.",
        )


def starved(run: Digest) -> Iterator[Finding]:
    """As defined by `facetmt.bandit.Health`; with exploration it is often what learning looks like."""
    schedule = run.recipe.schedule
    if run.composed and schedule.step_reward is None:
        return  # such shares are planned, and each change of them is explained
    recent = lately(run)
    poor = [] if recent is None else np.flatnonzero(below_half(recent)).tolist()
    if recent is not None and poor:
        names = [
            f"{run.facets[index]} ({recent[index]:.1%})" for index in sorted(poor, key=lambda p: recent[p])
        ]
        yield Finding(
            "note",
            f"{len(poor)} of {plural(len(run.facets), 'facet')} starved, with π lately below half of uniform "
            f"({0.5 / len(run.facets):.1%}): {listed(names)}.",
            "Look at their dev BLEU below; if it is below the baseline's, "
            + ("raise schedule.exploration." if explores(schedule) else "choose another schedule.policy."),
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
            f"{plural(len(worst), 'facet')} lost dev BLEU since the best validation: "
            + listed([f"{name} (−{lost[name]:.1f})" for name in worst])
            + ".",
            "The checkpoint with the best average is kept; try a smaller optimiser.learning_rate"
            + (" or more schedule.exploration." if explores(run.recipe.schedule) else "."),
        )


def clipping(run: Digest) -> Iterator[Finding]:
    health, schedule = latest(run, "health"), run.recipe.schedule
    if not health or run.rewards is None:
        return
    expected = schedule.low + 1.0 - schedule.high
    if schedule.row.scaler.clips and health["saturation"] > expected + OVERCLIPPED:
        yield Finding(
            "warning",
            f"The reward scale is saturated: {health['saturation']:.0%} of the latest rewards were clipped "
            f"({expected:.0%} is intended), so the scale lags behind a trend.",
            "Make schedule.window smaller"
            + (
                "."
                if REWARDS[schedule.reward].relative
                else ", or choose a relative reward such as dev-pgnorm."
            ),
        )
    # where batches mix facets, a reward counts relative to the shares drawn: a constant cancels out
    if schedule.row.scaler.clips and not run.composed and abs(run.rewards.mean) > OFF_CENTRE:
        side = "fall" if run.rewards.mean < 0 else "rise"
        yield Finding(
            "warning",
            f"The rewards are off-centre: the mean scaled reward is {signed(run.rewards.mean)} and should "
            f"be near 0. Raw rewards {side} faster than the window forgets, so being drawn "
            f"{'lowers' if run.rewards.mean < 0 else 'raises'} a facet's weight whatever it brought.",
            "Make schedule.window smaller; in a run of a few hundred steps the early rewards dominate it.",
        )
    if health["dropped"]:
        share = health["dropped"] / max(run.steps, 1)
        yield Finding(
            "bad" if share > 0.01 else "note",
            f"Dropped {plural(health['dropped'], 'reward')} ({share:.1%}) for not being finite.",
            "Look for damaged text in the facets drawn there (pulls.csv), or lower optimiser.learning_rate.",
        )


def repeated(run: Digest) -> Iterator[Finding]:
    if run.epochs is None:
        return
    order = [int(index) for index in np.argsort(-np.nan_to_num(run.epochs)) if run.epochs[index] > REPEATED]
    if order:
        highest = float(run.epochs[order[0]])
        yield Finding(
            "bad" if highest > WORN else "warning",
            f"{plural(len(order), 'facet')} repeated more than {REPEATED:.0f} times: "
            + listed([f"{run.facets[index]} ({run.epochs[index]:.0f} epochs)" for index in order])
            + ".",
            f"Watch the dev loss for overfitting; add text, or {less(run.recipe.schedule)}.",
        )


def less(schedule: ScheduleConfig) -> str:
    """How to repeat a facet less."""
    if schedule.row.needs(schedule) == "tokens":
        return "lower schedule.max_epochs"
    return "raise schedule.exploration" if explores(schedule) else "train for fewer steps"


def diverging(run: Digest) -> Iterator[Finding]:
    losses = [row["loss"] for row in run.metrics if row.get("loss") is not None]
    skipped = latest(run, "skipped_in_row")
    if skipped:
        yield Finding(
            "bad",
            f"Skipped the last {plural(skipped, 'update')}: the loss was not finite.",
            "Lower optimiser.learning_rate or optimiser.clip, or compute in float32 (model.compute).",
        )
    width = max(1, len(losses) // 20)
    if len(losses) >= 20:
        smooth = [fmean(losses[index : index + width]) for index in range(0, len(losses) - width + 1, width)]
        if smooth[-1] > DIVERGED * min(smooth):
            yield Finding(
                "bad",
                f"The training loss diverges: {smooth[-1]:.2f} lately, {min(smooth):.2f} at its lowest.",
                "Halve optimiser.learning_rate or raise optimiser.warmup, and train again.",
            )
    dev = [row["loss"]["average"] for row in run.validation if row["loss"]["average"] is not None]
    if len(dev) >= 4 and dev[-1] > DIVERGED * min(dev):
        yield Finding(
            "warning",
            f"The dev loss rises: {dev[-1]:.2f} now, {min(dev):.2f} at its lowest.",
            "The model overfits; stop earlier with train.patience, or raise model.dropout.",
        )


def stale(run: Digest) -> Iterator[Finding]:
    top = best(run)
    if top and len(run.validation) >= 5 and run.steps and top.step < STALE * run.steps:
        yield Finding(
            "note",
            f"Dev BLEU was best at step {top.step:,} ({top.bleu:.2f}); the {run.steps - top.step:,} steps "
            "since then did not help.",
            "Set train.patience to stop earlier.",
        )


def costly(run: Digest) -> Iterator[Finding]:
    passes, waiting, padding = (
        share_of(run, "reward passes"),
        share_of(run, "waiting for input"),
        mean_of(run, "padding"),
    )
    if passes and passes > EXPENSIVE_REWARDS:
        yield Finding(
            "note",
            f"Reward passes take {passes:.0%} of the time.",
            "Use fewer train.dev_rows or a longer train.dev_hold; the reward `loss` is free.",
        )
    if waiting and waiting > SLOW_INPUT:
        yield Finding(
            "warning",
            f"Training waits for its input {waiting:.0%} of the time.",
            "Put the prepared data on a faster disk, or leave a processor core free for it.",
        )
    if padding and padding > PADDED:
        yield Finding(
            "note",
            f"{padding:.0%} of the batches is padding.",
            "Make batch.length longer, so that more sentences fit into a row.",
        )


CHECKS: tuple[Callable[[Digest], Iterator[Finding]], ...] = (
    untranslated,
    collapsed,
    starved,
    forgotten,
    clipping,
    repeated,
    diverging,
    stale,
    costly,
)
