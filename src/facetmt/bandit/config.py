"""The `schedule:` section of a recipe, and the scheduler it describes."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from facetmt.bandit.exp3 import Exp3
from facetmt.bandit.reward import REWARDS, QuantileScaler, RewardRow
from facetmt.bandit.scheduler import FacetScheduler
from facetmt.bandit.schedules import POLICIES, REWARD, Corpus, Draws, PolicyRow


@dataclass(frozen=True)
class ScheduleConfig:
    """Which facet each batch comes from."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    policy: str = "auto"  # a row of POLICIES
    reward: str = ""  # a row of REWARDS; left out: the policy's own
    learning_rate: float = 0.1  # μ
    exploration: float = 0.25  # γ
    tau: float = 1.0  # static: p(f) ∝ size^(1/τ)
    # static: p(f) ∝ the number given to f, 0 for those left out; empty: by size and tau
    shares: dict[str, float] = field(default_factory=dict)
    prior_tau: float | None = None  # exp3: start from this temperature distribution instead of uniform
    window: int = 5000  # latest raw rewards that the scaling looks at
    low: float = 0.2  # clipping quantiles of that window
    high: float = 0.8
    # one facet per batch, or rows of several in every batch; left out: as the policy was made
    batches: Literal["homogeneous", "mixed"] | None = None
    # how little the shares of mixed batches vary around π, for policies that learn from them
    kappa: float = 8.0
    max_epochs: float = 10.0  # auto, unimax: how often the planned training may repeat a facet
    # weight of each facet that counts; empty: all alike
    objective: dict[str, float] = field(default_factory=dict)
    probe_every: int = 1000  # steps between measurements of all facets, for policies that learn from them
    probe_updates: int = 1  # multidds: steps of Adam per measurement
    feedback_lag: Literal[0, 1] = 0  # 1: the next arm is drawn before this step's reward is known

    def __post_init__(self) -> None:
        check_name("policy", self.policy, POLICIES)
        if not self.reward:
            object.__setattr__(self, "reward", self.row.reward)
        check_name("reward", self.reward, REWARDS)
        for key in ("tau", "prior_tau"):
            value = getattr(self, key)
            if value is not None and (value == 0 or math.isnan(value)):
                raise ValueError(f"{key} must be a number other than 0; write .inf for uniform sampling")
        if not (self.kappa >= 0 and self.max_epochs > 0):
            raise ValueError("kappa must be at least 0 and max_epochs more than 0")
        for key in ("objective", "shares"):
            numbers = getattr(self, key).values()
            if numbers and not (all(math.isfinite(x) and x >= 0 for x in numbers) and any(numbers)):
                raise ValueError(f"{key} gives facets numbers of at least 0, and one of them more than 0")
        if self.shares and self.policy != "static":
            raise ValueError(f"shares are of policy static, not of {self.policy}; leave them out")
        if self.batches is not None and self.row.draws == "whole":
            raise ValueError(f"batches cannot be set for {self.policy}, which draws from the shuffled whole")
        for key in ("probe_every", "probe_updates"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} is {getattr(self, key)}; give at least 1")
        Exp3(1, learning_rate=self.learning_rate, exploration=self.exploration)
        QuantileScaler(self.window, self.low, self.high)

    @property
    def row(self) -> PolicyRow:
        """What the table of schedules says of the policy."""
        return POLICIES[self.policy]

    def weights(self, facets: Sequence[str]) -> list[float]:
        """How much each facet counts: alike, or as the objective says."""
        return [self.objective.get(name, 0.0) if self.objective else 1.0 for name in facets]

    @property
    def label(self) -> str:
        """The system's name in tables."""
        return self.row.label(self)

    @property
    def step_reward(self) -> RewardRow | None:
        """The reward that each step is measured by; None where nothing is learned from single steps."""
        return REWARDS[self.reward] if self.row.signal == REWARD else None

    @property
    def draws(self) -> Draws:
        """What a batch is made of."""
        if self.batches is None or self.row.draws == "whole":
            return self.row.draws
        return "composition" if self.batches == "mixed" else "facet"

    @property
    def lag(self) -> int:
        """Steps that a reward comes late; without one there is nothing to wait for."""
        return self.feedback_lag if self.step_reward or self.draws != "composition" else 1


def check_name(kind: str, name: str, known: Collection[str]) -> None:
    """ValueError with the nearest name where there is no such row."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(known)}"
        raise ValueError(f"{kind} is {name!r}, which does not exist; {hint}")


def build_scheduler(config: ScheduleConfig, corpus: Corpus, seed: int, rows: int = 1) -> FacetScheduler:
    """The scheduler over the facets, or over one arm named after the policy that draws the whole.

    `rows` are those of a batch, which compositions share out.
    """
    row, composed = config.row, config.draws == "composition"
    learns = composed and row.signal == REWARD  # from how the shares vary
    return FacetScheduler(
        [config.policy] if config.draws == "whole" else corpus.facets,
        row.build(config, corpus),
        config.reward,
        seed=seed,
        scaler=row.scaler(config.window, config.low, config.high),
        rows=rows if composed else None,
        kappa=config.kappa if learns else math.inf,
    )
