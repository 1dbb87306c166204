"""The settings of decoding and of scoring; readable without JAX."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from facetmt.data.names import fault


@dataclass(frozen=True)
class DecodeConfig:
    """Beam search."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    beam: int = 5  # hypotheses kept; 1 is greedy
    length_penalty: float = 0.6  # α of ((5 + length)/6)^α, by which a log-probability is divided
    exact: bool = False  # go on while an unfinished hypothesis could still win, not only while one is ahead
    max_length: int = 256  # longest output in tokens
    max_source: int = (
        256  # longest input in tokens; a longer line is cut at sentence ends and put together again
    )
    batch: int = 32  # sentences decoded at once
    average: int = 1  # checkpoints whose parameters are averaged, the best by dev BLEU first

    def __post_init__(self) -> None:
        for name in ("beam", "max_length", "max_source", "batch", "average"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give a number of at least 1.")
        if self.length_penalty < 0:
            raise ValueError(f"length_penalty is {self.length_penalty}; give 0 or more.")


@dataclass(frozen=True)
class SetConfig:
    """One entry of `evaluate.sets`: a test set besides those of the facets."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    source: str  # line-aligned files, relative to data.root
    target: str
    facet: str  # whose languages, cleaning and tags apply


@dataclass(frozen=True)
class EvaluateConfig:
    """What is scored, and how."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    # what is averaged together: name -> facets or sets, or patterns of their names such as en-*
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # name -> [least, below] training pairs: each of `groups`, or the whole, cut by size
    size_groups: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    sets: dict[str, SetConfig] = field(default_factory=dict)  # further test sets: name -> files and facet
    preprocessed_references: bool = False  # score against references that went through the same cleaning
    tag: str | None = None  # facet tag to force on every source, where facet tags are in use

    def __post_init__(self) -> None:
        for name in self.sets:
            if reason := fault(name):  # its translations are written to a file of that name
                raise ValueError(f"{name!r} cannot name a test set {reason}; rename it in sets.")
        for name, (least, below) in self.size_groups.items():
            if least < 0 or (below is not None and below <= least):
                raise ValueError(
                    f"size_groups.{name} is [{least}, {below}]; give [least, below], below may be null."
                )

    def members(self, sizes: Mapping[str, int]) -> dict[str, list[str]]:
        """The names in each group, given the training size behind every name that is scored."""
        named = {
            group: [name for name in sizes if any(name == one or fnmatchcase(name, one) for one in patterns)]
            for group, patterns in self.groups.items()
        }
        cut = {
            f"{group} {size}".strip(): [
                name for name in names if least <= sizes[name] and (below is None or sizes[name] < below)
            ]
            for group, names in (named or {"": list(sizes)}).items()
            for size, (least, below) in self.size_groups.items()
        }
        return {**named, **cut}
