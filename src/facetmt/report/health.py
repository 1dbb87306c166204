"""Health in words: what went wrong with a run, or may, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np

from facetmt.bandit.scheduler import starved as below_half
from facetmt.report.digest import Digest, Floats, digest
from facetmt.report.markup import signed
from facetmt.report.progress import best, latest, mean_of, share_of
from facetmt.runlog import Run

Severity = Literal["bad", "warning", "note"]
RANK = {"bad": 0, "warning": 1, "note": 2}

COLLAPSED = 0.95  # of softmax(w) on one facet
OFF_CENTRE = 0.3  # mean scaled reward; where the scale fits, it is near 0
HARDLY, WEAK = 1.0, 5.0  # average BLEU below which a model does not translate, or hardly
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


def untranslated(run: Digest) -> Iterator[Finding]:
    """A model may train without a fault and still be of no use."""
    top = best(run)
    score = run.average_bleu if run.average_bleu is not None else top.bleu if top else None
    if score is None or score >= WEAK:
        return
    which = "test" if run.average_bleu is not None else "best dev"
    yield Finding(
        "bad" if score < HARDLY else "warning",
        f"The model {'does not translate' if score < HARDLY else 'hardly translates'}: average {which} BLEU "
        f"{score:.2f}. Differences between such scores mean little.",
        "Train longer, with more text, or with a higher optimiser.learning_rate; look at the sample translations."
        if run.finished
        else "It is not at its end yet; look again later.",
    )


def lately(run: Digest) -> Floats | None:
    """Mean π of the last tenth of the log, where a policy has learned for long enough to be judged."""
    learned = run.kind not in ("Base", "Static")
    if run.probs is None or not learned or len(run.facets) < 2 or len(run.probs) < 10:
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
            "If other facets suffer, raise schedule.exploration or lower schedule.learning_rate tenfold; "
            "policy exp3s can change its mind.",
        )


def starved(run: Digest) -> Iterator[Finding]:
    """By the definition of `facetmt.bandit.Health`; with exploration it is often what learning looks like."""
    recent = lately(run)
    poor = [] if recent is None else np.flatnonzero(below_half(recent)).tolist()
    if recent is not None and poor:
        names = [
            f"{run.facets[place]} ({recent[place]:.1%})" for place in sorted(poor, key=lambda p: recent[p])
        ]
        yield Finding(
            "note",
            f"{plural(len(poor), 'facet')} of {len(run.facets)} starved, with π lately below half of uniform "
            f"({0.5 / len(run.facets):.1%}): {listed(names)}.",
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
    if schedule.row.scaler.clips and health["saturation"] > expected + OVERCLIPPED:
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
    if schedule.row.scaler.clips and abs(run.rewards.mean) > OFF_CENTRE:
        side = "fall" if run.rewards.mean < 0 else "rise"
        yield Finding(
            "warning",
            f"The rewards are off the centre of their scale: the mean scaled reward is {signed(run.rewards.mean)} and "
            f"should be near 0. Raw rewards {side} faster than the window forgets, so being drawn "
            f"{'lowers' if run.rewards.mean < 0 else 'raises'} a facet's weight whatever it brought.",
            "Make schedule.window smaller; in a run of a few hundred steps the early rewards dominate it.",
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
            f"Dev BLEU was best at step {top.step:,} ({top.bleu:.2f}); the {run.steps - top.step:,} steps after it "
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
