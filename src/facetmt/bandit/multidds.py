"""MultiDDS-S (Wang, Tsvetkov and Neubig 2020) behind the policy protocol, for comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from facetmt.bandit.exp3 import prior_weights, remap_weights
from facetmt.bandit.policy import Credit, Probs, State, check_kind, frozen, softmax

BETAS, EPSILON = (0.9, 0.999), 1e-8  # of Adam, which moves the logits


class MultiDds:
    """π = softmax(ψ);  ψ climbs Σ_i R(i)·∇ log π(i), where R(i) comes for all facets at once, as credit."""

    kind = "multidds"

    def __init__(
        self,
        arms: int,
        *,
        learning_rate: float = 0.1,
        updates: int = 1,
        prior: Sequence[float] | npt.NDArray[Any] | None = None,
    ) -> None:
        if arms < 1:
            raise ValueError("a policy needs at least one arm")
        if not (learning_rate > 0 and math.isfinite(learning_rate)):
            raise ValueError(f"learning_rate must be positive, not {learning_rate}")
        if updates < 1:
            raise ValueError(f"updates must be at least 1, not {updates}")
        self.learning_rate = learning_rate
        self.updates = updates  # steps of Adam per measurement
        self._logits = np.zeros(arms) if prior is None else prior_weights(arms, prior)
        self._first, self._second = np.zeros(arms), np.zeros(arms)
        self._steps = 0
        self._probs: Probs | None = None

    @property
    def arms(self) -> int:
        return self._logits.size

    def probs(self) -> Probs:
        if self._probs is None:
            self._probs = frozen(softmax(self._logits))
        return self._probs

    def update(self, credit: Credit, reward: float) -> None:
        """`credit` holds (i, R(i)); `reward` scales all of them."""
        gain = np.zeros(self.arms)
        for arm, value in credit:
            gain[arm] += reward * min(max(value, -1e6), 1e6)
        for _ in range(self.updates):
            self._climb(gain)

    def _climb(self, gain: Probs) -> None:
        """One step of Adam; π moves with each step, so its gradient is recomputed."""
        # Σ_i R(i)·∇ log π(i) = R − (Σ R)·π
        slope = gain - gain.sum() * self.probs()
        self._steps += 1
        self._first += (1 - BETAS[0]) * (slope - self._first)
        self._second += (1 - BETAS[1]) * (slope**2 - self._second)
        first = self._first / (1 - BETAS[0] ** self._steps)
        second = self._second / (1 - BETAS[1] ** self._steps)
        self._logits = self._logits + self.learning_rate * first / (np.sqrt(second) + EPSILON)
        self._probs = None

    def state(self) -> State:
        moments = {"first": self._first.tolist(), "second": self._second.tolist()}
        return {"kind": self.kind, "weights": self._logits.tolist(), **moments, "updates": self._steps}

    def restore(self, state: Mapping[str, Any], arms: Sequence[int | None]) -> None:
        check_kind(state, self.kind)
        self._logits = remap_weights(np.asarray(state["weights"], dtype=np.float64), arms)
        self._first, self._second = (
            np.array([0.0 if arm is None else state[name][arm] for arm in arms])
            for name in ("first", "second")
        )
        self._steps = int(state["updates"])
        self._probs = None
