"""The input pipeline: the next batch of every arm is drawn ahead, before the arm is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from facetmt.bandit import Pull
from facetmt.data.batch import Batch
from facetmt.data.sampler import RowSampler, Sampler
from facetmt.data.stream import Cursor

Place = Callable[[Batch], Any]  # host batch -> device arrays


class Filled(NamedTuple):
    """Tokens of both sides."""

    tokens: int  # that are not padding
    room: int


class Feed:
    """One batch of each stream waits in memory; taking it sets a thread to draw the next.

    The sampler's state counts only what was taken, so resuming is exact however far ahead the thread was.
    """

    def __init__(self, sampler: Sampler, place: Place, accumulate: int = 1) -> None:
        self._sampler = sampler
        self._place = place
        self._accumulate = accumulate
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="feed")
        self._ahead: dict[int, Future[tuple[Any, Filled, Cursor]]] = {}

    def start(self) -> None:
        """Begin to draw for every stream; the sampler must not be restored after this."""
        for stream in range(len(self._sampler.names)):
            self._order(stream)

    def take(self, pull: Pull) -> tuple[Any, Filled]:
        """The next batch of the arm on the device, and how full this process's rows of it are."""
        batch, filled, cursor = self._ahead.pop(pull.arm).result()
        self._sampler.commit(cursor, pull.arm)
        self._order(pull.arm)
        return batch, filled

    def close(self) -> None:
        """Stop drawing; what is under way is thrown away."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _order(self, stream: int) -> None:
        self._ahead[stream] = self._thread.submit(self._draw, stream, self._sampler.cursor(stream))

    def _draw(self, stream: int, cursor: Cursor) -> tuple[Any, Filled, Cursor]:
        parts: list[Batch] = []
        for _ in range(self._accumulate):
            batch, cursor = self._sampler.draw(cursor, stream)
            parts.append(batch)
        return *placed(parts, self._place), cursor


def placed(parts: Sequence[Batch], place: Place) -> tuple[Any, Filled]:
    """The micro-batches of a step as one on the device, and how full they are."""
    tokens = sum(int((b.source_segment > 0).sum() + (b.target_segment > 0).sum()) for b in parts)
    whole = parts[0] if len(parts) == 1 else Batch(*map(np.stack, zip(*parts, strict=True)))
    return place(whole), Filled(tokens, whole.source.size + whole.target.size)


class RowFeed:
    """Rows of several facets, drawn when their numbers are known: while the device is at the step before."""

    def __init__(self, sampler: RowSampler, place: Place) -> None:
        self._sampler, self._place = sampler, place

    def start(self) -> None:
        """Nothing can be drawn ahead."""

    def take(self, pull: Pull) -> tuple[Any, Filled]:
        """The batch of these rows on the device."""
        if pull.rows is None:
            raise ValueError("this feed draws compositions")
        parts, cursors = self._sampler.draw_rows(pull.rows)
        for stream, cursor in enumerate(cursors):
            self._sampler.commit(cursor, stream)
        return placed(parts, self._place)

    def close(self) -> None:
        """Nothing is under way."""


def make_feed(sampler: Sampler, place: Place, accumulate: int) -> Feed | RowFeed:
    """The pipeline of a sampler; compositions come with the rows of all micro-batches."""
    return RowFeed(sampler, place) if isinstance(sampler, RowSampler) else Feed(sampler, place, accumulate)


class HeldBatch:
    """A random dev batch that is held for some steps; its state is the sampler's cursor before it."""

    def __init__(self, sampler: Sampler, place: Place, hold: int) -> None:
        self._sampler, self._place, self._hold = sampler, place, hold
        self._held: tuple[Any, Cursor] | None = None  # the batch, and the cursor after it

    def get(self, step: int) -> tuple[Any, bool]:
        """The batch of this step, and whether it is a new one."""
        fresh = step % self._hold == 0
        if fresh and step > 0:
            self._sampler.commit(self._current()[1])
            self._held = None
        return self._current()[0], fresh

    def _current(self) -> tuple[Any, Cursor]:
        if self._held is None:
            batch, after = self._sampler.draw(self._sampler.cursor())
            self._held = self._place(batch), after
        return self._held
