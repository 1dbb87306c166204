"""`auto`: the shares of a mixture from what is measured of each facet, and nothing for the user to tune.

shares ∝ prior · slope · source use · alignment · repetition. Each factor is 1 until its evidence is beyond
its error. They move in log time: a change of shares by e takes about an e-fold of training. Only text that
makes no use of its sources loses its share at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from facetmt.bandit.evidence import Estimate, Mean, Slope, Values, columns, shrunk
from facetmt.bandit.policy import Credit, Probs, State, check_kind, checked_probs, frozen
from facetmt.bandit.rules import (
    LOWEST,
    USEFUL,
    alignment_drift,
    overfitting_drift,
    slope_target,
    use_target,
    usual_use,
    worn,
)

SLOPE, USE, ALIGNMENT, OVERFITTING, WORN = range(5)  # the rows of the log factors
DEV, SOURCES, ALIGNED = range(3)  # the kinds of measurement
FIRST, PAUSE = 50, 0.1  # step of the first measurement; steps to the next, as a part of those so far
COSTLIEST = 0.1  # measuring never takes more of the training than this, and less and less as it goes on
# shares follow their evidence as t², and an alignment of twice the mean with two e-folds per e-fold
SPEED = 2.0
NOTABLE, LARGE = 1.5, 0.25  # a sentence is due to a share that changes so much, and by this part of 1/n


class Auto:
    """A mixture that starts as `prior` and learns from measurements; `objective` says which facets count."""

    kind = "auto"

    def __init__(
        self,
        facets: Sequence[str],
        prior: Sequence[float] | npt.NDArray[Any],
        objective: Sequence[float] | npt.NDArray[Any] | None = None,
        groups: int = 1,
    ) -> None:
        self.facets = tuple(facets)
        self._prior = frozen(checked_probs(prior))
        weights = np.ones(self.arms) if objective is None else np.array(objective, dtype=np.float64)
        if len(self.facets) != self.arms or weights.shape != (self.arms,):
            raise ValueError(f"{len(self.facets)} facets, {self.arms} shares, objective {weights.shape}")
        if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not weights.any():
            raise ValueError("the objective must be weights of at least 0, one of them positive")
        self._counts = weights / weights.max()  # how much each facet counts, 0 to 1
        self.groups = groups  # of dev pairs of each facet, whose losses are told apart
        self._dev, self._use = Slope(self.arms, groups), Mean(self.arms)
        # an alignment apart from the mean of its measurement, and that mean: a measurement's direction is
        # a sample of the dev text, and what that does to all facets alike says nothing about any of them
        self._alignment, self._help = Mean(self.arms), Mean(1)
        self._epochs = np.zeros(self.arms)
        self._factors = np.zeros((5, self.arms))  # logs
        self._last = [0, 0, 0]  # steps of the latest measurements: DEV, SOURCES, ALIGNED
        self._told, self._told_shares = self._factors.copy(), self._prior
        self._probs: Probs | None = None

    @property
    def arms(self) -> int:
        return self._prior.size

    @property
    def counts(self) -> Values:
        """How much each facet counts, 0 to 1."""
        counts: Values = self._counts.copy()
        return counts

    @property
    def aligns(self) -> bool:
        """Whether alignment is worth measuring: only where few facets count."""
        return self._trust >= 0.5

    @property
    def _trust(self) -> float:
        """How far alignment is followed: 1 where one facet counts, 0 where all do.

        Among facets that count, one step misleads: it prefers what is learned quickly anyway.
        """
        many = float(self._counts.sum() ** 2 / (self._counts @ self._counts))  # how many count: 1 to n
        return (self.arms - many) / (self.arms - 1) if self.arms > 1 else 0.0

    def probs(self) -> Probs:
        if self._probs is None:
            logs = self._factors.sum(axis=0)
            if logs.any():
                shares = self._prior * np.exp(logs - logs.max())
                self._probs = frozen(shares / shares.sum())
            else:
                self._probs = self._prior  # without evidence to the bit
        return self._probs

    def update(self, credit: Credit, reward: float) -> None:
        """Rewards of single steps are ignored: their horizon is too short."""

    def observe_dev(self, step: int, losses: Values) -> list[str]:
        """Dev loss of each facet on the same rows each time, [groups, facets]; NaN without dev text."""
        self._check(step, *(losses if self.groups > 1 else np.reshape(losses, (1, -1))))
        self._dev.add(step, losses)
        slopes, passed = self._dev.estimate(), self._passed(DEV, step)
        self._follow_slopes(slopes, passed)
        self._stop_overfitting(slopes, passed)
        return self._news(step)

    def observe_use(self, step: int, use: Values, errors: Values) -> list[str]:
        """Rise of the loss of each facet's targets when the sources of its rows are swapped."""
        self._check(step, use, errors)
        self._use.add(step, use, errors)
        self._drop_useless(self._passed(SOURCES, step))
        return self._news(step)

    def observe_alignment(self, step: int, alignment: Values, errors: Values) -> list[str]:
        """One-step effect r of each facet on the loss of the objective; positive helps."""
        self._check(step, alignment, errors)
        measured = np.isfinite(alignment)
        if measured.any():
            # t·r, the effect of an e-fold of training: what a single step does fades with 1/t
            effect, error = step * alignment, step * errors
            mean = effect[measured].mean(keepdims=True)
            self._alignment.add(step, effect - mean, error)
            self._help.add(step, mean, np.sqrt(np.mean(error[measured] ** 2, keepdims=True)))
        self._follow_alignment(self._passed(ALIGNED, step))
        return self._news(step)

    def observe_epochs(self, step: int, epochs: Values) -> list[str]:
        """How often each facet's text was used so far."""
        self._check(step, epochs)
        self._epochs = np.array(epochs, dtype=np.float64)
        self._factors[WORN] = worn(self._epochs)
        self._probs = None
        return self._news(step)

    def _check(self, step: int, *measured: Values) -> None:
        if step < 1 or any(np.shape(values) != (self.arms,) for values in measured):
            raise ValueError(f"a measurement needs a step of at least 1 and {self.arms} values")

    def _passed(self, kind: int, step: int) -> float:
        """Δ ln t since the latest measurement of this kind; 0 for the first."""
        last, self._last[kind] = self._last[kind], step
        return math.log(step / last) if last else 0.0

    def _approach(self, kind: int, target: Values, passed: float) -> None:
        """dw/d ln t = 2·(target − w)."""
        self._factors[kind] += (1.0 - math.exp(-SPEED * passed)) * (target - self._factors[kind])
        self._probs = None

    def _drift(self, kind: int, drift: Values, passed: float) -> None:
        """dw/d ln t = 2·drift."""
        self._factors[kind] += SPEED * passed * drift
        self._probs = None

    def _follow_slopes(self, slopes: Estimate, passed: float) -> None:
        target = slope_target(slopes, self._counts)
        if target is not None:
            self._approach(SLOPE, target, passed)

    def _drop_useless(self, passed: float) -> None:
        """A share falls at once, and comes back in log time."""
        target = use_target(self._use.estimate(), self._counts)
        self._approach(USE, target, passed)
        np.minimum(self._factors[USE], target, out=self._factors[USE])

    def _follow_alignment(self, passed: float) -> None:
        """As far as it is trusted; the facet that helps most keeps its share."""
        if not self.aligns:
            return
        drift = alignment_drift(self._alignment.estimate(), self._help.estimate(), self._counts)
        if drift is not None:
            self._drift(ALIGNMENT, self._trust * drift, passed)
            self._factors[ALIGNMENT] -= self._factors[ALIGNMENT].max()
            np.maximum(self._factors[ALIGNMENT], LOWEST, out=self._factors[ALIGNMENT])

    def _stop_overfitting(self, slopes: Estimate, passed: float) -> None:
        """A facet whose dev loss rises while its text repeats loses an e-fold of share in half an e-fold."""
        self._drift(OVERFITTING, overfitting_drift(slopes, self._epochs), passed)
        np.clip(self._factors[OVERFITTING], LOWEST, 0.0, out=self._factors[OVERFITTING])

    def _news(self, step: int) -> list[str]:
        """A sentence for every facet whose share has changed notably since the last one about it."""
        changed = notable(self.probs(), self._told_shares)
        news = [f"step {step}: {self._sentence(facet)}" for facet in np.flatnonzero(changed).tolist()]
        self._told = np.where(changed, self._factors, self._told)
        self._told_shares = frozen(np.where(changed, self.probs(), self._told_shares))
        return news

    def _sentence(self, facet: int) -> str:
        share = float(self.probs()[facet])
        verb = "reduced" if share < self._told_shares[facet] else "raised"
        cause = main_cause(self._factors - self._told, self._told_shares, facet)
        return f"{self.facets[facet]} {verb} to {percent(share)}: {self._because(cause, facet)}"

    def reasons(self) -> list[str]:
        """Why the shares are what they are: a sentence for every facet that is far from the prior."""
        shares = self.probs()
        return [
            f"{self.facets[facet]} has {percent(float(shares[facet]))}, at first "
            f"{percent(float(self._prior[facet]))}: "
            + self._because(main_cause(self._factors, self._prior, facet), facet)
            for facet in np.flatnonzero(notable(shares, self._prior)).tolist()
        ]

    def _because(self, cause: int, facet: int) -> str:
        if cause == USE:
            use = self._use.estimate()
            usual = usual_use(use, self._counts)[0]
            how = "hardly depend on" if use.value[facet] < USEFUL * usual else "depend on"
            return (
                f"its translations {how} its sources, {plus_minus(use, facet)} "
                f"where the others have {usual:.2g}"
            )
        if cause == ALIGNMENT:
            apart, mean = self._alignment.estimate(), float(self._help.estimate().value[0])
            relative = Estimate(1.0 + apart.value / mean, apart.error / mean)
            return (
                f"a step on it helps what counts {plus_minus(relative, facet)} times as much as the average"
            )
        if cause == WORN:
            others = np.delete(self._epochs, facet).max(initial=0.0)
            return f"its text was used {self._epochs[facet]:.2g} times, the others' up to {others:.2g} times"
        slopes = self._dev.estimate()
        if cause == OVERFITTING:
            rise = Estimate(-slopes.value, slopes.error)
            after = f"after {self._epochs[facet]:.3g} epochs of its text"
            return f"its dev loss changes by {plus_minus(rise, facet)} in an e-fold of training, {after}"
        mean = shrunk(slopes, self._counts)[0]
        return (
            f"its dev loss falls by {plus_minus(slopes, facet)} in an e-fold of training, "
            f"the average by {mean:.2f}"
        )

    def state(self) -> State:
        return {
            "kind": self.kind,
            "prior": self._prior.tolist(),
            "dev": self._dev.state(),
            "use": self._use.state(),
            "alignment": self._alignment.state(),
            "help": self._help.state(),
            "epochs": self._epochs.tolist(),
            "factors": self._factors.tolist(),
            "last": list(self._last),
            "told": self._told.tolist(),
            "told_shares": self._told_shares.tolist(),
        }

    def restore(self, state: Mapping[str, Any], arms: Sequence[int | None]) -> None:
        check_kind(state, self.kind)
        # a run that is given more steps keeps its prior
        if None not in arms and len(state["prior"]) == self.arms:
            self._prior = frozen(columns([state["prior"]], arms)[0])
        self._dev.restore(state["dev"], arms)
        self._use.restore(state["use"], arms)
        self._alignment.restore(state["alignment"], arms)
        self._help.restore(state["help"], [0])
        self._epochs = columns([state["epochs"]], arms)[0]
        self._factors, self._told = columns(state["factors"], arms), columns(state["told"], arms)
        self._last = [int(step) for step in state["last"]]
        told = columns([state["told_shares"]], arms, math.nan)[0]
        self._told_shares = frozen(np.where(np.isnan(told), self._prior, told))
        self._probs = None


def next_measurement(step: int, cost: float = 0.0) -> int:
    """The step of the next measurement after `step`: evenly in log time, about ten per e-fold of training.

    `cost` is that of a measurement, in steps of training: while steps are few, it sets the pause.
    """
    return max(FIRST, step + math.ceil(max(PAUSE * step, cost / COSTLIEST)))


def notable(shares: Probs, before: Probs) -> npt.NDArray[np.bool_]:
    """Which shares have changed by half or more, and by enough to matter for the whole."""
    ratio = np.maximum(shares, before) / np.maximum(np.minimum(shares, before), 1e-300)
    large: npt.NDArray[np.bool_] = (ratio >= NOTABLE) & (np.abs(shares - before) >= LARGE / shares.size)
    return large


def main_cause(moved: Values, before: Probs, facet: int) -> int:
    """The kind of evidence that moved the facet most, relative to how it moved all."""
    return int(np.abs(moved[:, facet] - moved @ before).argmax())


def percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def plus_minus(estimate: Estimate, facet: int) -> str:
    return f"{estimate.value[facet]:.2f} ± {estimate.error[facet]:.2f}"
