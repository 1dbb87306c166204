"""Facets, the files behind them, and the stream of their sentence pairs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from facetmt.data.clean import CleanConfig, plain
from facetmt.data.lines import decode, read_lines
from facetmt.data.vocab import VocabConfig
from facetmt.errors import UserError

CHUNK_LINES, CHUNK_BYTES = 4_096, 1 << 22  # a chunk is closed at the first of the two

Line = bytes | None  # None: too long to be read


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
    limit: int | None = None  # the first so many training pairs

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
    limit: int | None = None  # the first so many training pairs of each facet
    errors: Literal["strict", "replace"] = "strict"  # invalid UTF-8: stop, or put U+FFFD
    allow_missing_dev: bool = False  # facets without dev text train, but are not in the balanced dev set
    dev_pairs: int = 200  # pairs from each facet in the balanced dev set
    max_length: int = (
        128  # longest side of a pair in subwords, tags and EOS included; longer ones are dropped
    )
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
        if (self.limit is not None and self.limit < 1) or self.dev_pairs < 1 or self.max_length < 2:
            raise ValueError("limit and dev_pairs must be at least 1 and max_length at least 2")


@dataclass(frozen=True)
class Files:
    """One split of a facet: two line-aligned files, or two columns of a TSV file."""

    source: Path
    target: Path  # the same file for TSV
    columns: tuple[int, int] | None = None  # of a TSV file, counted from 0
    header: bool = False  # the TSV file's first line is not text
    missing: tuple[str, ...] = ()  # a pair with one of these strings in it is not there
    label: str | None = None  # only pairs with this label ...
    labels: Path | int | None = None  # ... in this sidecar or TSV column, counted from 0
    keep: Path | None = None  # sidecar of 0 and 1
    limit: int | None = None

    def paths(self) -> list[Path]:
        """Every file that the split is read from."""
        sidecars = [path for path in (self.labels, self.keep) if isinstance(path, Path)]
        return list(dict.fromkeys([self.source, self.target, *sidecars]))


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


class Chunk(NamedTuple):
    """Some undecoded pairs in a row, and how many were left out among them and why."""

    numbers: Sequence[int]  # line number of each pair
    source: list[Line]
    target: list[Line]
    dropped: dict[str, int]


def read_parallel(facet: Facet, split: str, errors: str = "strict") -> Iterator[SentencePair]:
    """The pairs of a facet's split that have text on both sides, unchanged."""
    files = facet.files.get(split)
    if files is None:
        raise UserError(f"facet {facet.name} has no {split} text")
    for chunk in read_chunks(files):
        yield from decode_chunk(chunk, files, errors)[0]


def decode_chunk(chunk: Chunk, files: Files, errors: str) -> tuple[list[SentencePair], Counter[str]]:
    """Text of the pairs that have some on both sides, and a count of the others by reason."""
    pairs = []
    dropped = Counter(chunk.dropped)
    for number, source, target in zip(chunk.numbers, chunk.source, chunk.target, strict=True):
        if source is None or target is None:
            dropped["too long"] += 1
            continue
        left = decode(source, files.source, number, errors)
        right = decode(target, files.target, number, errors)
        if plain(left) and plain(right):
            pairs.append(SentencePair(left, right, number))
        else:
            dropped["blank"] += 1
    return pairs, dropped


def read_chunks(files: Files) -> Iterator[Chunk]:
    """The pairs of a split, in chunks that are cheap to hand to another process."""
    skipped: Counter[str] = Counter()
    rows = islice(read_rows(files, skipped), files.limit)
    while True:
        numbers, sources, targets, size = [], [], [], 0
        for number, source, target in islice(rows, CHUNK_LINES):
            numbers.append(number)
            sources.append(source)
            targets.append(target)
            size += len(source or b"") + len(target or b"")
            if size > CHUNK_BYTES:
                break
        if not numbers and not skipped:
            return
        yield Chunk(numbers, sources, targets, dict(skipped))
        skipped.clear()
        if not numbers:
            return


def read_rows(files: Files, skipped: Counter[str]) -> Iterator[tuple[int, Line, Line]]:
    """(line number, source, target) of each pair of the split; `skipped` counts those left out on purpose."""
    label = None if files.label is None else files.label.encode()
    missing = [marker.encode() for marker in files.missing]
    rows = _columns(files) if files.columns is not None else _aligned(files)
    for number, (source, target, found, keep) in enumerate(rows, 2 if files.header else 1):
        if label is not None and (found is None or found.strip() != label):
            continue
        if files.keep is not None and not _is_kept(keep, files.keep, number):
            skipped["filtered"] += 1
            continue
        if missing and any(marker in text for marker in missing for text in (source, target) if text):
            skipped["missing"] += 1
            continue
        yield number, source, target


def _is_kept(value: Line, path: Path, number: int) -> bool:
    if value not in (b"0", b"1"):
        raise UserError(f"{path}, line {number}: expected 0 or 1, found {value!r}")
    return value == b"1"


Row = tuple[Line, Line, Line, Line]  # source, target, label, keep


def _aligned(files: Files) -> Iterator[Row]:
    """Rows of files that must have the same number of lines."""
    return _zipped([files.source, files.target, files.labels, files.keep])


def _columns(files: Files) -> Iterator[Row]:
    """Rows of a TSV file, every line of which must have as many columns as the first; no quoting."""
    assert files.columns is not None
    sidecar = files.labels if isinstance(files.labels, Path) else None
    column = files.labels if isinstance(files.labels, int) else None
    needed = 1 + max(*files.columns, column or 0)
    count = 0
    for number, (line, _, label, keep) in enumerate(_zipped([files.source, None, sidecar, files.keep]), 1):
        cells: list[bytes] = [] if line is None else line.split(b"\t")
        if line is not None:
            count = count or len(cells)
            if len(cells) != count or count < needed:
                wanted = max(count, needed) if number == 1 else count
                raise UserError(
                    f"{files.source}, line {number}: {len(cells)} columns instead of {wanted};"
                    " a tab inside a text or a missing one shifts the columns"
                )
        if number == 1 and files.header:
            continue
        source, target = (cells[c] if cells else None for c in files.columns)
        yield source, target, (cells[column] if cells else None) if column is not None else label, keep


def _zipped(paths: Sequence[Path | int | None]) -> Iterator[Row]:
    """Lines of the files side by side, None where there is no file; unequal counts are an error."""
    present = [path for path in paths if isinstance(path, Path)]
    slots = [index for index, path in enumerate(paths) if isinstance(path, Path)]
    try:
        for lines in zip(*(read_lines(path) for path in present), strict=True):
            row: list[Line] = [None] * 4
            for slot, line in zip(slots, lines, strict=True):
                row[slot] = line
            yield row[0], row[1], row[2], row[3]
    except ValueError:
        counts = {path: sum(1 for _ in read_lines(path)) for path in present}
        raise UserError(
            "line counts differ: "
            + ", ".join(f"{path} has {count}" for path, count in counts.items())
            + "; line-aligned files must have the same number of lines"
        ) from None
