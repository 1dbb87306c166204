"""Which batch comes next: one endless seeded stream per facet, or one over all, and how far each has got."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from facetmt.data.batch import Batch
from facetmt.data.config import BatchConfig
from facetmt.data.dev import DevSet
from facetmt.data.store import Store
from facetmt.data.stream import Cursor, Packed, PairSet, Stream, filled
from facetmt.errors import UserError
from facetmt.permutation import stream_key

# extra rows of text that each facet's rows are packed from: even a single row is then over 90 % full
SPARE = 2


class Sampler:
    """Named streams and the cursor that each has reached; the state is JSON-serialisable."""

    def __init__(self, streams: Mapping[str, Stream], seed: int) -> None:
        self.names = list(streams)
        self._streams = list(streams.values())
        self._seed = seed
        self._cursors = [Cursor() for _ in streams]

    def next(self, stream: int = 0) -> Batch:
        """The stream's next batch, consumed."""
        batch, cursor = self.draw(self.cursor(stream), stream)
        self.commit(cursor, stream)
        return batch

    def cursor(self, stream: int = 0) -> Cursor:
        """Where the stream's consumed batches end."""
        return self._cursors[stream]

    def draw(self, cursor: Cursor, stream: int = 0) -> tuple[Batch, Cursor]:
        """The batch at `cursor` and the cursor after it; changes nothing, so that a thread may draw ahead."""
        return self._streams[stream].draw(cursor)

    def commit(self, cursor: Cursor, stream: int = 0) -> None:
        """Count everything before `cursor` as consumed."""
        self._cursors[stream] = cursor

    def epochs(self) -> dict[str, float]:
        """Effective epochs: how often each stream's pairs have been consumed."""
        return {
            name: stream.epochs(cursor)
            for name, stream, cursor in zip(self.names, self._streams, self._cursors, strict=True)
        }

    def state(self) -> dict[str, Any]:
        """Seed, and size, position and pending pairs of every stream."""
        streams = {
            name: {"pairs": len(stream.pairs), "position": cursor.position, "pending": list(cursor.pending)}
            for name, stream, cursor in zip(self.names, self._streams, self._cursors, strict=True)
        }
        return {"seed": self._seed, "streams": streams}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`; an error names what does not match."""
        saved = state["streams"]
        if state["seed"] != self._seed:
            raise UserError(
                f"the saved sampler has seed {state['seed']}, this one {self._seed}; use the same seed"
            )
        if differ := sorted(set(saved) ^ set(self.names)):
            raise UserError(
                f"the saved sampler has other facets than this corpus ({', '.join(differ)}); use the same"
            )
        for name, stream in zip(self.names, self._streams, strict=True):
            if saved[name]["pairs"] != len(stream.pairs):
                raise UserError(
                    f"{name} had {saved[name]['pairs']} pairs when saved, but has {len(stream.pairs)} now;"
                    " restore its text"
                )
        self._cursors = [
            Cursor(int(saved[name]["position"]), tuple(map(int, saved[name]["pending"])))
            for name in self.names
        ]


class FacetSampler(Sampler):
    """Homogeneous batches by facet index; a facet's stream depends on seed, name and its own draws alone."""

    def __init__(
        self,
        stores: Sequence[Store],
        config: BatchConfig,
        seed: int,
        rows: slice | None = None,
        *,
        purpose: str = "facet",
    ) -> None:
        """Streams of another `purpose` are in another order."""
        if len({store.name for store in stores}) != len(stores):
            raise ValueError("two stores have the same facet name")
        streams = {
            store.name: Stream(PairSet([store], [index]), config, stream_key(seed, purpose, store.name), rows)
            for index, store in enumerate(stores)
        }
        super().__init__(streams, seed)


class RowSampler(FacetSampler):
    """Batches whose rows are divided among the facets, each from its own stream (that of `FacetSampler`)."""

    def __init__(
        self,
        stores: Sequence[Store],
        config: BatchConfig,
        seed: int,
        rows: slice | None = None,
        *,
        purpose: str = "facet",
    ) -> None:
        super().__init__(stores, config, seed, rows, purpose=purpose)
        self._config, self._rows = config, rows or slice(0, config.rows)
        self._whole = PairSet(stores, range(len(stores)))
        sizes = [len(store) for store in stores]
        self._starts = np.cumsum(sizes) - sizes  # of each facet in the whole

    def draw_rows(self, counts: Sequence[int]) -> tuple[list[Batch], list[Cursor]]:
        """Batches with `counts` rows of each facet in all, and the cursor of every facet after them.

        Several micro-batches take turns: row r of all rows goes to micro-batch r mod their number.
        """
        micro, rest = divmod(sum(counts), self._config.rows)
        if rest or not micro:
            raise ValueError(f"{sum(counts)} rows cannot fill batches of {self._config.rows}")
        parts, cursors, done = [], list(self._cursors), 0
        for facet, count in enumerate(counts):
            if count:
                packed, cursors[facet] = self._streams[facet].pack(
                    self._cursors[facet], count, self._sentences(count), SPARE
                )
                parts.append(packed._replace(row=packed.row + done, pair=packed.pair + self._starts[facet]))
                done += count
        whole = Packed(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        mine = slice(self._rows.start * micro, self._rows.stop * micro)
        laid = filled(self._whole, whole, mine, self._config.width)
        return [Batch(*(plane[number::micro] for plane in laid)) for number in range(micro)], cursors

    def _sentences(self, rows: int) -> int | None:
        """A facet's part of the batch's sentences."""
        most = self._config.sentences
        return None if most is None else max(1, round(most * rows / self._config.rows))


class MixedSampler(Sampler):
    """Batches from the shuffled concatenation of all facets (the paper's "take it all" baseline)."""

    def __init__(
        self, stores: Sequence[Store], config: BatchConfig, seed: int, rows: slice | None = None
    ) -> None:
        pairs = PairSet(stores, range(len(stores)))
        super().__init__({"mixed": Stream(pairs, config, stream_key(seed, "mixed"), rows)}, seed)


class DevSampler(Sampler):
    """Random batches from the balanced dev set."""

    def __init__(self, dev: DevSet, config: BatchConfig, seed: int, rows: slice | None = None) -> None:
        super().__init__({"dev": Stream(dev.pairs(), config, stream_key(seed, "dev"), rows)}, seed)


class DevFacetSampler(Sampler):
    """Homogeneous batches from the balanced dev set; a facet without dev pairs has no stream."""

    def __init__(
        self, dev: DevSet, config: BatchConfig, seed: int, rows: slice | None = None, *, purpose: str
    ) -> None:
        streams = {
            store.name: Stream(dev.facet(index), config, stream_key(seed, purpose, store.name), rows)
            for index, store in enumerate(dev.stores)
            if len(dev.chosen[index])
        }
        super().__init__(streams, seed)
