"""The endless shuffled stream of one facet's samples: a pure function of a small cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from facetmt.adapters.indices import Indices, Int
from facetmt.permutation import permuted

BLOCK = 512  # positions whose samples are computed at once
POOL = 4096  # samples that are sorted by length together


class Cursor(NamedTuple):
    """How far a stream was drawn; position // samples is the epoch."""

    position: int = 0  # of the next sample, or of the first sample of the pool that is in use
    bundle: int = 0  # bundles of that pool that were drawn


class IndexStream:
    """What both kinds of streams share."""

    def __init__(self, samples: Indices, key: int) -> None:
        self.samples, self._key = samples, key

    @property
    def size(self) -> int:
        return len(self.samples)

    def cursor(self, saved: Sequence[Any] = ()) -> Cursor:
        return Cursor(*map(int, saved))


class SampleStream(IndexStream):
    """A row is one sample."""

    def __init__(self, samples: Indices, key: int) -> None:
        super().__init__(samples, key)
        self._block: tuple[int, Int] = (-1, np.empty(0, np.int64))

    def take(self, cursor: Cursor, rows: int, mine: slice) -> tuple[list[int], Cursor]:
        """The samples of `mine` among the next `rows` rows, and the cursor after all of them."""
        chosen, taken = range(cursor.position, cursor.position + rows)[mine], []
        while chosen:
            start = chosen.start - chosen.start % BLOCK
            block = self._samples_from(start)
            taken += block[chosen.start - start :: chosen.step][: len(chosen)].tolist()
            chosen = chosen[len(range(chosen.start, start + BLOCK, chosen.step)) :]
        return taken, Cursor(cursor.position + rows)

    def epochs(self, cursor: Cursor) -> float:
        """How often the facet was drawn."""
        return cursor.position / len(self.samples)

    def _samples_from(self, start: int) -> Int:
        """A block of the stream."""
        if self._block[0] != start:
            places = permuted(np.arange(start, start + BLOCK), len(self.samples), self._key)
            self._block = start, self.samples[places]
        return self._block[1]


class BundleStream(IndexStream):
    """A row is a bundle: samples of similar length that have at most `tokens` tokens once they are padded.

    Bundles are cut from pools of shuffled samples, sorted by length; no pool has samples of two epochs.
    """

    def __init__(self, samples: Indices, key: int, lengths: npt.NDArray[Any], tokens: float) -> None:
        super().__init__(samples, key)
        self._lengths, self._tokens = lengths, tokens
        self._pool: tuple[int, list[Int]] = (-1, [])

    def take(self, cursor: Cursor, rows: int, mine: slice) -> tuple[list[int], Cursor]:
        """As `SampleStream.take`; all samples of each of my bundles."""
        wanted = set(range(rows)[mine])
        taken: list[int] = []
        for row in range(rows):
            bundles = self._bundles(cursor.position)
            if row in wanted:
                taken += bundles[cursor.bundle].tolist()
            cursor = cursor._replace(bundle=cursor.bundle + 1)
            if cursor.bundle == len(bundles):
                cursor = Cursor(self._pool_end(cursor.position))
        return taken, cursor

    def epochs(self, cursor: Cursor) -> float:
        drawn = sum(len(bundle) for bundle in self._bundles(cursor.position)[: cursor.bundle])
        return (cursor.position + drawn) / len(self.samples)

    def _pool_end(self, start: int) -> int:
        """A pool ends with its epoch."""
        return min(start + POOL, (start // len(self.samples) + 1) * len(self.samples))

    def _bundles(self, start: int) -> list[Int]:
        """All bundles of the pool that starts there, in shuffled order."""
        if self._pool[0] != start:
            positions = np.arange(start, self._pool_end(start))
            samples = self.samples[permuted(positions, len(self.samples), self._key)]
            lengths = self._lengths[samples].astype(np.int64)
            order = np.argsort(lengths, kind="stable")
            bundles = np.split(samples[order], cuts(lengths[order], self._tokens))
            shuffled = permuted(np.arange(len(bundles)), len(bundles), self._key ^ start)
            self._pool = start, [bundles[number] for number in shuffled.tolist()]
        return self._pool[1]


def cuts(lengths: Int, tokens: float) -> list[int]:
    """Where to cut ascending lengths [P] so that each part has at most `tokens` once padded.

    A sample that is longer than `tokens` is a part of its own.
    """
    found: list[int] = []
    start = 0
    while True:
        # room of the parts that start here, which grows with every sample
        room = lengths[start:] * np.arange(1, len(lengths) - start + 1)
        start += max(1, int(np.searchsorted(room, tokens, side="right")))
        if start >= len(lengths):
            return found
        found.append(start)
