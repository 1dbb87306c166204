"""Online data mixing (Albalak et al. 2023): EXP3 with decaying exploration and a matching learning rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from facetmt.bandit.exp3 import WEIGHT_LIMIT
from facetmt.bandit.policy import Credit, Probs, State, check_kind, frozen, softmax
from facetmt.bandit.reward import QuantileScaler


class Odm:
    """π_i = (1 − K·ε_t)·softmax(ε_{t−1}·R̂)_i + ε_t;  R̂_i += y/π_i for the arm that was drawn."""

    kind = "odm"

    def __init__(self, arms: int) -> None:
        if arms < 1:
            raise ValueError("a bandit needs at least one arm")
        self._returns = np.zeros(arms)  # R̂ [arms]
        self._updates = 0  # t − 1
        self._probs: Probs | None = None

    @property
    def arms(self) -> int:
        return self._returns.size

    @property
    def exploration(self) -> float:
        """ε_t, the least probability of any arm now."""
        return exploration(self.arms, self._updates + 1)

    def probs(self) -> Probs:
        if self._probs is None:
            # Only differences of returns matter; taken first, they stay exact where ε·R̂ would lose digits.
            mixed = softmax(exploration(self.arms, self._updates) * (self._returns - self._returns.max()))
            mixed *= max(0.0, 1.0 - self.arms * self.exploration)
            mixed += self.exploration
            self._probs = frozen(mixed)
        return self._probs

    def update(self, credit: Credit, reward: float) -> None:
        for arm, share in credit:
            total = float(self._returns[arm]) + reward * share
            self._returns[arm] = min(max(total, -WEIGHT_LIMIT), WEIGHT_LIMIT)
        self._updates += 1
        self._probs = None

    def state(self) -> State:
        return {"kind": self.kind, "weights": self._returns.tolist(), "updates": self._updates}

    def restore(self, state: Mapping[str, Any], arms: Sequence[int | None]) -> None:
        check_kind(state, self.kind)
        saved = np.asarray(state["weights"], dtype=np.float64)
        self._updates = int(state["updates"])
        newcomer = mean_return(saved, arms, exploration(len(arms), self._updates))
        self._returns = np.array([newcomer if arm is None else saved[arm] for arm in arms])
        self._probs = None


def exploration(arms: int, t: int) -> float:
    """ε_t = min{1/K, sqrt(ln K/(K·t))}: uniform at first, then ever less; ε_0 = 1/K."""
    return 1.0 / arms if t < 1 else min(1.0 / arms, math.sqrt(math.log(arms) / (arms * t)))


def mean_return(saved: Probs, arms: Sequence[int | None], rate: float) -> float:
    """The return of a new arm whose share of softmax(rate·R̂) is exactly 1/n."""
    kept = saved[[arm for arm in arms if arm is not None]]
    if not kept.size or rate == 0.0:
        return 0.0
    best = float(kept.max())
    return best + math.log(float(np.exp(rate * (kept - best)).mean())) / rate


class AsMeasured(QuantileScaler):
    """Rewards reach the policy as measured, because ODM learns from the plain loss; health still counts."""

    clips = False

    def scale(self, reward: float) -> float:
        super().scale(reward)
        return reward
