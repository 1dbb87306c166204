"""The six rewards of the paper (section 2) and their scaling to [-1, 1]."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from facetmt.bandit.policy import State

Reward = Callable[[float, float], float]  # (loss before, loss after) -> raw reward


def loss(before: float, after: float) -> float:
    """L(θ^t) of the training batch, which the step computes anyway."""
    return before


def pg(before: float, after: float) -> float:
    """Prediction gain: L(θ^t) − L(θ^{t+1})."""
    return before - after


def pgnorm(before: float, after: float) -> float:
    """Relative prediction gain: 1 − L(θ^{t+1})/L(θ^t)."""
    return 1.0 - after / before if before != 0 else math.nan


def dev_loss(before: float, after: float) -> float:
    """L(θ^{t+1}) of the development batch, after the update."""
    return after


@dataclass(frozen=True, slots=True)
class RewardRow:
    """A reward: its function, the batch whose losses it compares, and the passes they need."""

    function: Reward
    batch: Literal["train", "dev"]
    before: bool = False  # a pass before the update; the training batch's loss is known without one
    after: bool = True  # a pass after the update
    relative: bool = False  # free of the scale of the loss, which falls in training

    def __call__(self, before: float, after: float) -> float:
        return self.function(before, after)


REWARDS: dict[str, RewardRow] = {
    "loss": RewardRow(loss, "train", after=False),
    "pg": RewardRow(pg, "train"),
    "pgnorm": RewardRow(pgnorm, "train", relative=True),
    "dev-loss": RewardRow(dev_loss, "dev"),
    "dev-pg": RewardRow(pg, "dev", before=True),
    "dev-pgnorm": RewardRow(pgnorm, "dev", before=True, relative=True),
}


class QuantileScaler:
    """Clip to two quantiles of the latest raw rewards, then map linearly to [-1, 1]."""

    clips: ClassVar[bool] = True  # whether what the policy learns from is clipped

    def __init__(self, window: int = 5000, low: float = 0.2, high: float = 0.8) -> None:
        if window < 1:
            raise ValueError(f"window must be at least 1, not {window}")
        if not 0 <= low < high <= 1:
            raise ValueError(f"quantiles must satisfy 0 <= low < high <= 1, not {low} and {high}")
        self.window, self.low, self.high = window, low, high
        self._recent: deque[float] = deque()
        self._sorted: list[float] = []  # the same rewards in order: two bisections per step, never a sort
        self._clipped: deque[bool] = deque(maxlen=window)
        self._clipped_count = 0

    def scale(self, reward: float) -> float:
        """Take a finite raw reward into the window; 2·(clip(y, q_lo, q_hi) − q_lo)/(q_hi − q_lo) − 1."""
        if not math.isfinite(reward):
            raise ValueError(f"only finite rewards can be scaled, not {reward}")
        self._add(reward)
        lower, upper = self.bounds()
        spread = upper - lower
        # a flat window says nothing about this reward; two infinitely distant bounds cannot be told apart
        if spread <= 0 or not math.isfinite(spread):
            scaled = 0.0
        else:
            scaled = 2.0 * (min(max(reward, lower), upper) - lower) / spread - 1.0
        self._count_clipped(abs(scaled) == 1.0)
        return scaled

    def bounds(self) -> tuple[float, float]:
        """The two clipping quantiles of the window (linear interpolation, as NumPy's default)."""
        if not self._sorted:
            return 0.0, 0.0
        return quantile(self._sorted, self.low), quantile(self._sorted, self.high)

    @property
    def saturation(self) -> float:
        """Share of the latest rewards clipped as they came: low + (1 − high) while the stream is steady."""
        return self._clipped_count / len(self._clipped) if self._clipped else 0.0

    def _add(self, reward: float) -> None:
        if len(self._recent) == self.window:
            del self._sorted[bisect_left(self._sorted, self._recent.popleft())]
        self._recent.append(reward)
        insort(self._sorted, reward)

    def _count_clipped(self, clipped: bool) -> None:
        if len(self._clipped) == self.window:
            self._clipped_count -= self._clipped[0]
        self._clipped.append(clipped)
        self._clipped_count += clipped

    def state(self) -> State:
        return {"recent": list(self._recent), "clipped": [int(flag) for flag in self._clipped]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`; a smaller window keeps the latest rewards."""
        self._recent = deque([float(reward) for reward in state["recent"]][-self.window :])
        self._sorted = sorted(self._recent)
        self._clipped = deque((bool(flag) for flag in state["clipped"]), maxlen=self.window)
        self._clipped_count = sum(self._clipped)


def quantile(ordered: list[float], share: float) -> float:
    """The value at `share` of the way through an ordered list, interpolated between neighbours."""
    position = share * (len(ordered) - 1)
    index = int(position)
    fraction = position - index
    below = ordered[index]
    above = ordered[index + 1] if fraction else below
    # equal neighbours must give exactly their value, or rounding would make a flat window look spread
    return below if below == above else below * (1.0 - fraction) + above * fraction
