"""Replay: what another policy would have drawn, given the rewards that a run logged (off-policy estimate)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from facetmt.bandit import REWARDS, FacetScheduler, Policy, Pull, QuantileScaler
from facetmt.bandit.config import ScheduleConfig, build_scheduler
from facetmt.bandit.schedules import NOTHING, REWARD, Corpus
from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.runlog import FACETS, RECIPE, Pulls, Run

Floats = npt.NDArray[np.float64]

POINTS = 500  # of the replayed π, which is averaged over them for the shares
REPLICATES = 20  # bootstrap replays behind the intervals
BLOCKS = 50  # of the log, resampled as wholes for the mean reward's interval: neighbours are not independent
INTERVAL = (0.025, 0.975)
CANNOT_SAY = (
    "The rewards were earned by a model that trained under the logged curriculum; another curriculum would "
    "have trained another model, which would have earned other rewards: the further the two drift apart, the "
    "less the answer means.",
    "Rewards are scaled by the window of the logged rewards, not of those that the other policy would see.",
    "It says nothing about BLEU: only training can.",
)


@dataclass(frozen=True)
class ReplayedShare:
    """What a facet would have got of the batches."""

    facet: str
    logged: float  # share of the batches in the log
    replayed: float  # mean of the other policy's π
    low: float  # range over bootstrap replays, which shows the luck of the draws
    high: float


@dataclass(frozen=True)
class Replay:
    """The answer, its uncertainty, and its limits."""

    schedule: ScheduleConfig
    steps: int
    shares: tuple[ReplayedShare, ...]  # the most drawn first
    prob_step: npt.NDArray[np.int64]  # [points]
    probs: Floats  # [points, facets]: the other policy's π along the log
    logged_reward: float  # mean scaled reward in the log, by the replayed reward and scale
    reward: float  # what the other policy would have earned: Σ w·y/Σ w, w = π'(a)/π(a)
    error: float  # its standard error
    low: float  # its 95 % interval, by block bootstrap
    high: float
    effective: float  # effective sample size (Σ w)²/Σ w²; near 1 the log says nothing about this policy
    cautions: tuple[str, ...]


def replay(run: Run | Path, *, seed: int = 1, replicates: int = REPLICATES, **settings: Any) -> Replay:
    """Replay a run's log with other `schedule` settings: policy, reward, learning_rate, exploration, ..."""
    opened = run if isinstance(run, Run) else Run(Path(run))
    old = load_recipe(opened.directory / RECIPE).schedule
    pulls = opened.pulls
    if old.draws != "facet" or not pulls.step.size:
        raise UserError(
            f"{opened.directory}: no batch was drawn from a single facet, so there is nothing to replay; "
            "name a run that draws one facet per batch"
        )
    new = changed(old, settings)
    scaled = scaled_rewards(raw_rewards(opened, old, new, pulls), new_scheduler(opened, new).scaler)
    rng = np.random.Generator(np.random.PCG64(seed))
    path = follow(new_scheduler(opened, new).policy, pulls, scaled, new.feedback_lag, np.ones(len(scaled)))
    luck = [
        follow(
            new_scheduler(opened, new).policy,
            pulls,
            scaled,
            new.feedback_lag,
            rng.poisson(1.0, len(scaled)),
            weigh=False,
        )
        for _ in range(replicates)
    ]
    return summed_up(new, pulls, scaled, path, np.array([one.probs.mean(axis=0) for one in luck]), rng)


def changed(old: ScheduleConfig, settings: Mapping[str, Any]) -> ScheduleConfig:
    """The schedule with the given settings; None leaves a setting as it was."""
    given = {key: value for key, value in settings.items() if value is not None}
    if unknown := given.keys() - vars(old).keys():
        raise UserError(f"schedule: there is no setting {', '.join(sorted(unknown))}; see docs/recipes.md")
    try:
        new = replace(old, **given)
    except (TypeError, ValueError) as error:
        raise UserError(f"schedule: {error}") from error
    if new.draws != "facet" or new.row.signal not in (NOTHING, REWARD):
        raise UserError(
            f"schedule: {new.label} does not draw one facet per batch and learn from that batch alone, so it "
            "cannot be replayed; choose another policy"
        )
    return new


