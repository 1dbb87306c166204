"""A demo without a neural network: a linear classifier whose training data comes in four facets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facetmt.bandit.policy import Policy, Probs
from facetmt.bandit.reward import Reward
from facetmt.bandit.scheduler import FacetScheduler

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FACETS = ("grammar", "lexicon", "copies", "noise")
TARGETS = ("grammar", "lexicon")  # the facets in the balanced dev set
CLASSES, HALF = 6, 40  # grammar uses the first 40 features, lexicon the other 40
BATCH, DEV_BATCH, STEP_SIZE = 32, 256, 0.5


@dataclass(frozen=True)
class Outcome:
    """The result of one run."""

    facets: tuple[str, ...]
    counts: dict[str, int]
    probs: Floats  # [steps, facets]: π after each step
    dev_loss: Floats  # [checks]: loss on the whole dev set, every `check_every` steps
    check_every: int


class World:
    """Examples of two skills; `copies` repeats 16 examples of grammar, `noise` has random labels."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._teacher = self._rng.normal(size=(2 * HALF, CLASSES))
        self._copies = self.sample("grammar", 16)
        parts = [self.sample(name, 1000) for name in TARGETS]
        self.dev = (np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]))

    def sample(self, facet: str, size: int) -> tuple[Floats, Ints]:
        """x [size, features], y [size]."""
        if facet == "copies":
            chosen = self._rng.integers(len(self._copies[1]), size=size)
            return self._copies[0][chosen], self._copies[1][chosen]
        x = self._rng.normal(size=(size, 2 * HALF))
        if facet == "noise":
            return x, self._rng.integers(CLASSES, size=size)
        x[:, HALF:] *= facet == "lexicon"
        x[:, :HALF] *= facet == "grammar"
        return x, (x @ self._teacher).argmax(axis=1)

    def dev_batch(self) -> tuple[Floats, Ints]:
        chosen = self._rng.integers(len(self.dev[1]), size=DEV_BATCH)
        return self.dev[0][chosen], self.dev[1][chosen]


def cross_entropy(weights: Floats, x: Floats, y: Ints) -> tuple[float, Floats]:
    """Mean loss of a softmax classifier, and its gradient."""
    logits = x @ weights
    logits -= logits.max(axis=1, keepdims=True)
    shares = np.exp(logits)
    shares /= shares.sum(axis=1, keepdims=True)
    loss = -float(np.log(shares[np.arange(len(y)), y] + 1e-300).mean())
    shares[np.arange(len(y)), y] -= 1.0
    return loss, x.T @ shares / len(y)


def run(
    policy: Policy,
    *,
    steps: int = 4000,
    reward: str | Reward = "dev-pgnorm",
    seed: int = 1,
    check_every: int = 50,
) -> Outcome:
    """Train the classifier on `steps` batches, the policy choosing the facet of each."""
    world = World(seed)
    scheduler = FacetScheduler(FACETS, policy, reward, seed=seed)
    weights = np.zeros((2 * HALF, CLASSES))
    history: list[Probs] = []
    checks: list[float] = []
    for step in range(steps):
        pull = scheduler.pull()
        x, y = world.sample(FACETS[pull.arm], BATCH)
        dev = world.dev_batch()
        before, _ = cross_entropy(weights, *dev)
        weights -= STEP_SIZE * cross_entropy(weights, x, y)[1]
        after, _ = cross_entropy(weights, *dev)
        history.append(scheduler.feedback(pull, before=before, after=after).probs)
        if (step + 1) % check_every == 0:
            checks.append(cross_entropy(weights, *world.dev)[0])
    return Outcome(FACETS, scheduler.counts(), np.array(history), np.array(checks), check_every)
