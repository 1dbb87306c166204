"""The one table of schedules: a policy is one row here, a reward one row of `reward.REWARDS`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from facetmt.bandit.exp3 import Exp3, Exp3S
from facetmt.bandit.multidds import MultiDds
from facetmt.bandit.odm import AsMeasured, Odm
from facetmt.bandit.policy import Policy, Probs, Static
from facetmt.bandit.reward import QuantileScaler

if TYPE_CHECKING:
    from facetmt.bandit.config import ScheduleConfig

# What a batch is made of: one facet, the shuffled whole, or rows of several facets in shares of the pull.
Draws = Literal["facet", "whole", "composition"]
NOTHING, REWARD = "nothing", "reward"  # signals; any other is a measurement of all facets, by its name


@dataclass(frozen=True)
class PolicyRow:
    """All that the rest of the program knows of a policy."""

    build: Callable[
        [ScheduleConfig, int, Probs | None], Policy
    ]  # settings, arms, the distribution to start from
    label: Callable[[ScheduleConfig], str]  # in tables
    group: str = "Bandit"  # of tables, as in the paper's
    signal: str = REWARD  # what it learns from
    reward: str = "dev-pgnorm"  # where the recipe names none
    other_rewards: bool = True  # False: other rewards than that teach it nothing worth knowing
    scaler: type[QuantileScaler] = QuantileScaler
    draws: Draws = "facet"
    tau: Callable[[ScheduleConfig], float | None] = lambda config: (
        config.prior_tau
    )  # of its start; None: uniform
    exploration: Callable[[ScheduleConfig], float] = lambda config: 0.0  # share that is always spread evenly


def _rewarded(config: ScheduleConfig) -> str:
    return f"{config.policy} {config.reward}"


def _temperature(config: ScheduleConfig) -> str:
    known = {1.0: "proportional", math.inf: "uniform", -1.0: "inverse proportional"}
    word = known.get(config.tau, "upsampled" if config.tau > 1 else "static")
    return f"{word} (τ={'∞' if math.isinf(config.tau) else f'{config.tau:g}'})"


def _exp3(kind: type[Exp3]) -> PolicyRow:
    def build(config: ScheduleConfig, arms: int, start: Probs | None) -> Policy:
        return kind(arms, learning_rate=config.learning_rate, exploration=config.exploration, prior=start)

    return PolicyRow(build, _rewarded, exploration=lambda config: config.exploration)


def _static(config: ScheduleConfig, arms: int, start: Probs | None) -> Policy:
    return Static([1.0 / arms] * arms if start is None else start)


def _multidds(config: ScheduleConfig, arms: int, start: Probs | None) -> Policy:
    return MultiDds(arms, learning_rate=config.learning_rate, updates=config.probe_updates, prior=start)


POLICIES: dict[str, PolicyRow] = {
    # the paper's baseline has a single arm: the shuffled concatenation of all facets
    "mixed": PolicyRow(
        _static, lambda config: "mixed batches", "Base", NOTHING, draws="whole", tau=lambda config: None
    ),
    "static": PolicyRow(_static, _temperature, "Static", NOTHING, tau=lambda config: config.tau),
    "exp3": _exp3(Exp3),
    "exp3s": _exp3(Exp3S),
    "odm": PolicyRow(
        lambda config, arms, start: Odm(arms),
        _rewarded,
        reward="loss",
        other_rewards=False,
        scaler=AsMeasured,
        tau=lambda config: None,
    ),
    "multidds": PolicyRow(
        _multidds,
        lambda config: "multidds",
        "MultiDDS",
        signal="alignment",
        tau=lambda config: config.prior_tau or 1.0,  # it starts from the corpus's own proportions
    ),
}
