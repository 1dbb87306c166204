"""Batches drawn by a scheduler ahead of their use, with a state that loses and repeats nothing."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from facetmt.bandit import FacetScheduler, Pull, Record
from facetmt.files import sha256_of

State = dict[str, Any]  # JSON-serialisable
# Batches that may be drawn ahead: more than any loader prefetches, so that more means forgotten feedback.
MOST_WAITING = 10_000


class Stream(Protocol):
    """The endless stream of one facet's rows: a pure function of a cursor, which JSON can hold as a list."""

    @property
    def size(self) -> int:
        """Samples of the facet; 0 where that is unknown."""

    def cursor(self, saved: Sequence[Any] = ()) -> Any:
        """The cursor that was saved as a list, or the one at the start."""

    def take(self, cursor: Any, rows: int, mine: slice) -> tuple[list[Any], Any]:
        """The samples of `mine` among the next `rows` rows, and the cursor after all of them."""

    def epochs(self, cursor: Any) -> float:
        """How often the facet was drawn."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A batch that was drawn and not used yet: its pull, and where it begins in each facet's stream."""

    number: int  # of the batch, from 0
    pull: Pull
    starts: tuple[tuple[int, Any], ...]  # (facet, cursor) of each facet that is in it


class FacetDraws:
    """An iterable of batches, for a loader that may draw any number of them ahead of their use.

    Batches are used in the order in which they were drawn: `feedback` (or `used`) is about the oldest one.
    """

    def __init__(
        self,
        scheduler: FacetScheduler,
        streams: Sequence[Stream],
        settings: State,
        *,
        rows: int,
        batches: int | None,
        rank: int,
        world: int,
    ) -> None:
        """A batch has `rows` rows over all ranks; a state is refused where `settings` differ."""
        if min(world, 1 if batches is None else batches) < 1 or not 0 <= rank < world:
            raise ValueError("batches and world must be at least 1, and rank from 0 to below world")
        if rows % world:
            raise ValueError(f"{rows} rows cannot be shared by {world} ranks; give a multiple of them")
        self.scheduler, self.rank = scheduler, rank
        self._streams, self._settings = list(streams), {**settings, "rows": rows}
        self._rows, self._world, self._batches = rows, world, batches
        self._cursors = [stream.cursor() for stream in self._streams]
        self._waiting: deque[Draw] = deque()  # the oldest first
        self._drawn = 0  # batches so far; the last ones of them are waiting
        self._given = 0  # number after that of the last batch that the loader has
        self._latest: Batches | None = None
        self._unfinished: dict[int, State] = {}  # states of iterators that await the feedback of a batch

    def __len__(self) -> int:
        if self._batches is None:
            raise TypeError("this sampler never ends; give it a number of batches")
        return self._batches

    def __iter__(self) -> Batches:
        """Batches that were drawn and not used come first: a loader that is left early loses nothing."""
        self._latest = Batches(self)
        return self._latest

    @property
    def waiting(self) -> tuple[Draw, ...]:
        """Batches that were drawn and not used, the one in hand first."""
        return tuple(self._waiting)

    @property
    def used_batches(self) -> int:
        return self._drawn - len(self._waiting)

    def name(self, draw: Draw) -> str:
        """The facet of a batch, as the log has it."""
        return self.scheduler.name(draw.pull)

    def feedback(self, *, before: float | None = None, after: float | None = None) -> Record:
        """The oldest batch was trained on: reward its pull with the losses before and after the step."""
        record = self.scheduler.feedback(self._oldest().pull, before=before, after=after)
        self._leave()
        return record

    def used(self) -> Record:
        """The oldest batch was trained on and teaches nothing; for the log, a record without a reward."""
        draw = self._leave()
        nan, probs = math.nan, self.scheduler.probs()
        return Record(self.name(draw), draw.pull.prob, nan, nan, nan, nan, probs)

    def _leave(self) -> Draw:
        """The oldest batch waits no longer."""
        draw = self._oldest()
        self._waiting.popleft()
        if (unfinished := self._unfinished.pop(draw.number, None)) is not None:
            unfinished["sampler"] = self.state_dict()
        return draw

    def epochs(self) -> dict[str, float]:
        """How often each facet's samples were drawn, without batches that are waiting."""
        cursors = list(self._cursors)
        for draw in reversed(self._waiting):
            for facet, cursor in draw.starts:
                cursors[facet] = cursor
        pairs = zip(self.scheduler.facets, self._streams, cursors, strict=True)
        return {name: stream.epochs(cursor) for name, stream, cursor in pairs}

    def shares(self) -> dict[str, float]:
        """What each facet got of the batches that were used, or of their rows where they mix facets."""
        counts = np.array(list(self.scheduler.counts().values()))
        for draw in self._waiting:
            if draw.pull.rows is None:
                counts[draw.pull.arm] -= 1
            else:
                counts -= draw.pull.rows
        return dict(zip(self.scheduler.facets, (counts / max(1, counts.sum())).tolist(), strict=True))

    def sizes(self) -> dict[str, int]:
        """Samples of each facet, where they are known."""
        pairs = zip(self.scheduler.facets, self._streams, strict=True)
        return {name: stream.size for name, stream in pairs if stream.size}

    def fingerprint(self) -> int:
        """Equal (almost surely only) where all draws and all that was learned are equal: to compare ranks."""
        return int(sha256_of(self.state_dict())[:15], 16)

    def state_dict(self) -> State:
        """All that was drawn and learned; batches that are waiting are drawn again from it, unchanged."""
        sizes = self.sizes()
        return {
            "settings": dict(self._settings),
            "scheduler": self.scheduler.state(),
            "drawn": self._drawn,
            "streams": {
                name: [sizes.get(name, 0), *cursor]
                for name, cursor in zip(self.scheduler.facets, self._cursors, strict=True)
            },
            "waiting": [
                [
                    draw.number,
                    draw.pull.arm,
                    draw.pull.prob,
                    draw.pull.rows,
                    draw.pull.shared,
                    [[facet, *cursor] for facet, cursor in draw.starts],
                ]
                for draw in self._waiting
            ],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue as saved; an error names what does not match."""
        saved, streams = state["settings"], state["streams"]
        sizes = self.sizes()
        for key, value in self._settings.items():
            if saved[key] != value:
                raise ValueError(f"the state was saved with {key} {saved[key]}, not {value}; use the same")
        facets = state["scheduler"]["facets"]
        if tuple(facets) != self.scheduler.facets:  # pulls that are waiting know them by number
            raise ValueError(f"the state was saved with the facets {', '.join(facets)}; use the same")
        for name in facets:
            size, now = streams[name][0], sizes.get(name, 0)
            if size and now and size != now:
                raise ValueError(f"{name} had {size:,} samples when saved, now {now:,}; restore them")
        self.scheduler.restore(state["scheduler"])
        pairs = zip(facets, self._streams, strict=True)
        self._cursors = [stream.cursor(streams[name][1:]) for name, stream in pairs]
        self._waiting = deque(self._restored(*row) for row in state["waiting"])
        self._drawn = int(state["drawn"])
        self._given = self.used_batches
        self._unfinished = {}

    def _oldest(self) -> Draw:
        if not self._waiting or self._waiting[0].number >= self._given:
            raise RuntimeError("feedback without a batch: take the next batch of the loader first")
        return self._waiting[0]

    def _take(self, number: int) -> list[Any]:
        """The samples of batch `number`: one that is waiting, or the next to be drawn."""
        self._given = number + 1
        if number == self._drawn:
            return self._draw()
        return self._samples(self._waiting[number - self._waiting[0].number])[0]

    def _draw(self) -> list[Any]:
        if len(self._waiting) >= MOST_WAITING:
            raise RuntimeError(
                f"{MOST_WAITING:,} batches were drawn and none was reported as used; call feedback() or "
                "used() after each batch"
            )
        pull = self.scheduler.pull()
        facets = [pull.arm] if pull.rows is None else np.flatnonzero(pull.rows).tolist()
        draw = Draw(self._drawn, pull, tuple((facet, self._cursors[facet]) for facet in facets))
        samples, ends = self._samples(draw)
        for facet, cursor in ends:
            self._cursors[facet] = cursor
        self._waiting.append(draw)
        self._drawn += 1
        return samples

    def _samples(self, draw: Draw) -> tuple[list[Any], list[tuple[int, Any]]]:
        """My samples of a batch, and the cursors after it. Row r of all rows belongs to rank r mod world."""
        taken, ends, done = [], [], 0
        for facet, cursor in draw.starts:
            rows = self._rows if draw.pull.rows is None else draw.pull.rows[facet]
            mine = slice((self.rank - done) % self._world, None, self._world)
            samples, cursor = self._streams[facet].take(cursor, rows, mine)
            taken += samples
            ends.append((facet, cursor))
            done += rows
        return taken, ends

    def _restored(
        self,
        number: int,
        arm: int,
        prob: float,
        rows: Sequence[int] | None,
        shared: Sequence[tuple[int, float]],
        starts: Sequence[Sequence[Any]],
    ) -> Draw:
        """A draw as `state_dict` wrote it, perhaps with lists for tuples."""
        credit = tuple((int(facet), float(x)) for facet, x in shared)
        pull = Pull(int(arm), float(prob), None if rows is None else tuple(map(int, rows)), credit)
        begins = tuple((int(facet), self._streams[int(facet)].cursor(at)) for facet, *at in starts)
        return Draw(int(number), pull, begins)


class Batches(Iterator[list[Any]]):
    """One iteration over the batches."""

    def __init__(self, sampler: FacetDraws) -> None:
        self._sampler = sampler
        self._next: int | None = None
        self._end: int | None = None

    def __next__(self) -> list[Any]:
        sampler = self._sampler
        if sampler._latest is not self:
            raise RuntimeError("another iteration over this sampler has begun; use one loader at a time")
        if self._next is None:
            self._next = sampler.used_batches
            if sampler._batches is not None:
                self._end = (self._next // sampler._batches + 1) * sampler._batches
        if self._next == self._end:
            raise StopIteration
        self._next += 1
        return sampler._take(self._next - 1)

    def state_dict(self) -> State:
        """For loaders that ask when they draw a batch, and save the answer once it was used.

        Whatever is drawn and learned until then belongs into it too: it is filled in by the feedback.
        """
        sampler = self._sampler
        state: State = {"used": sampler._given}
        if sampler._waiting and sampler._waiting[-1].number == sampler._given - 1:
            sampler._unfinished[sampler._given - 1] = state
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue after the batches that were used; the sampler has its state of when the last was drawn."""
        sampler = self._sampler
        if "sampler" in state:
            sampler.load_state_dict(state["sampler"])
        while sampler._waiting and sampler._waiting[0].number < state["used"]:
            sampler._waiting.popleft()
        sampler._given = sampler.used_batches