def raw_rewards(run: Run, old: ScheduleConfig, new: ScheduleConfig, pulls: Pulls) -> Floats:
    """The other reward from the logged losses, if they are those that it needs."""
    # without a reward the log has the training loss
    logged = "train" if old.step_reward is None else old.step_reward.batch
    if REWARDS[new.reward].batch != logged:
        where = {"dev": "a dev batch", "train": "the training batch"}[logged]
        other = [name for name, row in REWARDS.items() if row.batch == logged]
        raise UserError(
            f"{run.directory}: it logged losses of {where}, so {new.reward} cannot be replayed; "
            f"choose one of {', '.join(other)}"
        )
    reward = REWARDS[new.reward]
    pairs = zip(pulls.before.tolist(), pulls.after.tolist(), strict=True)
    values = np.array([reward(before, after) for before, after in pairs])
    if not np.isfinite(values).any():
        raise UserError(
            f"{run.directory}: it did not log the losses that {new.reward} needs; replay another reward"
        )
    return values


def scaled_rewards(raw: Floats, scaler: QuantileScaler) -> Floats:
    """[steps] in [−1, 1]; NaN where the reward is dropped, as in the scheduler."""
    return np.array([scaler.scale(value) if math.isfinite(value) else math.nan for value in raw.tolist()])


def new_scheduler(run: Run, schedule: ScheduleConfig) -> FacetScheduler:
    """The scheduler that training would have had."""
    sizes = [int(run.facet_table.get(name, {}).get("train", 0)) for name in run.facets]
    if not all(sizes):
        if schedule.row.needs(schedule):
            raise UserError(
                f"{run.directory / FACETS}: the sizes of the facets are missing, which {schedule.policy} "
                "needs; choose another policy"
            )
        sizes = [1] * len(run.facets)
    return build_scheduler(schedule, Corpus(run.facets, sizes), seed=0)


@dataclass(frozen=True)
class Trail:
    """The other policy along the log."""

    step: npt.NDArray[np.int64]  # [points]
    probs: Floats  # [points, facets]
    weight: Floats  # [steps] π'(a)/π(a) of the logged draw; empty if only π was asked for


def follow(
    policy: Policy, pulls: Pulls, scaled: Floats, lag: int, times: npt.NDArray[Any], weigh: bool = True
) -> Trail:
    """Teach the policy the log: w += μ·y·1[a]/π(a) with the logged π, unbiased for every arm's reward."""
    chosen = set(np.linspace(0, len(scaled) - 1, min(len(scaled), POINTS)).round().astype(int).tolist())
    steps, probs, weights = [], [], []
    columns = zip(pulls.step.tolist(), pulls.facet.tolist(), pulls.prob.tolist(), strict=True)
    path = taught(policy, pulls, scaled * times, lag)
    for index, ((step, arm, prob), now) in enumerate(zip(columns, path, strict=True)):
        if index in chosen:
            steps.append(step)
            probs.append(now)
        if weigh:
            weights.append(float(now[arm]) / prob)
    return Trail(np.array(steps), np.array(probs), np.array(weights))


def taught(policy: Policy, pulls: Pulls, scaled: Floats, lag: int) -> Iterator[Floats]:
    """π before each pull of the log, as the policy is taught one reward after the other."""
    waiting: deque[tuple[Pull, float]] = deque()
    columns = zip(pulls.facet.tolist(), pulls.prob.tolist(), scaled.tolist(), strict=True)
    for arm, prob, reward in columns:
        yield policy.probs()
        waiting.append((Pull(arm, prob), reward))
        while len(waiting) > lag:
            pull, value = waiting.popleft()
            if math.isfinite(value):
                policy.update(pull.credit, value)


