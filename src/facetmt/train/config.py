"""The settings of the optimiser; readable without JAX."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

Schedule = Literal["rsqrt", "peak-rsqrt", "linear", "constant"]


@dataclass(frozen=True)
class OptimiserConfig:
    """Adam with linear warm-up, then by default inverse square root decay (paper, "Hyperparameters")."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    # rsqrt: lr(t) = learning_rate * min(1, t/warmup) / sqrt(max(t, warmup)). The paper's 0.0625 with 4,000
    # steps of warm-up thus peaks at 0.00099, its 0.01 at 0.00016; in Vaswani et al. it is width^-0.5.
    # peak-rsqrt: the same curve, with learning_rate as the value at its peak. constant: warm-up, then flat.
    # linear: warm-up to learning_rate, then in a straight line to 0 after update `decay_until`.
    schedule: Schedule = "rsqrt"
    learning_rate: float = 0.0625
    warmup: int = 4000  # steps of linear increase; 0 for none
    decay_until: int | None = None  # linear: the last update with a rate above 0
    beta1: float = 0.9
    beta2: float = 0.98
    eps: float = 1e-9
    clip: float = 1.0  # largest global gradient norm; 0 for no clipping
    label_smoothing: float = 0.1  # mass of the target distribution that is spread over the vocabulary
    accumulate: int = 1  # micro-batches per update

    def __post_init__(self) -> None:
        """Refuse values that cannot train."""
        if self.schedule not in get_args(Schedule):
            raise ValueError(f"schedule is {self.schedule!r}; choose rsqrt, peak-rsqrt, linear or constant.")
        if (self.schedule == "linear") != (self.decay_until is not None):
            raise ValueError("schedule: linear and decay_until need each other; give both or neither.")
        if self.decay_until is not None and self.decay_until <= self.warmup:
            raise ValueError(f"decay_until is {self.decay_until}; give a step after warmup ({self.warmup}).")
        if not self.learning_rate > 0.0:
            raise ValueError(f"learning_rate is {self.learning_rate}; give a number above 0.")
        for name in ("beta1", "beta2"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}; give a number from 0 to below 1.")
        if not self.eps > 0.0:
            raise ValueError(f"eps is {self.eps}; give a number above 0.")
        if not 0.0 <= self.label_smoothing <= 1.0:
            raise ValueError(f"label_smoothing is {self.label_smoothing}; give a number from 0 to 1.")
        if self.warmup < 0 or self.clip < 0.0:
            raise ValueError("warmup and clip may not be negative; use 0 for none.")
        if self.accumulate < 1:
            raise ValueError(f"accumulate is {self.accumulate}; give a number of at least 1.")


@dataclass(frozen=True)
class TrainConfig:
    """How long to train, how often to validate, what to keep."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    steps: int = 100_000  # updates in all
    validate_every: int = 2000  # steps between validations; a checkpoint is saved after each
    save_every: int | None = None  # steps between additional checkpoints
    log_every: int = 50  # steps between lines of metrics.jsonl and probs.csv
    patience: int | None = None  # stop after this many validations without a better dev BLEU
    keep: int = 2  # latest checkpoints to keep
    keep_best: int = 1  # best checkpoints by dev BLEU to keep as well
    validation_beam: int = 1  # beam of the dev BLEU; 1 is greedy
    dev_rows: int | None = None  # rows of the reward's dev batch; None: an eighth of the training batch
    dev_hold: int = 8  # steps for which a dev batch is held: one step's "after" is the next one's "before"
    dev_average: Literal["tokens", "facets"] = "tokens"  # mean over tokens (the paper) or over facets
    max_skipped: int = 20  # stop after this many updates in a row with a loss that is not finite
    split_state: bool = False  # spread parameters and optimiser state over all devices, for large models
    agree_every: int = 16  # steps between checks that all processes agree, which also pass on signals
    tensorboard: bool = False  # also write TensorBoard events (needs the extra `tensorboard`)

    def __post_init__(self) -> None:
        """Refuse settings that cannot run."""
        counts = ("steps", "validate_every", "log_every", "keep", "keep_best", "validation_beam", "dev_hold")
        for name in (*counts, "max_skipped", "agree_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give a number of at least 1.")
        for name in ("save_every", "patience", "dev_rows"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; give a number of at least 1, or leave it out.")
