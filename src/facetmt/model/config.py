"""The size and precision of a Transformer; importable without JAX."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

Preset = Literal["tiny", "small", "base", "big", "big-wide"]
ComputeType = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Shape:
    """The five numbers that determine a Transformer's size."""

    width: int
    mlp: int
    heads: int
    encoder_layers: int
    decoder_layers: int


PRESETS: dict[str, Shape] = {
    "tiny": Shape(width=128, mlp=512, heads=4, encoder_layers=2, decoder_layers=2),
    "small": Shape(width=256, mlp=1024, heads=4, encoder_layers=3, decoder_layers=3),
    "base": Shape(width=512, mlp=2048, heads=8, encoder_layers=6, decoder_layers=6),
    "big": Shape(width=1024, mlp=4096, heads=16, encoder_layers=6, decoder_layers=6),
    "big-wide": Shape(width=1024, mlp=8192, heads=16, encoder_layers=6, decoder_layers=6),
}


@dataclass(frozen=True)
class ModelConfig:
    """A preset (paper, appendix "Hyperparameters") and what to change in it."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    preset: Preset = "base"  # the size to start from
    width: int | None = None  # model dimension; None: the preset's, as for the next four
    mlp: int | None = None  # hidden dimension of the feed-forward sublayers
    heads: int | None = None  # attention heads
    encoder_layers: int | None = None
    decoder_layers: int | None = None
    dropout: float = 0.1  # on embeddings, sublayer outputs and feed-forward activations
    attention_dropout: float | None = None  # on attention weights; None: same as dropout
    tied: bool = True  # use the target embedding as the output projection
    compute: ComputeType = "float32"  # of activations; parameters are always float32
    remat: bool = False  # recompute activations in the backward pass: less memory, a third more time

    def __post_init__(self) -> None:
        """Refuse impossible settings."""
        if self.preset not in PRESETS:
            raise ValueError(f"model.preset is {self.preset!r}; choose one of {', '.join(PRESETS)}")
        for name in ("dropout", "attention_dropout"):
            rate = getattr(self, name)
            if rate is not None and not 0.0 <= rate < 1.0:
                raise ValueError(f"model.{name} is {rate}; give a number from 0 to below 1")
        if self.compute not in ("float32", "bfloat16"):
            raise ValueError(f"model.compute is {self.compute!r}; choose float32 or bfloat16")
        shape = self.shape
        for name, value in vars(shape).items():
            if value < 1:
                raise ValueError(f"model.{name} is {value}; give a number of at least 1")
        if shape.width % (2 * shape.heads):
            raise ValueError(
                f"model.width is {shape.width}, not a multiple of twice the heads (2 x {shape.heads}); "
                "change model.width or model.heads"
            )

    @property
    def dropout_of_weights(self) -> float:
        """The dropout on attention weights."""
        return self.dropout if self.attention_dropout is None else self.attention_dropout

    @property
    def shape(self) -> Shape:
        """The preset with the overrides applied."""
        overrides = {name: getattr(self, name) for name in vars(PRESETS["base"])}
        return replace(PRESETS[self.preset], **{k: v for k, v in overrides.items() if v is not None})
