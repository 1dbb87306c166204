"""The recipe's `data` and `batch`; reading them needs neither SentencePiece nor sacremoses."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

LONGEST = 128  # subwords of a side, where the recipe gives no max_length
SPECIAL_IDS = 4  # the first ids of every vocabulary: PAD, UNK, BOS, EOS


@dataclass(frozen=True)
class BatchConfig:
    """The one shape of every batch; the token budget of a side is rows x its length."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    rows: int = 64  # rows per batch
    length: int = 128  # tokens per row, on the source side and, unless given below, on the target side
    target_length: int | None = None  # tokens per row on the target side
    sentences: int | None = None  # at most this many pairs per batch; None: as many as fit

    def __post_init__(self) -> None:
        if self.rows < 1 or self.length < 2 or (self.target_length is not None and self.target_length < 2):
            raise ValueError(
                "a batch needs at least 1 row of at least 2 tokens: raise rows, length or target_length"
            )
        if self.sentences is not None and self.sentences < 1:
            raise ValueError("sentences must be at least 1, or left out for as many pairs as fit")

    @property
    def width(self) -> tuple[int, int]:
        """(S, T)."""
        return self.length, self.length if self.target_length is None else self.target_length


@dataclass(frozen=True)
class CleanConfig:
    """The recipe's `data.clean`: what is done to the text, and which pairs are dropped for their length."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    moses: bool = False  # normalise punctuation, tokenise and truecase; undone in the output
    max_words: int | None = None  # drop pairs with more words (tokens, with Moses) on either side
    # drop pairs in which one side has more than this many times the words of the other
    max_ratio: float | None = None

    def __post_init__(self) -> None:
        if self.max_words is not None and self.max_words < 1:
            raise ValueError("clean.max_words must be at least 1, or left out")
        if self.max_ratio is not None and self.max_ratio < 1:
            raise ValueError("clean.max_ratio must be at least 1, or left out")


@dataclass(frozen=True)
class VocabConfig:
    """The recipe's `data.vocab`."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    kind: Literal["unigram", "bpe"] = "unigram"  # how SentencePiece learns pieces
    size: int = 32_000  # pieces per model, including the 4 special symbols; tags come on top
    joint: bool = True  # one model for both sides; false: one per side
    # learn on all facets, or all languages, upsampled to the largest; none: on the plain concatenation.
    # Recipes of earlier versions have true for facet and false for none.
    balance: Literal["facet", "language", "none"] | bool = "facet"
    # sentences to learn from, both sides together (unigram: about 2.5 KB of memory each)
    sample: int = 300_000
    coverage: float = 0.9995  # share of the sample's characters that must have a piece of their own
    byte_fallback: bool = False  # spell characters without a piece in bytes (256 pieces) instead of UNK
    exact: bool = True  # false: fewer pieces where the text does not support `size`, instead of an error

    def __post_init__(self) -> None:
        if self.size <= SPECIAL_IDS or self.sample < 2:
            raise ValueError(f"vocab.size must be above {SPECIAL_IDS} and vocab.sample at least 2")
        if not 0.98 <= self.coverage <= 1:
            raise ValueError("vocab.coverage must be between 0.98 and 1")
        if isinstance(self.balance, bool):
            object.__setattr__(self, "balance", "facet" if self.balance else "none")


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
    languages: tuple[str, ...] | None = None  # which others to pair with the pivot; None: all that are found
    facets: tuple[str, ...] | dict[str, FacetConfig] | None = None  # None: all that are found
    columns: tuple[int, int] = (1, 2)  # of source and target in a TSV file, counted from 1
    labels: str | int | None = None  # one facet per label: file extension of a sidecar, or column of the TSV
    # file extension of a sidecar of 0 and 1 beside the training text: 0 drops the line
    keep: str | None = None
    limit: int | None = None  # only this many training pairs of each facet, the first ones
    errors: Literal["strict", "replace"] = "strict"  # invalid UTF-8: stop, or replace by U+FFFD
    allow_missing_dev: bool = False  # facets without dev text train, but are not in the balanced dev set
    dev_pairs: int = 200  # pairs from each facet in the balanced dev set, or all that it has
    # longest side of a pair in subwords, including tags and EOS; longer pairs are dropped. None: LONGEST, or
    # the length of the recipe's rows where that is less
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
        """`max_length`, or its default."""
        return LONGEST if self.max_length is None else self.max_length
