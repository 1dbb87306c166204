"""Sentences through the search in a pool: those that are settled make room for those that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import PAD
from facetmt.model.transformer import Graph, Params
from facetmt.translate import beam
from facetmt.translate.config import DecodeConfig
from facetmt.translate.text import Found

SMALLEST = 16  # source lengths are padded to 16, 32, 64, ...: few shapes to compile, little padding
LEAST = 32  # slots of a cache: 32, 64, 128, ...
FEWEST = 4  # a pool has 4, 8, 16, ..., decode.batch rows
REFILL = 8  # an eighth of the rows is settled before new sentences enter, together
CROWD, TAIL = (
    32,
    4,
)  # when nothing waits any more, the last quarter of a pool of 32 or more gets a smaller one
FREE = -1  # in place of a sentence


class Spread(Protocol):
    """How the rows of an array are divided among devices."""

    devices: int

    def spread(self, array: NDArray[Any]) -> Any:
        """Rows over the devices."""

    def fetch(self, tree: Any) -> Any:
        """And back to the host."""


class OneDevice:
    """There is nothing to divide."""

    devices = 1

    def spread(self, array: NDArray[Any]) -> Any:
        return array

    def fetch(self, tree: Any) -> Any:
        return jax.tree.map(np.asarray, tree)


class PooledSearch:
    """Searches with one model, in few shapes, each compiled when it is first needed."""

    def __init__(
        self,
        graph: Graph,
        params: Params,
        decode: DecodeConfig,
        forbidden: NDArray[np.bool_],
        spread: Spread,
    ) -> None:
        self.graph, self.params, self.decode = graph, params, decode
        self.forbidden, self.spread = forbidden, spread

    def __call__(
        self, sources: Sequence[Sequence[int]], count: int, check: Callable[[], None] = lambda: None
    ) -> Iterator[Found]:
        """The `count` best of each sentence, as they are settled; `sources` are ordered by falling length.

        `check` is called before each stretch of the search.
        """
        rows = Rows(self, sources, count)
        while rows.fill():
            check()
            rows.use_fewer()
            rows.make_room()
            yield from rows.go_on()

    def rehearse(self, length: int, sentences: int) -> None:
        """Compile and run a step of the largest search, for `sentences` sources of this length."""
        rows = Rows(self, [[PAD] * length] * sentences, 1)
        rows.fill()
        slots = slots_for(rows.longest, rows.longest)
        search, cache = beam.move(rows.pool, 0, slots=slots, width=rows.width)
        last = search._replace(time=search.time + slots - 1)
        rows.pool = beam.Pool(last, cache)
        rows.go_on()

    def rows_for(self, sentences: int) -> int:
        """Rows of a pool for this many sentences."""
        return self.multiple(min(self.decode.batch, padded(sentences, FEWEST)))

    def multiple(self, rows: int) -> int:
        """Rounded up to what the devices share evenly."""
        return -(-rows // self.spread.devices) * self.spread.devices


class Rows:
    """The rows of a pool, as the host knows them: which sentence each holds, and since when."""

    def __init__(self, owner: PooledSearch, sources: Sequence[Sequence[int]], count: int) -> None:
        self.owner, self.sources, self.count = owner, sources, count
        size = owner.rows_for(len(sources))
        self.width = padded(max(map(len, sources), default=1), SMALLEST)
        self.longest = owner.decode.longest_output(self.width)
        # another length of the cache takes longer to compile than few sentences with too long a one
        self.slots, self.time = slots_for(self.width if size <= FEWEST else 0, self.longest), 0
        self.waiting = 0  # the first sentence that is not in the pool yet
        self.encoded_from = self.encoded_to = 0  # those that are encoded
        self.sentence = np.full(size, FREE)
        self.begun = np.zeros(size, np.int32)  # the slot at which it began
        self.pool = beam.empty_pool(
            owner.graph,
            owner.params,
            sentences=size,
            width=self.width,
            beam=owner.decode.beam,
            longest=self.longest,
            slots=self.slots,
        )

    def fill(self) -> bool:
        """Put waiting sentences into free rows; False if the pool remains empty."""
        free = np.flatnonzero(self.sentence == FREE)[: len(self.sources) - self.waiting]
        size = len(self.sentence)
        few = self.owner.multiple(max(1, size // REFILL))
        few = size if len(free) > 2 * few else few
        last = self.waiting + len(free) == len(self.sources)
        while len(free) and (last or few == size or len(free) >= few):
            if self.waiting == self.encoded_to:
                self._encode(size)
            chosen, free = np.split(free, [min(few, len(free), self.encoded_to - self.waiting)])
            self._enter(chosen, few)
        return bool((self.sentence != FREE).any())

    def _encode(self, count: int) -> None:
        """The next sentences that wait, at their own width, many together."""
        owner, self.encoded_from = self.owner, self.waiting
        sources = self.sources[self.waiting : self.waiting + count]
        width = min(self.width, padded(max(map(len, sources)), SMALLEST))
        ids = np.full((count, width), PAD, np.int32)
        for row, source in enumerate(sources):
            ids[row, : len(source)] = source
        self.encoded = beam.encode(owner.graph, owner.params, owner.spread.spread(ids))
        self.encoded_to = self.waiting + len(sources)

    def _enter(self, free: NDArray[np.int64], most: int) -> None:
        """Encoded sentences into these rows, at most `most` of them."""
        owner, numbers = self.owner, self.waiting + np.arange(len(free))
        rows = np.full(most, len(self.sentence), np.int32)  # beyond the last: left out
        chosen, limit = np.zeros(most, np.int32), np.ones(most, np.int32)
        rows[: len(free)], chosen[: len(free)] = free, numbers - self.encoded_from
        limit[: len(free)] = [owner.decode.longest_output(len(self.sources[one])) for one in numbers.tolist()]
        place, take, longest = (owner.spread.spread(array) for array in (rows, chosen, limit))
        self.pool = beam.fill(self.pool, place, self.encoded, take, longest)
        self.sentence[free], self.begun[free] = numbers, self.time
        self.waiting += len(free)

    def use_fewer(self) -> None:
        """Continue the last sentences in a smaller pool."""
        few = self._few()
        if 0 < np.sum(self.sentence != FREE) <= few:
            rows = np.argsort(self.sentence == FREE, kind="stable")[:few].astype(np.int32)
            self.pool = beam.pick(self.pool, self.owner.spread.spread(rows))
            self.sentence, self.begun = self.sentence[rows], self.begun[rows]

    def _few(self) -> int:
        """Rows of the smaller pool; 0 if this one is kept."""
        size = len(self.sentence)
        done = self.waiting == len(self.sources)
        return self.owner.multiple(size // TAIL) if done and size >= CROWD else 0

    def make_room(self) -> None:
        """If the cache is full, forget slots that no sentence needs; and width that none needs any more."""
        live = self.sentence != FREE
        longest = max(len(self.sources[one]) for one in self.sentence[live])
        width = padded(longest, SMALLEST)
        if self.time == self.slots or width < self.width:
            first = int(self.begun[live].min())
            self.time, self.begun, self.width = self.time - first, self.begun - first, width
            self.slots = slots_for(self.time, self.longest)
            self.pool = beam.move(self.pool, first, slots=self.slots, width=width)

    def go_on(self) -> list[Found]:
        """Search until enough sentences are settled to refill their rows; these are free then."""
        owner, live = self.owner, self.sentence != FREE
        enough = max(1, len(live) // REFILL)
        if self.waiting == len(self.sources):
            enough = int(live.sum()) - self._few()
        self.pool, time, settled, found = beam.go_on(
            owner.graph,
            owner.params,
            self.pool,
            int((~live).sum()) + enough,
            owner.forbidden,
            alpha=owner.decode.length_penalty,
            n_best=self.count,
            exact=owner.decode.exact,
        )
        time, settled, ids, score = owner.spread.fetch((time, settled, found.ids, found.score))
        self.time = int(time)
        rows = np.flatnonzero(settled & live)
        done = [Found(int(self.sentence[row]), ids[row], score[row]) for row in rows]
        self.sentence[rows] = FREE
        return done


def slots_for(time: int, longest: int) -> int:
    """Slots of a cache that is filled up to `time`, a quarter of them free, for outputs up to `longest`."""
    return min(padded(-(-4 * (time + 1) // 3), LEAST), longest + LEAST)


def padded(length: int, least: int) -> int:
    """Rounded up to least, 2·least, 4·least, ...; `least` is a power of two."""
    return max(least, 1 << (length - 1).bit_length())
