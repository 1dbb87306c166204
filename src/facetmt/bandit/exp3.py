"""EXP3 (paper, Algorithm 1) and EXP3.S (Graves et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from facetmt.bandit.policy import Credit, Probs, State, check_kind, checked_probs, frozen, softmax

WEIGHT_LIMIT = 1e300  # with exploration 0 one step may overflow; differences of weights must stay finite


class Exp3:
    """π(a) = (1−γ)·softmax(w)_a + γ/n;  w_a += μ·y/π(a) for the arm that was drawn."""

    kind = "exp3"

    def __init__(
        self,
        arms: int,
        *,
        learning_rate: float = 0.1,
        exploration: float = 0.25,
        prior: Sequence[float] | npt.NDArray[Any] | None = None,
    ) -> None:
        if arms < 1:
            raise ValueError("a bandit needs at least one arm")
        if not (learning_rate > 0 and math.isfinite(learning_rate)):
            raise ValueError(f"learning_rate must be positive, not {learning_rate}")
        if not 0 <= exploration <= 1:
            raise ValueError(f"exploration must lie between 0 and 1, not {exploration}")
        self.learning_rate = learning_rate
        self.exploration = exploration
        self._weights = np.zeros(arms) if prior is None else prior_weights(arms, prior)
        self._probs: Probs | None = None

    @property
    def arms(self) -> int:
        return self._weights.size

    @property
    def weights(self) -> Probs:
        """A copy of the logits w."""
        return self._weights.copy()

    def probs(self) -> Probs:
        if self._probs is None:
            # π(a) = (1−γ)·exp(w_a)/Σexp(w) + γ/n
            mixed = softmax(self._weights)
            mixed *= 1.0 - self.exploration
            mixed += self.exploration / self.arms
            self._probs = frozen(mixed)
        return self._probs

    def update(self, credit: Credit, reward: float) -> None:
        self._add(credit, reward)
        self._probs = None

    def _add(self, credit: Credit, reward: float) -> None:
        for arm, share in credit:
            # w_a ← w_a + μ·y·x_a
            weight = float(self._weights[arm]) + self.learning_rate * reward * share
            self._weights[arm] = min(max(weight, -WEIGHT_LIMIT), WEIGHT_LIMIT)

    def state(self) -> State:
        return {"kind": self.kind, "weights": self._weights.tolist()}

    def restore(self, state: Mapping[str, Any], arms: Sequence[int | None]) -> None:
        check_kind(state, self.kind)
        self._weights = remap_weights(np.asarray(state["weights"], dtype=np.float64), arms)
        self._probs = None


class Exp3S(Exp3):
    """w_i ← log[(1−α)·exp(u_i) + α/(n−1)·Σ_{j≠i} exp(u_j)], u = w + μ·y·x, α = 1/t: can change its mind."""

    kind = "exp3s"

    def __init__(
        self,
        arms: int,
        *,
        learning_rate: float = 0.1,
        exploration: float = 0.25,
        prior: Sequence[float] | npt.NDArray[Any] | None = None,
    ) -> None:
        super().__init__(arms, learning_rate=learning_rate, exploration=exploration, prior=prior)
        self._updates = 0

    def update(self, credit: Credit, reward: float) -> None:
        self._add(credit, reward)
        self._updates += 1
        self._probs = None
        if self.arms > 1:
            self._weights = share_weights(self._weights, alpha=1.0 / self._updates)

    def state(self) -> State:
        return {**super().state(), "updates": self._updates}

    def restore(self, state: Mapping[str, Any], arms: Sequence[int | None]) -> None:
        super().restore(state, arms)
        self._updates = int(state["updates"])


def share_weights(weights: Probs, alpha: float) -> Probs:
    """log[(1−α)·exp(w_i) + α/(n−1)·Σ_{j≠i} exp(w_j)], finite for any finite weights."""
    arms = weights.size
    if alpha == 1.0:
        # nothing of an arm's own remains: the sum over the others may underflow, but its log does not
        others: Probs = np.logaddexp.reduce(np.where(np.eye(arms, dtype=bool), -np.inf, weights), axis=1)
        return others - math.log(arms - 1)
    best = weights.max()
    shares = np.exp(weights - best)  # the best arm's is 1, so that no argument of the log below is 0
    kept, given = 1.0 - alpha, alpha / (arms - 1)
    mixed: Probs = best + np.log((kept - given) * shares + given * shares.sum())
    return mixed


def prior_weights(arms: int, prior: Sequence[float] | npt.NDArray[Any]) -> Probs:
    """w = ln p, so that softmax(w) is the given prior (π is then its mixture with the uniform)."""
    probs = checked_probs(prior)
    if probs.size != arms:
        raise ValueError(f"the prior has {probs.size} probabilities for {arms} arms")
    if np.any(probs == 0):
        raise ValueError("a prior probability of 0 could never be unlearned; give every arm a positive one")
    weights: Probs = np.log(probs)
    return weights


def remap_weights(saved: Probs, arms: Sequence[int | None]) -> Probs:
    """Kept arms keep their odds against each other; a new arm starts with a share of exactly 1/n."""
    known = [arm for arm in arms if arm is not None]
    if not known:
        return np.zeros(len(arms))
    kept = saved[known]
    # softmax share 1/n for the newcomer ⇔ exp(w) is the mean of the kept exp(w)
    newcomer = kept.max() + math.log(np.exp(kept - kept.max()).mean())
    return np.array([newcomer if arm is None else saved[arm] for arm in arms])
