"""Facets, the files behind them, and the stream of their sentence pairs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, ClassVar, Literal, NamedTuple

from facetmt.data.chunks import Chunk
from facetmt.data.chunks import Files as Files
from facetmt.data.chunks import read_chunks as read_chunks
from facetmt.data.chunks import read_rows as read_rows
from facetmt.data.clean import CleanConfig, plain
from facetmt.data.lines import decode
from facetmt.data.vocab import VocabConfig
from facetmt.errors import UserError

LONGEST = 128  # subwords of a side, where the recipe gives no max_length
TOO_LONG = "too long"  # begins every reason for which a pair is dropped because of its length


@dataclass(frozen=True)
class TagConfig:
    """The recipe's `data.tags`: reserved symbols before the source sentence."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    target_language: bool | None = None  # <2en>; None: where facets have more than one target language
    facet: bool = False  # <facet:law>


@dataclass(frozen=True)
class FacetConfig:
    """One entry of the recipe's `data.facets`; what is left out is found or inherited."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    train: tuple[str, ...] | None = None  # [source file, target file], or [TSV file]; relative to root
    dev: tuple[str, ...] | None = None
    test: tuple[str, ...] | None = None
    source: str | None = None  # language, where it differs from data.source
    target: str | None = None
    limit: int | None = None  # only this many training pairs, the first ones

    def __post_init__(self) -> None:
        if any(files is not None and len(files) not in (1, 2) for files in (self.train, self.dev, self.test)):
            raise ValueError("files of a facet are written [source, target], or [file.tsv]")
        if self.train is None and any((self.dev, self.test, self.source, self.target)):
            raise ValueError("a facet that names other files or languages must name its train files too")
        if self.limit is not None and self.limit < 1:
            raise ValueError("limit must be at least 1, or left out")


@dataclass(frozen=True)
class DataConfig:
    """The recipe's `data` section (docs/data.md)."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    root: str  # folder of the corpus, relative to the recipe
    layout: Literal["pairs", "tsv", "ted", "opus100"] = "pairs"
    source: str | None = None  # language codes, where all facets share them (they are the file extensions)
    target: str | None = None
    pivot: str | None = None  # the language on one side of every pair; instead of source and target
    direction: Literal["many-to-one", "one-to-many", "many-to-many"] = "many-to-one"  # one = the pivot
    languages: tuple[str, ...] | None = None  # which others to pair with the pivot; None: all that are there
    facets: tuple[str, ...] | dict[str, FacetConfig] | None = None  # None: all that are found
    columns: tuple[int, int] = (1, 2)  # of source and target in a TSV file, counted from 1
    labels: str | int | None = None  # one facet a label: file extension of a sidecar, or column of the TSV
    keep: str | None = (
        None  # file extension of a sidecar of 0 and 1 beside the training text: 0 drops the line
    )
    limit: int | None = None  # only this many training pairs of each facet, the first ones
    errors: Literal["strict", "replace"] = "strict"  # invalid UTF-8: stop, or put U+FFFD
    allow_missing_dev: bool = False  # facets without dev text train, but are not in the balanced dev set
    dev_pairs: int = 200  # pairs from each facet in the balanced dev set, or all that it has
    # longest side of a pair in subwords, tags and EOS included; longer ones are dropped. None: LONGEST, or in a
    # recipe the rows of a batch where they are shorter
    max_length: int | None = None
    seed: int = 1  # draws the vocabulary's sample and the balanced dev set
    tags: TagConfig = field(default_factory=TagConfig)
    clean: CleanConfig = field(default_factory=CleanConfig)
    vocab: VocabConfig = field(default_factory=VocabConfig)

    def __post_init__(self) -> None:
        if self.pivot is not None and (self.source is not None or self.target is not None):
            raise ValueError("give either pivot, or source and target")
        if self.layout in ("ted", "opus100") and self.pivot is None:
            raise ValueError(f"the layout {self.layout} needs a pivot, such as `pivot: en`")
        if min(self.columns) < 1 or (isinstance(self.labels, int) and self.labels < 1):
            raise ValueError("columns are counted from 1")
        if isinstance(self.labels, int) and self.layout != "tsv":
            raise ValueError("labels by column number need the layout tsv; otherwise give a file extension")
        if self.layout in ("ted", "opus100") and (self.labels is not None or self.keep is not None):
            raise ValueError("labels and keep need the layout pairs or tsv")
        if self.languages is not None and self.pivot is None:
            raise ValueError("languages are those to pair with the pivot: give one, such as `pivot: en`")
        if (self.limit is not None and self.limit < 1) or self.dev_pairs < 1 or self.longest < 2:
            raise ValueError("limit and dev_pairs must be at least 1 and max_length at least 2")

    @property
    def longest(self) -> int:
        """`max_length`, or what stands for it."""
        return LONGEST if self.max_length is None else self.max_length


@dataclass(frozen=True)
class Facet:
    """A named part of the corpus with its languages; files by split, empty once prepared."""

    name: str
    source_language: str
    target_language: str
    files: Mapping[str, Files] = field(default_factory=dict)


class SentencePair(NamedTuple):
    """A pair as it stands in the files; `line` counts from 1."""

    source: str
    target: str
    line: int


class Text(NamedTuple):
    """The pairs of a chunk that have text on both sides, and a count of the others by reason."""

    pairs: list[SentencePair]
    source: list[str]  # of the pairs, without odd characters
    target: list[str]
    dropped: Counter[str]

    def where(self, keep: Sequence[bool]) -> "Text":
        """The pairs for which `keep` holds."""
        source, target = list(compress(self.source, keep)), list(compress(self.target, keep))
        return Text(list(compress(self.pairs, keep)), source, target, self.dropped)


def read_parallel(facet: Facet, split: str, errors: str = "strict") -> Iterator[SentencePair]:
    """The pairs of a facet's split that have text on both sides, unchanged."""
    files = facet.files.get(split)
    if files is None:
        raise UserError(f"facet {facet.name} has no {split} text")
    for chunk in read_chunks(files):
        yield from decode_chunk(chunk, files, errors).pairs


def decode_chunk(chunk: Chunk, files: Files, errors: str) -> Text:
    """Decode a chunk and drop pairs that are too long to be read or blank on a side."""
    dropped = Counter(chunk.dropped)
    readable = [
        (number, source, target)
        for number, source, target in zip(chunk.numbers, chunk.source, chunk.target, strict=True)
        if source is not None and target is not None
    ]
    dropped[f"{TOO_LONG} (bytes)"] += len(chunk.numbers) - len(readable)
    numbers = [number for number, _, _ in readable]
    source = decode([line for _, line, _ in readable], files.source, numbers, errors)
    target = decode([line for _, _, line in readable], files.target, numbers, errors)
    pairs = list(map(SentencePair, source, target, numbers))
    text = Text(pairs, list(map(plain, source)), list(map(plain, target)), dropped)
    if not (all(text.source) and all(text.target)):
        full = [bool(left and right) for left, right in zip(text.source, text.target, strict=True)]
        dropped["blank"] += len(full) - sum(full)
        text = text.where(full)
    return text._replace(dropped=+dropped)
