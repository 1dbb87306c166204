"""The settings of decoding and of scoring; loads no JAX."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from facetmt.data.names import fault

SLACK = 8  # tokens that any output may have beyond decode.max_ratio


@dataclass(frozen=True)
class DecodeConfig:
    """Beam search."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    beam: int = 5  # hypotheses kept; 1 is greedy
    length_penalty: float = 0.6  # α of ((5 + length)/6)^α, by which a log-probability is divided
    # continue while an unfinished hypothesis could still win, not only while one is ahead
    exact: bool = False
    max_length: int = 256  # longest output in tokens
    max_ratio: float | None = None  # longest output: this many times the input, plus 8 tokens
    # longest input in tokens, never below data.max_length; longer lines are cut
    max_source: int | None = None
    batch: int = 32  # sentences decoded at once
    average: int = 1  # checkpoints whose parameters are averaged, the best by dev BLEU first

    def __post_init__(self) -> None:
        for name in ("beam", "max_length", "max_source", "batch", "average"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; give a number of at least 1.")
        if self.max_ratio is not None and self.max_ratio <= 0:
            raise ValueError(f"max_ratio is {self.max_ratio}; give more than 0, or null for no limit.")
        if self.length_penalty < 0:
            raise ValueError(f"length_penalty is {self.length_penalty}; give 0 or more.")

    def for_training(self, longest: int) -> "DecodeConfig":
        """With `max_source` filled in, so that nothing up to `longest` (data.max_length) is cut."""
        return replace(self, max_source=max(longest, self.max_source or 0))

    def longest_output(self, source: int) -> int:
        """Tokens after which the translation of `source` tokens is cut off, EOS included."""
        if self.max_ratio is None:
            return self.max_length
        return min(self.max_length, int(self.max_ratio * source) + SLACK)


@dataclass(frozen=True)
class SetConfig:
    """One entry of `evaluate.sets`: a test set in addition to those of the facets."""

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
    # name -> [least, below] training pairs, before any were dropped: cuts each of `groups`, or all, by size
    size_groups: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    sets: dict[str, SetConfig] = field(default_factory=dict)  # further test sets: name -> files and facet
    preprocessed_references: bool = False  # score against references cleaned in the same way
    # target language -> SacreBLEU tokeniser, instead of the default
    tokenisers: dict[str, str] = field(default_factory=dict)
    tag: str | None = None  # facet tag to force on every source, where facet tags are in use

    def __post_init__(self) -> None:
        for name in self.sets:
            if reason := fault(name):  # its translations are written to a file of that name
                raise ValueError(f"{name!r} cannot name a test set {reason}; rename it in sets.")
        for name, (least, below) in self.size_groups.items():
            if (least or 0) < 0 or (below is not None and below <= (least or 0)):
                raise ValueError(
                    f"size_groups.{name} is [{least}, {below}]; give [least, below], each a number or null."
                )

    def unmatched(self, names: Collection[str]) -> dict[str, str]:
        """Group -> its first member that is not one of these names and, as a pattern, matches none."""
        return {
            group: next(one for one in patterns if not fitting(one, names))
            for group, patterns in self.groups.items()
            if not all(fitting(one, names) for one in patterns)
        }

    def members(self, sizes: Mapping[str, int]) -> dict[str, list[str]]:
        """The names in each group, given the training size behind every name that is scored."""
        named = {
            group: [name for name in sizes if any(fitting(one, (name,)) for one in patterns)]
            for group, patterns in self.groups.items()
        }
        cut = {
            f"{group} {size}".strip(): [
                name for name in names if (least or 0) <= sizes[name] < (math.inf if below is None else below)
            ]
            for group, names in (named or {"": list(sizes)}).items()
            for size, (least, below) in self.size_groups.items()
        }
        return {**named, **cut}


def fitting(pattern: str, names: Collection[str]) -> list[str]:
    """The names that a member of a group stands for; it is a name, or a pattern such as en-*."""
    return [name for name in names if name == pattern or fnmatchcase(name, pattern)]
