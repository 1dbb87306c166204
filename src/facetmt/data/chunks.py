"""From files to chunks of undecoded sentence pairs: line-aligned text, TSV columns, sidecars."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from typing import NamedTuple

from facetmt.data.lines import count_lines, read_lines
from facetmt.errors import UserError

CHUNK_LINES, CHUNK_BYTES = 4_096, 1 << 22  # a chunk is closed at the first of the two

Line = bytes | None  # None: too long to be read


@dataclass(frozen=True)
class Files:
    """One split of a facet: two line-aligned files, or two columns of a TSV file."""

    source: Path
    target: Path  # the same file for TSV
    columns: tuple[int, int] | None = None  # of a TSV file, counted from 0
    header: bool = False  # the TSV file's first line is not text
    missing: tuple[str, ...] = ()  # a pair with one of these strings as a side does not exist
    label: str | None = None  # only pairs with this label ...
    labels: Path | int | None = None  # ... in this sidecar or TSV column, counted from 0
    keep: Path | None = None  # sidecar of 0 and 1
    limit: int | None = None

    def paths(self) -> list[Path]:
        """Every file that the split is read from."""
        sidecars = [path for path in (self.labels, self.keep) if isinstance(path, Path)]
        return list(dict.fromkeys([self.source, self.target, *sidecars]))


class Chunk(NamedTuple):
    """Some consecutive undecoded pairs, and how many were left out among them by reason."""

    numbers: Sequence[int]  # line number of each pair
    source: list[Line]
    target: list[Line]
    dropped: dict[str, int]

    def part(self, start: int, end: int) -> "Chunk":
        """Some of the pairs; the first part carries the counts."""
        cut = slice(start, end)
        return Chunk(self.numbers[cut], self.source[cut], self.target[cut], {} if start else self.dropped)


def read_chunks(files: Files) -> Iterator[Chunk]:
    """The pairs of a split, in chunks that are cheap to hand to another process."""
    left = files.limit
    for chunk in _selected(files):
        kept = chunk if left is None else chunk.part(0, left)
        yield from _bounded(kept)
        if left is not None:
            left -= len(kept.numbers)
            if left == 0:
                return


def read_rows(files: Files, skipped: Counter[str]) -> Iterator[tuple[int, Line, Line]]:
    """(line number, source, target) of each pair; `skipped` counts those left out on purpose."""
    for chunk in _selected(files):
        skipped.update(chunk.dropped)
        yield from zip(chunk.numbers, chunk.source, chunk.target, strict=True)


def _bounded(chunk: Chunk) -> Iterator[Chunk]:
    """The chunk, in parts if it has very long lines."""
    size = sum(map(len, filter(None, chunk.source))) + sum(map(len, filter(None, chunk.target)))
    step = max(1, len(chunk.numbers) * CHUNK_BYTES // max(size, CHUNK_BYTES))
    for start in range(0, max(1, len(chunk.numbers)), step):
        part = slice(start, start + step)
        yield Chunk(
            chunk.numbers[part], chunk.source[part], chunk.target[part], {} if start else chunk.dropped
        )


def _selected(files: Files) -> Iterator[Chunk]:
    """The split's pairs; those left out by markers or sidecars are counted, those of other labels are not."""
    label = None if files.label is None else files.label.encode()
    missing = [marker.encode() for marker in files.missing]
    for numbers, source, target, labels, keeps in _rows(files):
        dropped: Counter[str] = Counter()
        keep = [True] * len(numbers)
        if labels is not None and label is not None:
            keep = [found is not None and found.strip() == label for found in labels]
        if keeps is not None:
            for index, value in enumerate(keeps):
                if not _is_kept(value, files.keep, numbers[index]) and keep[index]:
                    keep[index] = False
                    dropped["filtered"] += 1
        for index in range(len(numbers)) if missing else ():
            texts = source[index] or b"", target[index] or b""
            if keep[index] and any(marker in text for marker in missing for text in texts):
                keep[index] = False
                dropped["missing"] += 1
        if not all(keep):
            numbers = list(compress(numbers, keep))
            source, target = list(compress(source, keep)), list(compress(target, keep))
        yield Chunk(numbers, source, target, dict(dropped))


