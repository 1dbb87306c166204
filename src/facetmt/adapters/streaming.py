"""Hugging Face datasets (streaming): several IterableDatasets, in shares that change while training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from facetmt.adapters.draws import FacetDraws
from facetmt.bandit import FacetScheduler
from facetmt.permutation import permuted, stream_key

LOSES_EXAMPLES = "BufferShuffledExamplesIterable"  # datasets' shuffle(): its buffer is not in its state


class FacetStreams(FacetDraws):
    """Batches (lists of examples) of streaming data sets, one for each facet of the scheduler.

    Iterate over it in the process that trains: in a loader's worker it would never hear of the rewards.
    """

    def __init__(
        self,
        scheduler: FacetScheduler,
        datasets: Mapping[str, Any],
        *,
        batch_size: int,
        shuffle: int = 1000,
        seed: int = 1,
        batches: int | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        """A batch of each of the `world` ranks has `batch_size` examples. Stretches of `shuffle` examples are
        shuffled, and kept in memory; 1 leaves the order as it is.
        """
        if batch_size < 1 or shuffle < 1:
            raise ValueError("batch_size and shuffle must be at least 1")
        apart = len({id(dataset) for dataset in datasets.values()}) == len(datasets)
        if set(datasets) != set(scheduler.facets) or not apart:
            raise ValueError(f"give each facet a data set of its own: {', '.join(scheduler.facets)}")
        rows = batch_size * world
        if scheduler.rows not in (None, rows):
            raise ValueError(
                f"the scheduler shares out {scheduler.rows} rows, not {rows}; give it rows={rows}"
            )
        streams = [
            ExampleStream(name, datasets[name], shuffle, stream_key(seed, "adapter", name))
            for name in scheduler.facets
        ]
        settings = {"seed": seed, "shuffle": shuffle}
        super().__init__(scheduler, streams, settings, rows=rows, batches=batches, rank=rank, world=world)


class Place(NamedTuple):
    """Where a stream is: in which stretch of examples, and how many of it were drawn."""

    epoch: int = 0
    read: int = 0  # examples of this epoch before the stretch
    drawn: int = 0  # examples of the stretch
    state: dict[str, Any] | None = None  # of the data set before the stretch; None: at the start of the epoch
    size: int = 0  # examples of an epoch, once that is known


class Stretch(NamedTuple):
    """Consecutive examples, shuffled, and where the next ones begin."""

    examples: list[Any]
    after: Place


class ExampleStream:
    """The endless stream over a streaming data set. Reading on is cheap; going back reads a stretch again."""

    def __init__(self, name: str, dataset: Any, length: int, key: int) -> None:
        if shuffles(getattr(dataset, "_ex_iterable", None)):
            raise ValueError(
                f"{name}: what the buffer of datasets' shuffle() holds is lost on resuming; leave it out and "
                "give FacetStreams(shuffle=...)"
            )
        self._name, self._dataset, self._length, self._key = name, dataset, length, key
        self._examples: Any = iter(())
        self._at: tuple[int, int] | None = None  # epoch and examples that were read of it
        self._kept: tuple[tuple[int, int], Stretch] | None = None
        self._size = 0

    @property
    def size(self) -> int:
        return self._size

    def cursor(self, saved: Sequence[Any] = ()) -> Place:
        return Place(*saved)

    def take(self, cursor: Place, rows: int, mine: slice) -> tuple[list[Any], Place]:
        taken: list[Any] = []
        while len(taken) < rows:
            stretch = self._stretch(cursor)
            part = stretch.examples[cursor.drawn : cursor.drawn + rows - len(taken)]
            taken += part
            cursor = cursor._replace(drawn=cursor.drawn + len(part))
            if cursor.drawn == len(stretch.examples):
                cursor = stretch.after
        return taken[mine], cursor

    def epochs(self, cursor: Place) -> float:
        """In full epochs until the first one has shown how long they are."""
        return cursor.epoch + ((cursor.read + cursor.drawn) / cursor.size if cursor.size else 0.0)

    def _stretch(self, cursor: Place) -> Stretch:
        where = cursor.epoch, cursor.read
        if self._kept is None or self._kept[0] != where:
            self._kept = where, self._read(cursor)
        return self._kept[1]

    def _read(self, cursor: Place) -> Stretch:
        if self._at != (cursor.epoch, cursor.read):
            self._seek(cursor)
        examples = list(islice(self._examples, self._length))
        read = cursor.read + len(examples)
        self._at = cursor.epoch, read
        after = Place(cursor.epoch, read, 0, self._dataset.state_dict(), cursor.size)
        if len(examples) < self._length:
            if not read:
                raise ValueError(f"{self._name}: the data set is empty")
            self._size = read
            after = Place(cursor.epoch + 1, size=read)
        if not examples:  # the epoch had ended with the stretch before
            return self._read(after)
        key = stream_key(self._key, cursor.epoch, cursor.read)
        order = permuted(np.arange(len(examples)), len(examples), key).tolist()
        return Stretch([examples[place] for place in order], after)

    def _seek(self, cursor: Place) -> None:
        if hasattr(self._dataset, "set_epoch"):
            self._dataset.set_epoch(cursor.epoch)
        self._dataset.load_state_dict(cursor.state)
        self._examples = iter(self._dataset)


def shuffles(iterable: Any) -> bool:
    """Whether the data set, or one that it is made of, was shuffled with a buffer."""
    if iterable is None:
        return False
    inner = [getattr(iterable, "ex_iterable", None), *getattr(iterable, "ex_iterables", ())]
    return type(iterable).__name__ == LOSES_EXAMPLES or any(map(shuffles, inner))
