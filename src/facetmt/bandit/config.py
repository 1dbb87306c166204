"""The `schedule:` section of a recipe, and the scheduler it describes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from facetmt.bandit.exp3 import Exp3, Exp3S
from facetmt.bandit.multidds import MultiDds
from facetmt.bandit.odm import AsMeasured, Odm
from facetmt.bandit.policy import Policy, Probs, Static, temperature_probs
from facetmt.bandit.reward import QuantileScaler
from facetmt.bandit.scheduler import FacetScheduler


@dataclass(frozen=True)
class ScheduleConfig:
    """Which facet each batch comes from."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    policy: Literal["mixed", "static", "exp3", "exp3s", "odm", "multidds"] = (
        "exp3"  # mixed: the shuffled whole
    )
    reward: Literal["loss", "pg", "pgnorm", "dev-loss", "dev-pg", "dev-pgnorm"] = "dev-pgnorm"
    learning_rate: float = 0.1  # μ
    exploration: float = 0.25  # γ
    tau: float = 1.0  # static: p(f) ∝ size^(1/τ)
    prior_tau: float | None = None  # exp3: start from this temperature distribution instead of uniform
    window: int = 5000  # latest raw rewards that the scaling looks at
    low: float = 0.2  # clipping quantiles of that window
    high: float = 0.8
    probe_every: int = 1000  # multidds: steps between measurements of all facets
    feedback_lag: Literal[0, 1] = 0  # 1: the next arm is drawn before this step's reward is known

    def __post_init__(self) -> None:
        for key in ("tau", "prior_tau"):
            value = getattr(self, key)
            if value is not None and (value == 0 or math.isnan(value)):
                raise ValueError(f"{key} must be a number other than 0; write .inf for uniform sampling")
        if self.probe_every < 1:
            raise ValueError(f"probe_every is {self.probe_every}; give at least 1")
        Exp3(1, learning_rate=self.learning_rate, exploration=self.exploration)
        QuantileScaler(self.window, self.low, self.high)

    @property
    def learns(self) -> bool:
        """Whether the reward of each step changes anything."""
        return self.policy not in ("mixed", "static", "multidds")

    @property
    def probes(self) -> bool:
        """Whether all facets are measured now and then."""
        return self.policy == "multidds"


def _prior(config: ScheduleConfig, sizes: Sequence[int]) -> Probs | None:
    return None if config.prior_tau is None else temperature_probs(sizes, config.prior_tau)


def _exp3(kind: type[Exp3]) -> Callable[[ScheduleConfig, Sequence[int]], Policy]:
    def build(config: ScheduleConfig, sizes: Sequence[int]) -> Policy:
        return kind(
            len(sizes),
            learning_rate=config.learning_rate,
            exploration=config.exploration,
            prior=_prior(config, sizes),
        )

    return build


# The mixed baseline has a single arm: the shuffled concatenation of all facets.
POLICIES: dict[str, Callable[[ScheduleConfig, Sequence[int]], Policy]] = {
    "mixed": lambda config, sizes: Static([1.0]),
    "static": lambda config, sizes: Static(temperature_probs(sizes, config.tau)),
    "exp3": _exp3(Exp3),
    "exp3s": _exp3(Exp3S),
    # MultiDDS starts from the corpus's own proportions
    "multidds": lambda config, sizes: MultiDds(
        len(sizes),
        learning_rate=config.learning_rate,
        prior=temperature_probs(sizes, config.prior_tau or 1.0),
    ),
    "odm": lambda config, sizes: Odm(len(sizes)),
}


def build_scheduler(
    config: ScheduleConfig, facets: Sequence[str], sizes: Sequence[int], seed: int
) -> FacetScheduler:
    """The scheduler over these facets (for `mixed`, over the one arm of that name)."""
    names = ["mixed"] if config.policy == "mixed" else facets
    scaler = AsMeasured if config.policy == "odm" else QuantileScaler
    return FacetScheduler(
        names,
        POLICIES[config.policy](config, sizes),
        config.reward,
        seed=seed,
        scaler=scaler(config.window, config.low, config.high),
    )
