"""The endless shuffled stream of packed batches over some stores: a pure function of a small cursor."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import Batch, Tokens, assign_rows, fill
from facetmt.data.config import BatchConfig
from facetmt.data.store import Store, spans
from facetmt.errors import UserError
from facetmt.permutation import permuted

LOOKAHEAD = 1.02  # tokens in the pool for each token of room in the batch
AGED = 8  # a pair that has waited for this many pools of pairs is placed first
BLOCK = 128  # rows packed at once, so that time stays linear in the number of rows

Int = NDArray[np.int64]


class PairSet:
    """Some pairs of some stores behind one index; the facet of a pair is its store's facet index."""

    def __init__(
        self, stores: Sequence[Store], facets: Sequence[int], chosen: Sequence[Int] | None = None
    ) -> None:
        self.stores = list(stores)
        self.facets = np.array(facets, np.int64)
        self._chosen = chosen  # indices into each store; None: all pairs
        sizes = [len(store) for store in stores] if chosen is None else [len(indices) for indices in chosen]
        self._ends = np.cumsum(sizes, dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def mean_lengths(self) -> tuple[float, float]:
        """Mean source and target tokens per pair (of whole stores)."""
        headers = [store.header for store in self.stores]
        pairs = max(1, sum(header.pairs for header in headers))
        return (
            sum(header.source_tokens for header in headers) / pairs,
            sum(header.target_tokens for header in headers) / pairs,
        )

    def lengths(self, indices: Int) -> tuple[Int, Int]:
        """Tokens of source and target, [P] each."""
        if len(self.stores) == 1 and self._chosen is None:
            return self.stores[0].lengths(indices)
        source, target = np.empty(len(indices), np.int64), np.empty(len(indices), np.int64)
        for number, members, inner in self._by_store(indices):
            source[members], target[members] = self.stores[number].lengths(inner)
        return source, target

    def tokens(self, indices: Int, lengths: tuple[Int, Int]) -> Tokens:
        """The pairs' tokens in the order of `indices`, whose lengths are known."""
        source_length, target_length = lengths
        if len(self.stores) == 1 and self._chosen is None:
            source, target = self.stores[0].tokens(indices)
            return Tokens(source, target, source_length, target_length, np.repeat(self.facets, len(indices)))
        source = np.empty(int(source_length.sum()), np.int64)
        target = np.empty(int(target_length.sum()), np.int64)
        facet = np.empty(len(indices), np.int64)
        begins = np.cumsum(source_length) - source_length, np.cumsum(target_length) - target_length
        for number, members, inner in self._by_store(indices):
            left, right = self.stores[number].tokens(inner)
            source[spans(begins[0][members], source_length[members])] = left
            target[spans(begins[1][members], target_length[members])] = right
            facet[members] = self.facets[number]
        return Tokens(source, target, source_length, target_length, facet)

    def _by_store(self, indices: Int) -> Iterator[tuple[int, Int, Int]]:
        """(store number, members of `indices` that lie in it, their indices in that store)."""
        number = np.searchsorted(self._ends, indices, side="right")
        order = np.argsort(number, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
            if len(members):
                store = int(number[members[0]])
                inner = indices[members] - (self._ends[store - 1] if store else 0)
                yield store, members, inner if self._chosen is None else self._chosen[store][inner]


class Cursor(NamedTuple):
    """A position in an endless stream of pairs; position // pairs is the epoch."""

    position: int = 0  # pairs taken from the stream so far
    pending: tuple[int, ...] = ()  # positions taken, but left for the next batch


class Packed(NamedTuple):
    """P pairs in some rows: the row of each (never decreasing), its index in the set, its lengths."""

    row: Int  # [P]
    pair: Int  # [P]
    source: Int  # [P] tokens
    target: Int  # [P] tokens


class Stream:
    """The endless shuffled stream over a set of pairs; `draw` is a pure function of the cursor.

    Which pair goes where is decided for whole batches; only the text of the given `rows` is read.
    """

    def __init__(self, pairs: PairSet, config: BatchConfig, key: int, rows: slice | None = None) -> None:
        check_fit(pairs, config)
        self.pairs = pairs
        self.config = config
        self._key = key
        self._rows = rows or slice(0, config.rows)

    def draw(self, cursor: Cursor) -> tuple[Batch, Cursor]:
        """The batch at `cursor` and the cursor after it."""
        packed, cursor = self.pack(cursor, self.config.rows, self.config.sentences)
        return filled(self.pairs, packed, self._rows, self.config.width), cursor

    def pack(self, cursor: Cursor, rows: int, sentences: int | None, spare: int = 0) -> tuple[Packed, Cursor]:
        """What fills `rows` rows from `cursor` on, with at most `sentences` pairs; and the cursor after it.

        With `spare` more rows of text to choose from, a few rows are filled as well as many.
        """
        parts = []
        for start in range(0, rows, BLOCK):
            part, cursor = self._pack(cursor, min(BLOCK, rows - start), sentences, spare)
            parts.append(part._replace(row=part.row + start))
            if sentences is not None:
                sentences -= len(part.row)
        return Packed(*(np.concatenate(columns) for columns in zip(*parts, strict=True))), cursor

    def epochs(self, cursor: Cursor) -> float:
        """How often the facet has been seen."""
        return (cursor.position - len(cursor.pending)) / len(self.pairs)

    def _pack(self, cursor: Cursor, rows: int, budget: int | None, spare: int) -> tuple[Packed, Cursor]:
        positions = np.array(cursor.pending, np.int64)[:budget]
        held = cursor.pending[len(positions) :]
        indices, source, target = self._look(positions)
        new = self._wanted(rows + spare, int(source.sum()), int(target.sum()))
        if budget is not None:
            new = min(new, budget - len(positions))
        end = cursor.position + new
        more = np.arange(cursor.position, end)
        columns = zip((positions, indices, source, target), (more, *self._look(more)), strict=True)
        positions, indices, source, target = (np.concatenate(pair) for pair in columns)
        if not len(positions):
            return Packed(positions, indices, source, target), cursor
        aged = positions < end - AGED * len(positions)
        row = assign_rows(source, target, aged, rows, self.config.width)
        left = (*positions[row < 0].tolist(), *held)
        placed, row = _by_row(row)
        return Packed(row, indices[placed], source[placed], target[placed]), Cursor(end, left)

    def _look(self, positions: Int) -> tuple[Int, Int, Int]:
        """Index, source length and target length of the pairs at some positions of the stream."""
        indices = permuted(positions, len(self.pairs), self._key)
        return indices, *self.pairs.lengths(indices)

    def _wanted(self, rows: int, source: int, target: int) -> int:
        """How many new pairs fill the pool, given the tokens already waiting in it."""
        mean_source, mean_target = self.pairs.mean_lengths()
        room_source, room_target = (LOOKAHEAD * rows * width for width in self.config.width)
        fill_source, fill_target = (room_source - source) / mean_source, (room_target - target) / mean_target
        return max(0, int(np.ceil(min(fill_source, fill_target))))


def filled(pairs: PairSet, packed: Packed, rows: slice, width: tuple[int, int]) -> Batch:
    """These `rows` of the batch in which each pair goes to its row."""
    mine = slice(*np.searchsorted(packed.row, (rows.start, rows.stop)))
    row, pair, source, target = (column[mine] for column in packed)
    return fill(pairs.tokens(pair, (source, target)), row - rows.start, rows.stop - rows.start, width)


def packed_once(source: Int, target: Int, config: BatchConfig) -> Iterator[tuple[Int, Int]]:
    """Every pair once, as far as possible in order: each batch's pairs, and their rows (never decreasing)."""
    waiting = np.arange(len(source))
    room = LOOKAHEAD * config.rows * min(config.width)
    while len(waiting):
        pool = waiting[: config.sentences]
        pool = pool[: 1 + int(np.searchsorted(np.cumsum(np.minimum(source, target)[pool]), room))]
        row = assign_rows(
            source[pool], target[pool], np.zeros(len(pool), np.bool_), config.rows, config.width
        )
        placed, row = _by_row(row)
        yield pool[placed], row
        waiting = np.delete(waiting, placed)


def _by_row(row: Int) -> tuple[Int, Int]:
    """The pairs that were placed, in the order of their rows, and those rows."""
    placed = np.argsort(row, kind="stable")[int((row < 0).sum()) :]
    return placed, row[placed]


def check_fit(pairs: PairSet, config: BatchConfig) -> None:
    """Refuse pairs longer than a row, and an empty set, before the first batch."""
    source_width, target_width = config.width
    for header in (store.header for store in pairs.stores):
        if header.longest_source > source_width or header.longest_target > target_width:
            raise UserError(
                f"facet {header.name} has pairs of up to {header.longest_source} source and"
                f" {header.longest_target} target tokens, but rows have {source_width} and {target_width};"
                " lower data.max_length or raise batch.length"
            )
    if not len(pairs):
        names = ", ".join(store.name for store in pairs.stores)
        raise UserError(f"there are no pairs to draw from in {names}; add text or remove the facet")
