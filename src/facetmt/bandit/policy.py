"""What every policy offers, the pull it answers with, and static sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Probs = npt.NDArray[np.float64]  # [arms]
Credit = Sequence[tuple[int, float]]  # sparse x of the update w += μ·y·x
State = dict[str, Any]  # JSON-serialisable


@dataclass(frozen=True, slots=True)
class Pull:
    """The arm that was drawn, and the exact probability it was drawn with; or a composition of many."""

    arm: int  # of a composition: the facet with the most rows
    prob: float  # of a composition: 1
    rows: tuple[int, ...] | None = None  # of each facet in the batch, where it is a composition
    shared: Credit = ()  # a composition's credit

    @property
    def credit(self) -> Credit:
        """x = 1[a]/π(a), fixed when the pull is drawn, so that late feedback stays unbiased."""
        return ((self.arm, 1.0 / self.prob),) if self.rows is None else self.shared


class Policy(Protocol):
    """A distribution over arms that learns from scaled rewards."""

    @property
    def arms(self) -> int:
        """The number of arms n."""

    def probs(self) -> Probs:
        """The distribution π that the next pull is drawn from; the caller must not write to it."""

    def update(self, credit: Credit, reward: float) -> None:
        """Learn from one reward y in [-1, 1]."""

    def state(self) -> State:
        """All that was learned."""

    def restore(self, state: Mapping[str, Any], arms: Sequence[int | None]) -> None:
        """Continue from `state`; `arms[i]` is the arm of the saved policy that is arm i here, None if new."""


def temperature_probs(sizes: Sequence[float] | npt.NDArray[Any], tau: float) -> Probs:
    """p(f) ∝ p̂(f)^(1/τ): τ=1 proportional, 5 upsampled, ∞ uniform, −1 inverse (paper, footnote 1)."""
    counts = np.asarray(sizes, dtype=np.float64)
    if counts.ndim != 1 or counts.size == 0 or not np.all(np.isfinite(counts)) or np.any(counts <= 0):
        raise ValueError("sizes must be a non-empty list of positive finite numbers")
    if tau == 0 or math.isnan(tau):
        raise ValueError("tau must be a number other than 0; use inf for uniform sampling")
    with np.errstate(over="ignore"):  # a tiny |tau| rightly puts everything on one facet
        logits = np.clip(np.log(counts / counts.max()) / tau, -1e300, 1e300)
    return softmax(logits)


def softmax(weights: Probs) -> Probs:
    """exp(w)/Σexp(w) with the maximum subtracted first: weights pass 1,800 in practice."""
    shares: Probs = np.exp(weights - weights.max())
    shares /= shares.sum()
    return shares


def draw(probs: Probs, rng: np.random.Generator) -> Pull:
    """Draw one arm by inverting the cumulative distribution with one uniform number."""
    cumulative = probs.cumsum()
    arm = int(cumulative.searchsorted(rng.random() * cumulative[-1], side="right"))
    return Pull(arm, float(probs[arm]))


def frozen(probs: Probs) -> Probs:
    """Probabilities are shared, not copied; nobody may write to them."""
    probs.flags.writeable = False
    return probs


class Static:
    """A fixed distribution, learning nothing: the paper's static baselines."""

    def __init__(self, probs: Sequence[float] | npt.NDArray[Any]) -> None:
        self._probs = frozen(checked_probs(probs))

    @property
    def arms(self) -> int:
        return self._probs.size

    def probs(self) -> Probs:
        return self._probs

    def update(self, credit: Credit, reward: float) -> None:
        """Rewards are ignored."""

    def state(self) -> State:
        return {"kind": "static"}

    def restore(self, state: Mapping[str, Any], arms: Sequence[int | None]) -> None:
        check_kind(state, "static")


def checked_probs(probs: Sequence[float] | npt.NDArray[Any]) -> Probs:
    """The distribution as a fresh array; ValueError where it is none."""
    values = np.array(probs, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError("probabilities must be a non-empty list of finite numbers, none below 0")
    if abs(values.sum() - 1.0) > 1e-6:
        raise ValueError(f"probabilities must sum to 1, not {values.sum():g}")
    values /= values.sum()
    return values


def check_kind(state: Mapping[str, Any], kind: str) -> None:
    """A state of another policy must not be taken for one of this kind."""
    if state.get("kind") != kind:
        raise ValueError(f"this is the state of a {state.get('kind')!r} policy, not of {kind!r}")