def summed_up(
    schedule: ScheduleConfig,
    pulls: Pulls,
    scaled: Floats,
    path: Trail,
    luck: Floats,
    rng: np.random.Generator,
) -> Replay:
    """Shares with their spread over replicates [replicates, facets]; the mean reward with its interval."""
    facets, known = len(pulls.names), np.isfinite(scaled)
    logged = np.bincount(pulls.facet, minlength=facets) / len(pulls.facet)
    replayed = path.probs.mean(axis=0)
    lucky = np.vstack([luck.reshape(-1, facets), replayed])
    low, high = lucky.min(axis=0), lucky.max(axis=0)
    shares = [
        ReplayedShare(pulls.names[arm], *(float(column[arm]) for column in (logged, replayed, low, high)))
        for arm in np.argsort(-replayed, kind="stable")
    ]
    weight, reward = path.weight[known], scaled[known]
    mean = float((weight * reward).sum() / weight.sum())
    # of a ratio of sums, by the delta method
    error = float(np.sqrt(((weight * (reward - mean)) ** 2).sum()) / weight.sum())
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    bottom, top = block_interval(weight, reward, rng)
    return Replay(
        schedule=schedule,
        steps=len(scaled),
        shares=tuple(shares),
        prob_step=path.step,
        probs=path.probs,
        logged_reward=float(reward.mean()),
        reward=mean,
        error=error,
        low=bottom,
        high=top,
        effective=effective,
        cautions=cautions(effective, int(known.sum())),
    )


def block_interval(weight: Floats, reward: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """95 % interval of Σ w·y/Σ w, by resampling stretches of the log."""
    stretches = min(BLOCKS, len(weight))
    products = np.array([part.sum() for part in np.array_split(weight * reward, stretches)])
    weights = np.array([part.sum() for part in np.array_split(weight, stretches)])
    drawn = rng.integers(stretches, size=(2000, stretches))
    low, high = np.quantile(products[drawn].sum(axis=1) / weights[drawn].sum(axis=1), INTERVAL)
    return float(low), float(high)


def cautions(effective: float, steps: int) -> tuple[str, ...]:
    share = effective / max(steps, 1)
    if share < 0.1:
        thin = (
            f"The log says little about this policy: its {steps:,} steps are worth {effective:,.0f} (the "
            "effective sample size), because the policy prefers facets that were rarely drawn.",
        )
        return (*thin, *CANNOT_SAY)
    return CANNOT_SAY


def replay_text(result: Replay, top: int = 20) -> str:
    """The answer for a terminal."""
    schedule = result.schedule
    name = f"{schedule.policy}, {schedule.reward}, μ {schedule.learning_rate:g}, γ {schedule.exploration:g}"
    table = Table(box=None, pad_edge=False)
    for column in ("facet", "logged", "replayed", "range of bootstrap replays"):
        table.add_column(column, justify="left" if column == "facet" else "right")
    for share in result.shares[:top]:
        spread = f"{share.low:.1%} – {share.high:.1%}"
        table.add_row(escape(share.facet), f"{share.logged:.1%}", f"{share.replayed:.1%}", spread)
    if len(result.shares) > top:
        table.add_row(f"{len(result.shares) - top} others", "", "", "")
    console = Console(width=110, highlight=False, color_system=None)
    with console.capture() as capture:
        console.print(f"Replay of {result.steps:,} steps with {name}: share of the batches\n")
        console.print(table)
        console.print(
            f"\nMean scaled reward: {result.reward:+.3f} ± {result.error:.3f} (95 % interval "
            f"{result.low:+.3f} to {result.high:+.3f}); logged {result.logged_reward:+.3f}. Effective "
            f"sample size {result.effective:,.0f} of {result.steps:,}."
        )
        console.print("\nWhat this cannot say:")
        for caution in result.cautions:
            console.print(f"- {caution}")
    return capture.get()
