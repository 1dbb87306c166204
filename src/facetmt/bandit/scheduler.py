"""The scheduler: pulls a facet, takes the losses before and after the step, teaches the policy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from facetmt.bandit.composition import draw_composition, row_counts
from facetmt.bandit.policy import Policy, Probs, Pull, State, draw
from facetmt.bandit.reward import REWARDS, QuantileScaler, Reward

COMPOSITION = "composition"  # what the log calls a batch of several facets


@dataclass(frozen=True, slots=True)
class Record:
    """One row of the decision log; `scaled` is NaN where a non-finite raw reward was dropped."""

    facet: str
    prob: float
    before: float
    after: float
    raw: float
    scaled: float
    probs: Probs  # [facets], after the update

    @property
    def dropped(self) -> bool:
        return math.isnan(self.scaled)


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the policy in four numbers."""

    starved: float  # share of the arms that are starved
    entropy: float  # of π, in percent of its maximum ln n
    dropped: int  # non-finite rewards so far
    saturation: float  # share of the latest rewards that were clipped; 0.4 at the default quantiles


def starved(probs: Probs) -> npt.NDArray[np.bool_]:
    """[arms] whose probability is below half of uniform."""
    below: npt.NDArray[np.bool_] = probs < 0.5 / probs.size
    return below


class FacetScheduler:
    """Decides the facet of each batch and learns from the progress it made (paper, Algorithm 1)."""

    def __init__(
        self,
        facets: Sequence[str],
        policy: Policy,
        reward: str | Reward = "dev-pgnorm",
        *,
        seed: int = 1,
        scaler: QuantileScaler | None = None,
        rows: int | None = None,
        kappa: float = math.inf,
    ) -> None:
        """With `rows` per batch every pull is a composition; a larger `kappa` keeps it closer to π."""
        if len(set(facets)) != len(facets):
            raise ValueError("facet names must differ from each other")
        if policy.arms != len(facets):
            raise ValueError(f"the policy has {policy.arms} arms for {len(facets)} facets")
        self.facets = tuple(facets)
        self.policy = policy
        self.reward_name, self._reward = named_reward(reward)
        self.scaler = scaler if scaler is not None else QuantileScaler()
        self.rows, self.kappa = rows, kappa
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._counts = [0] * len(facets)
        self._dropped = 0

    def pull(self) -> Pull:
        """Draw the facet of the next batch, or its rows; any number of pulls may be awaiting feedback."""
        if self.rows is None:
            pull = draw(self.policy.probs(), self._rng)
            self._counts[pull.arm] += 1
            return pull
        drawn = draw_composition(self.policy.probs(), self.kappa, self._rng)
        rows = row_counts(drawn.shares, self.rows, self._rng).tolist()
        self._counts = [count + more for count, more in zip(self._counts, rows, strict=True)]
        return Pull(rows.index(max(rows)), 1.0, tuple(rows), drawn.credit)

    def name(self, pull: Pull) -> str:
        """The facet that was drawn, as the log has it."""
        return self.facets[pull.arm] if pull.rows is None else COMPOSITION

    def feedback(self, pull: Pull, *, before: float | None = None, after: float | None = None) -> Record:
        """Reward the pull with the losses before and after its step; `loss` needs no `after`."""
        first = math.nan if before is None else float(before)
        second = math.nan if after is None else float(after)
        raw = self._reward(first, second)
        if math.isnan(raw) and (before is None or after is None):
            raise ValueError(f"the reward {self.reward_name!r} needs the loss that was not given")
        if math.isfinite(raw):
            scaled = self.scaler.scale(raw)
            self.policy.update(pull.credit, scaled)
        else:
            scaled = math.nan
            self._dropped += 1
        return Record(self.name(pull), pull.prob, first, second, raw, scaled, self.policy.probs())

    def feedback_batch(self, rows: Iterable[tuple[Pull, float | None, float | None]]) -> list[Record]:
        """Feedback of several (pull, before, after), in order: each row is scaled by the window so far."""
        return [self.feedback(pull, before=before, after=after) for pull, before, after in rows]

    def measured(self, values: Sequence[float]) -> Probs:
        """Teach a policy that learns from all facets at once: one number per facet; π after it.

        Values that are not finite are dropped and counted, as rewards are.
        """
        if len(values) != len(self.facets):
            raise ValueError(f"a measurement has {len(values)} values for {len(self.facets)} facets")
        credit = [(arm, float(value)) for arm, value in enumerate(values) if math.isfinite(value)]
        self._dropped += len(values) - len(credit)
        if credit:
            self.policy.update(credit, 1.0)
        return self.policy.probs()

    def probs(self) -> Probs:
        """π, the distribution of the next pull."""
        return self.policy.probs()

    def counts(self) -> dict[str, int]:
        """Pulls of each facet so far, or its rows where pulls are compositions."""
        return dict(zip(self.facets, self._counts, strict=True))

    def health(self) -> Health:
        probs = self.policy.probs()
        positive = probs[probs > 0]
        entropy = -float((positive * np.log(positive)).sum())
        return Health(
            starved=float(starved(probs).mean()),
            entropy=100.0 * entropy / math.log(probs.size) if probs.size > 1 else 100.0,
            dropped=self._dropped,
            saturation=self.scaler.saturation,
        )

    def state(self) -> State:
        """Everything random, learned or counted, ready for JSON."""
        return {
            "facets": list(self.facets),
            "reward": self.reward_name,
            "policy": self.policy.state(),
            "scaler": self.scaler.state(),
            "rng": self._rng.bit_generator.state,
            "counts": list(self._counts),
            "dropped": self._dropped,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue as saved. Facets are matched by name: one that is gone is forgotten, a new one starts
        with a share of 1/n of softmax(w), and the others keep their odds against each other."""
        if state["reward"] != self.reward_name:
            raise ValueError(f"the state was saved with reward {state['reward']!r}, not {self.reward_name!r}")
        places = {name: arm for arm, name in enumerate(state["facets"])}
        arms = [places.get(name) for name in self.facets]
        self.policy.restore(state["policy"], arms)
        self.scaler.restore(state["scaler"])
        self._rng.bit_generator.state = state["rng"]
        self._counts = [0 if arm is None else int(state["counts"][arm]) for arm in arms]
        self._dropped = int(state["dropped"])


def named_reward(reward: str | Reward) -> tuple[str, Reward]:
    """A reward by its name in the paper, or the user's own function of (before, after)."""
    if callable(reward):
        return getattr(reward, "__name__", type(reward).__name__), reward
    if reward not in REWARDS:
        raise ValueError(f"unknown reward {reward!r}; choose one of {', '.join(REWARDS)}")
    return reward, REWARDS[reward]
