"""The one table of schedules: a policy is one row here, a reward one row of `reward.REWARDS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from facetmt.bandit.auto import Auto
from facetmt.bandit.exp3 import Exp3, Exp3S
from facetmt.bandit.multidds import MultiDds
from facetmt.bandit.odm import AsMeasured, Odm
from facetmt.bandit.policy import Policy, Probs, Static, temperature_probs
from facetmt.bandit.reward import QuantileScaler
from facetmt.bandit.unimax import Unimax, unimax_probs

if TYPE_CHECKING:
    from facetmt.bandit.config import ScheduleConfig

# What a batch is made of: one facet, the shuffled whole, or rows of several facets in shares of the pull.
Draws = Literal["facet", "whole", "composition"]
Sizes = Literal["", "pairs", "tokens"]
HELPERS = 0.25  # of an even share: what auto gives at first to facets that do not count
DEV_GROUPS = 8  # of each facet's dev pairs, from whose scatter auto knows the error of a slope
NOTHING, REWARD = "nothing", "reward"  # signals; any other is a measurement of all facets, by its name


@dataclass(frozen=True)
class Corpus:
    """What a policy may know about the facets before the first step."""

    facets: Sequence[str]
    pairs: Sequence[float]  # training pairs of each
    tokens: Sequence[float] = ()  # target tokens of each
    planned: float = 0.0  # target tokens of the whole training
    with_dev: Sequence[bool] = ()  # which of them have dev text


@dataclass(frozen=True)
class PolicyRow:
    """All that the rest of the program knows about a policy."""

    build: Callable[[ScheduleConfig, Corpus], Policy]
    label: Callable[[ScheduleConfig], str]  # in tables
    group: str = "Bandit"  # of tables, as in the paper's
    signal: str = REWARD  # what it learns from
    reward: str = "dev-pgnorm"  # where the recipe names none
    other_rewards: bool = True  # False: other rewards than that teach it nothing worth knowing
    scaler: type[QuantileScaler] = QuantileScaler
    draws: Draws = "facet"  # where the recipe leaves it open
    needs: Callable[[ScheduleConfig], Sizes] = lambda config: ""  # what it must know of the corpus
    exploration: Callable[[ScheduleConfig], float] = lambda config: 0.0  # share that is always spread evenly
    rates: tuple[str, ...] = ()  # which of learning_rate and exploration it has


def _mixed(config: ScheduleConfig) -> str:
    """What tells a policy with mixed batches from the same one without."""
    return ", mixed batches" if config.batches == "mixed" else ""


def _rewarded(config: ScheduleConfig) -> str:
    return f"{config.policy} {config.reward}{_mixed(config)}"


def _named(config: ScheduleConfig) -> str:
    return config.policy


def _prior(config: ScheduleConfig, corpus: Corpus) -> Probs | None:
    """The distribution that a bandit starts from; None: uniform."""
    return None if config.prior_tau is None else temperature_probs(corpus.pairs, config.prior_tau)


def _prior_needs(config: ScheduleConfig) -> Sizes:
    return "" if config.prior_tau is None else "pairs"


def _exp3(kind: type[Exp3]) -> PolicyRow:
    def build(config: ScheduleConfig, corpus: Corpus) -> Policy:
        rates = {"learning_rate": config.learning_rate, "exploration": config.exploration}
        return kind(len(corpus.facets), **rates, prior=_prior(config, corpus))

    return PolicyRow(
        build,
        _rewarded,
        needs=_prior_needs,
        exploration=lambda config: config.exploration,
        rates=("learning_rate", "exploration"),
    )


def _static(config: ScheduleConfig, corpus: Corpus) -> Policy:
    if not config.shares:
        return Static(temperature_probs(corpus.pairs, config.tau))
    shares = np.array([config.shares.get(name, 0.0) for name in corpus.facets])
    return Static(shares / shares.sum())


def _static_label(config: ScheduleConfig) -> str:
    if config.shares:
        total = sum(config.shares.values())
        largest = sorted(config.shares.items(), key=lambda item: -item[1])
        named = [f"{name} {100 * share / total:.3g} %" for name, share in largest if share]
        shown = named if len(named) <= 3 else [*named[:2], f"{len(named) - 2} more"]
        return f"static ({', '.join(shown)}{_mixed(config)})"
    known = {1.0: "proportional", math.inf: "uniform", -1.0: "inverse proportional"}
    word = known.get(config.tau, "upsampled" if config.tau > 1 else "static")
    return f"{word} (τ={'∞' if math.isinf(config.tau) else f'{config.tau:g}'}{_mixed(config)})"


def _multidds(config: ScheduleConfig, corpus: Corpus) -> Policy:
    prior = temperature_probs(corpus.pairs, config.prior_tau or 1.0)  # its authors start from proportional
    arms = len(corpus.facets)
    return MultiDds(arms, learning_rate=config.learning_rate, updates=config.probe_updates, prior=prior)


def _unimax(config: ScheduleConfig, corpus: Corpus) -> Policy:
    return Unimax(unimax_probs(corpus.tokens, corpus.planned, config.max_epochs))


def _auto(config: ScheduleConfig, corpus: Corpus) -> Policy:
    """A facet without dev text cannot count: it can only help others.

    What only helps starts with a quarter of a share, and all of it together with no more than what counts.
    """
    given = zip(config.weights(corpus.facets), corpus.with_dev, strict=True)
    weights = [weight if dev else 0.0 for weight, dev in given]
    counting = sum(weight > 0 for weight in weights)
    helper = min(HELPERS, counting / max(1, len(weights) - counting))
    parts = [1.0 if weight else helper for weight in weights]
    prior = unimax_probs(corpus.tokens, corpus.planned, config.max_epochs, parts)
    return Auto(corpus.facets, prior, weights, groups=DEV_GROUPS)


POLICIES: dict[str, PolicyRow] = {
    "auto": PolicyRow(
        _auto, _named, "Auto", signal="evidence", draws="composition", needs=lambda config: "tokens"
    ),
    # the paper's baseline has a single arm: the shuffled concatenation of all facets
    "mixed": PolicyRow(
        lambda config, corpus: Static([1.0]), lambda config: "mixed batches", "Base", NOTHING, draws="whole"
    ),
    "static": PolicyRow(
        _static,
        _static_label,
        "Static",
        NOTHING,
        needs=lambda config: "" if config.shares else "pairs",
    ),
    "unimax": PolicyRow(
        _unimax, _named, "Static", NOTHING, draws="composition", needs=lambda config: "tokens"
    ),
    "exp3": _exp3(Exp3),
    "exp3s": _exp3(Exp3S),
    "odm": PolicyRow(
        lambda config, corpus: Odm(len(corpus.facets)),
        _rewarded,
        reward="loss",
        other_rewards=False,
        scaler=AsMeasured,
    ),
    "multidds": PolicyRow(
        _multidds,
        _named,
        "MultiDDS",
        signal="alignment",
        needs=lambda config: "pairs",
        rates=("learning_rate",),
    ),
}
