"""What a policy learns from: nothing, the reward of each step, or regular measurements of all facets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from facetmt.bandit import FacetScheduler, Pull
from facetmt.bandit.auto import Auto
from facetmt.bandit.reward import RewardRow
from facetmt.bandit.schedules import NOTHING, REWARD
from facetmt.data.config import BatchConfig
from facetmt.data.prepared import Prepared
from facetmt.data.sampler import DevSampler, Sampler
from facetmt.model.transformer import Graph, Params
from facetmt.recipe import Recipe
from facetmt.train.alignment import Alignment
from facetmt.train.evidence import Evidence
from facetmt.train.feed import HeldBatch
from facetmt.train.place import Placement
from facetmt.train.state import TrainState
from facetmt.train.step import Metrics


class Opened(NamedTuple):
    """The parts of a run that a signal is made from."""

    recipe: Recipe
    prepared: Prepared
    scheduler: FacetScheduler
    sampler: Sampler
    graph: Graph
    exact: Graph  # the same in float32, for small differences that bfloat16 would round away
    placement: Placement


class Outcome(NamedTuple):
    """The result of a step as logged in pulls.csv; NaN where it was not measured or was dropped."""

    before: float
    after: float = math.nan
    raw: float = math.nan
    scaled: float = math.nan


class Signal(Protocol):
    """Teaches the scheduler. The loop calls it around each step and knows nothing else about the policy."""

    @property
    def reward(self) -> RewardRow | None:
        """Whose passes the step makes; None: no pass but the training's own."""

    def before_step(self, step: int, state: TrainState) -> Sequence[str]:
        """Called before the pull of each step; returns sentences for the user."""

    def dev(self, step: int) -> tuple[Any, bool]:
        """The dev batch that the step looks at, on the device, and whether it is a new one."""

    def settle(self, pull: Pull, metrics: Metrics) -> Outcome:
        """Process the figures of a step once they are known."""

    def state(self) -> dict[str, Any] | None:
        """Everything positional, ready for JSON."""

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Continue as saved."""


class Nothing:
    """The policy learns nothing; the log has the training loss."""

    reward: RewardRow | None = None

    def __init__(self, opened: Opened) -> None:
        self._scheduler = opened.scheduler

    def before_step(self, step: int, state: TrainState) -> Sequence[str]:
        """Nothing to measure."""
        return ()

    def dev(self, step: int) -> tuple[Any, bool]:
        return None, False

    def settle(self, pull: Pull, metrics: Metrics) -> Outcome:
        return Outcome(metrics.loss)

    def state(self) -> dict[str, Any] | None:
        return None

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Nothing was saved."""


class StepReward(Nothing):
    """The paper's rewards: progress on the training batch, or on a dev batch that is held for some steps."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened)
        recipe = opened.recipe
        self.reward = recipe.schedule.step_reward
        self._sampler: DevSampler | None = None
        if self.reward is not None and self.reward.batch == "dev":
            rows = dev_rows(recipe)
            shape = BatchConfig(
                rows=rows, length=recipe.batch.length, target_length=recipe.batch.target_length
            )
            share = opened.placement.share(rows)
            self._sampler = DevSampler(opened.prepared.dev, shape, recipe.seed, share.rows)
            self._held = HeldBatch(self._sampler, share.put, recipe.train.dev_hold)

    def dev(self, step: int) -> tuple[Any, bool]:
        return (None, False) if self._sampler is None else self._held.get(step)

    def settle(self, pull: Pull, metrics: Metrics) -> Outcome:
        """An update that was skipped made no progress that could be rewarded: it is dropped and counted."""
        before, after = (metrics.before, metrics.after) if metrics.finite else (math.nan, math.nan)
        record = self._scheduler.feedback(pull, before=before, after=after)
        return Outcome(record.before, record.after, record.raw, record.scaled)

    def state(self) -> dict[str, Any] | None:
        return None if self._sampler is None else self._sampler.state()

    def restore(self, state: Mapping[str, Any] | None) -> None:
        if self._sampler is not None:
            if state is None:
                raise KeyError("dev_sampler")
            self._sampler.restore(state)


class Measurement(Protocol):
    """One number per facet at the given parameters."""

    def __call__(self, params: Params) -> Sequence[float]: ...
    def state(self) -> dict[str, Any] | None: ...
    def restore(self, state: Mapping[str, Any] | None) -> None: ...


class Measured(Nothing):
    """All facets are measured every `schedule.probe_every` steps."""

    def __init__(self, opened: Opened, measurement: Measurement) -> None:
        super().__init__(opened)
        self._measurement, self._every = measurement, opened.recipe.schedule.probe_every

    def before_step(self, step: int, state: TrainState) -> Sequence[str]:
        if step % self._every == 0:
            self._scheduler.measured(self._measurement(state.params))
        return ()

    def state(self) -> dict[str, Any] | None:
        return self._measurement.state()

    def restore(self, state: Mapping[str, Any] | None) -> None:
        self._measurement.restore(state)


def alignment(opened: Opened) -> Signal:
    """MultiDDS-S's gradient similarity."""
    recipe = opened.recipe
    found = Alignment(opened.graph, opened.prepared, recipe.batch, recipe.seed, opened.placement)
    return Measured(opened, found)


class Watched(Nothing):
    """`auto`: the facets are measured in log time, and the policy says what it makes of it."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened)
        policy = opened.scheduler.policy
        if not isinstance(policy, Auto):
            raise TypeError(f"{type(policy).__name__} cannot use this evidence")
        self._evidence = Evidence(
            opened.recipe, opened.prepared, opened.exact, opened.placement, policy, opened.sampler.epochs
        )

    def before_step(self, step: int, state: TrainState) -> Sequence[str]:
        return self._evidence(step, state)

    def state(self) -> dict[str, Any] | None:
        return self._evidence.state()

    def restore(self, state: Mapping[str, Any] | None) -> None:
        self._evidence.restore(state)


# By the name that a row of the table of schedules gives.
SIGNALS: dict[str, Callable[[Opened], Signal]] = {
    NOTHING: Nothing,
    REWARD: StepReward,
    "alignment": alignment,
    "evidence": Watched,
}


def make_signal(opened: Opened) -> Signal:
    """The signal of the recipe's policy."""
    return SIGNALS[opened.recipe.schedule.row.signal](opened)


def dev_rows(recipe: Recipe) -> int:
    """Rows of a dev batch."""
    return recipe.train.dev_rows or max(1, recipe.batch.rows // 8)