def _is_kept(value: Line, path: Path | None, number: int) -> bool:
    if value not in (b"0", b"1"):
        raise UserError(
            f"{path}, line {number}: expected 0 or 1, found {value!r}; write one of them on each line"
        )
    return value == b"1"


Column = list[Line]
# numbers, source, target, label, keep
Rows = tuple[Sequence[int], Column, Column, Column | None, Column | None]


def _rows(files: Files) -> Iterator[Rows]:
    """CHUNK_LINES lines at a time of all files of the split, which must have the same number of lines."""
    sidecar = files.labels if isinstance(files.labels, Path) else None
    paths = [files.source, None if files.columns else files.target, sidecar, files.keep]
    count = 0
    for first, (source, target, labels, keep) in _aligned(paths):
        assert source is not None
        numbers = range(first, first + len(source))
        if files.columns is not None:
            count = count or next((len(line.split(b"\t")) for line in source if line is not None), 0)
            cells = [_cells(line, files, number, count) for line, number in zip(source, numbers, strict=True)]
            source, target = ([row[column] if row else None for row in cells] for column in files.columns)
            if isinstance(files.labels, int):
                labels = [row[files.labels] if row else None for row in cells]
            if first == 1 and files.header:
                numbers, source, target = numbers[1:], source[1:], target[1:]
                labels, keep = labels and labels[1:], keep and keep[1:]
        assert target is not None
        yield numbers, source, target, labels, keep


def _cells(line: Line, files: Files, number: int, count: int) -> list[bytes]:
    """The columns of a TSV line; no quoting, and as many as the first line has."""
    assert files.columns is not None
    if line is None:
        return []
    cells = line.split(b"\t")
    needed = 1 + max(*files.columns, files.labels if isinstance(files.labels, int) else 0)
    if len(cells) < needed and len(cells) == count:
        raise UserError(
            f"{files.source}, line {number}: there is no column {needed}, only {count};"
            " check data.columns and data.labels, which count from 1; a tab separates columns"
        )
    if len(cells) != max(count, needed):
        raise UserError(
            f"{files.source}, line {number}: {len(cells)} columns instead of {max(count, needed)};"
            " remove a tab inside a text, or add the missing one"
        )
    return cells


def _aligned(paths: Sequence[Path | None]) -> Iterator[tuple[int, list[Column | None]]]:
    """(number of the first line, lines of each file) in blocks; unequal line counts are an error."""
    streams = [None if path is None else read_lines(path) for path in paths]
    first = 1
    while True:
        columns = [None if stream is None else list(islice(stream, CHUNK_LINES)) for stream in streams]
        sizes = {len(column) for column in columns if column is not None}
        if len(sizes) > 1:
            check_aligned([path for path in paths if path is not None])
            raise UserError(f"{paths[0]}: it or a file beside it changed while being read; try again")
        if sizes == {0}:
            return
        yield first, columns
        first += sizes.pop()


def check_aligned(paths: Sequence[Path]) -> int:
    """The number of lines that all the files have; if they differ, an error names the files and counts."""
    counts = {path: count_lines(path) for path in paths}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{path} has {count}" for path, count in counts.items())
        raise UserError(f"line counts differ: {found}; aligned files need the same number of lines")
    return counts[paths[0]]


def count_pairs(files: Files) -> int:
    """Pairs of a split, with its limit applied; all of it is read, which finds files that do not match."""
    if files.columns is None and files.label is None and files.keep is None and not files.missing:
        count = check_aligned(files.paths())
    else:
        count = sum(len(chunk.numbers) for chunk in _selected(files))
    return count if files.limit is None else min(count, files.limit)
