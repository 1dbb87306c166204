"""`facetmt diagnose`: could the rewards of a run tell its facets apart? From its logs alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from rich.text import Text

from facetmt.bandit.config import ScheduleConfig
from facetmt.bandit.schedules import NOTHING
from facetmt.recipe import load_recipe
from facetmt.report.differences import FEWEST, POWER, RISK, Differences, differences
from facetmt.report.replay import new_scheduler, taught
from facetmt.report.rewards import Floats, rewards
from facetmt.report.words import listed, plural, signed
from facetmt.runlog import RECIPE, Pulls, Run

TOP = 20  # facets in the table: those that differ most
AT_BOUND = 0.05  # of the way from a bound of π that counts as being there
OFTEN = 0.5  # of the log points
SAME = 1e-6  # π that was logged and π that was taught again
STRAYED = 0.001  # of the pulls, above which the log's own π is used instead
USE_INSTEAD = "use `auto` or a static mixture (docs/mixtures.md)"


@dataclass(frozen=True)
class Diagnosis:
    """What the rewards of a run could say about its facets."""

    facets: tuple[str, ...]
    schedule: ScheduleConfig
    rewards: int  # finite ones
    dropped: int
    clipped: float  # share of them that was scaled to −1 or 1
    intended: float  # what the clipping quantiles imply
    per_unit: float  # raw reward that a scaled one of 1 is worth, at the end of the run
    mean: Floats  # [facets] scaled
    deviation: Floats  # [facets] of the scaled reward
    found: Differences
    replayed: bool  # π of every pull is known exactly; otherwise from the log points
    low: float  # mean share of the facets at the lower bound of π
    high: float  # share of the log points at which one facet is at the upper bound


def diagnose(run: Run) -> Diagnosis | None:
    """None where no reward belongs to a single facet, or where there are too few to say anything."""
    schedule = load_recipe(run.directory / RECIPE).schedule
    if schedule.step_reward is None or schedule.draws != "facet" or len(run.facets) < 2:
        return None
    pulls = run.pulls
    given = np.isfinite(pulls.scaled) & np.isfinite(pulls.raw)
    if given.sum() < FEWEST * len(run.facets):
        return None
    arm, scaled = pulls.facet[given], pulls.scaled[given]
    strays: list[int] = []
    found = differences(arm, scaled, kept(taught_again(run, schedule, pulls, strays), given))
    replayed = len(strays) <= STRAYED * len(pulls.step)
    if not replayed:
        found = differences(arm, scaled, kept(logged(run, pulls), given))
    known = rewards(pulls, schedule.window, (schedule.low, schedule.high))
    low, high = bounds(run, schedule)
    parts = [scaled[arm == facet] for facet in range(len(run.facets))]
    return Diagnosis(
        facets=run.facets,
        schedule=schedule,
        rewards=int(given.sum()),
        dropped=int((~given).sum()),
        clipped=0.0 if known is None else known.clipped,
        intended=schedule.low + 1.0 - schedule.high if schedule.row.scaler.clips else 0.0,
        per_unit=float(known.high[-1] - known.low[-1]) / 2 if known and schedule.row.scaler.clips else 1.0,
        mean=np.array([part.mean() if part.size else np.nan for part in parts]),
        deviation=np.array([part.std(ddof=1) if part.size > 1 else np.nan for part in parts]),
        found=found,
        replayed=replayed,
        low=low,
        high=high,
    )


def taught_again(run: Run, schedule: ScheduleConfig, pulls: Pulls, strays: list[int]) -> Iterator[Floats]:
    """π before every pull: the policy is taught the logged rewards once more.

    `strays` collects the steps whose logged probability is another, as after a change of settings.
    """
    path = taught(new_scheduler(run, schedule).policy, pulls, pulls.scaled, schedule.lag)
    columns = zip(pulls.step.tolist(), pulls.facet.tolist(), pulls.prob.tolist(), strict=True)
    for now, (step, arm, prob) in zip(path, columns, strict=True):
        if abs(float(now[arm]) - prob) > SAME:
            strays.append(step)
        yield now


def logged(run: Run, pulls: Pulls) -> Iterator[Floats]:
    """π before every pull as of the latest log point, or of the first one."""
    steps, probs = run.probs
    places = np.maximum(np.searchsorted(steps, pulls.step - 1, side="right") - 1, 0)
    return (probs[place] for place in places.tolist())


def kept(rows: Iterator[Floats], given: npt.NDArray[np.bool_]) -> Iterator[Floats]:
    return (row for row, there in zip(rows, given.tolist(), strict=True) if there)


def bounds(run: Run, schedule: ScheduleConfig) -> tuple[float, float]:
    """How often softmax(w) = (π − γ/n)/(1−γ) is at 0 or 1, over the log points."""
    _, probs = run.probs
    gamma = schedule.row.exploration(schedule)
    if not len(probs) or gamma >= 1.0:
        return 0.0, 0.0
    facets = probs.shape[1]
    free = (probs - gamma / facets) / (1.0 - gamma)
    return float((free < AT_BOUND / facets).mean()), float((free.max(axis=1) > 1 - AT_BOUND).mean())


def verdict(found: Diagnosis) -> str:
    """One or two sentences: what the reward can tell, and what to do."""
    seen = found.found
    told = np.flatnonzero(seen.told)
    if not told.size:
        sentence = (
            "The reward cannot tell these facets apart within this budget: no facet differs from the others "
            f"by more than luck, and a difference below {typical(seen.smallest):.2f} would probably have "
            f"gone unseen; {USE_INSTEAD}."
        )
        if found.high > OFTEN or found.low > OFTEN:
            sentence += " Where π went nevertheless is luck."
        return sentence
    order = sorted(told.tolist(), key=lambda place: -abs(seen.difference[place] / seen.error[place]))
    names = [
        f"{found.facets[place]} ({signed(float(seen.difference[place]))} ± {seen.error[place]:.2f})"
        for place in order
    ]
    rest = len(found.facets) - told.size
    first = f"The reward tells {listed(names)} from the others."
    if not rest:
        return first
    return f"{first} It cannot tell the other {plural(rest, 'facet')} from each other within this budget."


def signal(seen: Differences) -> float:
    """Standard deviation of the true differences: what the measured ones have beyond their errors."""
    return math.sqrt(max(0.0, float(np.nanmean(seen.difference**2 - seen.error**2))))


def typical(values: Floats) -> float:
    return float(np.nanmedian(values))


def without_rewards(run: Run) -> str:
    """Why there is nothing to diagnose, and what a policy that measures has said."""
    schedule = load_recipe(run.directory / RECIPE).schedule
    if len(run.facets) < 2 and schedule.draws != "whole":
        return f"{run.name} has one facet, so there is nothing to tell apart."
    if schedule.step_reward is not None and schedule.draws != "facet":
        return (
            f"{run.name} ({schedule.label}) mixes facets in each batch: a reward belongs to none of them, so "
            "the log cannot show what the reward says about each. Train with schedule.batches: homogeneous "
            "to see it."
        )
    if schedule.step_reward is not None:
        return (
            f"{run.name} has too few rewards yet ({FEWEST} for each facet are the least); look again later."
        )
    if schedule.row.signal == NOTHING:
        return f"{run.name} ({schedule.label}) learns from nothing: it has no rewards to diagnose."
    said = [
        f"{run.name} ({schedule.label}) does not learn from the rewards of single steps, but from "
        "measurements of all facets."
    ]
    said += (
        ["What it changed, and why:", *run.news] if run.news else ["It logged no notable change of shares."]
    )
    return "\n".join(said)


def diagnosis_text(run: Run) -> str:
    """The answer for a terminal, verdict first."""
    found = diagnose(run)
    if found is None:
        return without_rewards(run)
    console = Console(width=110, highlight=False, color_system=None)
    with console.capture() as capture:
        console.print(Text(verdict(found)))
        console.print()
        console.print(facet_table(found))
        console.print()
        for line in figures(found):
            console.print(Text(f"- {line}"))
    return capture.get().rstrip("\n")


def facet_table(found: Diagnosis) -> Table:
    """The facets that differ most from the others."""
    seen = found.found
    table = Table(box=None, pad_edge=False)
    columns = (
        "facet",
        "draws",
        "mean reward",
        "noise",
        "less the others",
        "error",
        "smallest visible",
        "told",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "facet" else "right")
    for place in ordered(seen)[:TOP]:
        table.add_row(
            Text(found.facets[place]),
            f"{seen.draws[place]:,}",
            number(found.mean[place], "+.3f"),
            number(found.deviation[place], ".2f"),
            number(seen.difference[place], "+.3f"),
            number(seen.error[place], ".3f"),
            number(seen.smallest[place], ".2f"),
            "yes" if seen.told[place] else "no",
        )
    if len(found.facets) > TOP:
        table.add_row(Text(f"{len(found.facets) - TOP} others"))
    return table


def ordered(seen: Differences) -> Sequence[int]:
    size = np.nan_to_num(np.abs(seen.difference) / np.maximum(seen.error, 1e-300), nan=-1.0)
    order: list[int] = np.argsort(-size, kind="stable").tolist()
    return order


def number(value: float, pattern: str) -> str:
    return "–" if np.isnan(value) else f"{value:{pattern}}".replace("-", "−")


def figures(found: Diagnosis) -> Iterator[str]:
    """What the verdict rests on, one line each."""
    seen, schedule = found.found, found.schedule
    unit = "scaled reward" if schedule.row.scaler.clips else "reward as measured"
    yield (
        f"{found.rewards:,} rewards ({schedule.label}; all figures are of the {unit}), worth "
        f"{seen.independent:,.0f} independent ones; {found.dropped:,} dropped."
    )
    raw = f", or {typical(seen.smallest) * found.per_unit:.2g} of the raw reward" * schedule.row.scaler.clips
    yield (
        f"Noise of a single reward: {seen.noise:.2f}. A facet is noticed with {POWER:.0%} probability if it "
        f"differs from the others by {typical(seen.smallest):.2f} (median facet{raw})."
    )
    yield f"How much the facets really differ, errors taken off: about {signal(seen):.2f}."
    if schedule.row.scaler.clips:
        yield f"Clipped rewards: {found.clipped:.0%}; the quantiles imply {found.intended:.0%}."
    yield (
        f"π: one facet at its upper bound at {found.high:.0%} of the log points; on average {found.low:.0%} "
        "of the facets at their lower bound."
    )
    yield (
        f"“Told” allows a risk of {RISK:.0%} of any false “yes”. Each facet is compared with the others at "
        "the same time, so a drift of the rewards does not count."
    )
    if not found.replayed:
        yield "π between log points had to be guessed, since the log does not follow from its settings alone."
