"""Other sources of a facet, of similar length, to compare a pair's own source with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from facetmt.data.codec import Codec
from facetmt.data.corpus import Facet
from facetmt.errors import UserError
from facetmt.select.texts import Pairs, Row, TrainingText, all_rows, pairs_of, part_lines
from facetmt.train.interrupt import Check

POOL = 1 << 12  # pairs of a facet to draw sources from
NEAREST = 32  # of them by length, for each pair

Int = NDArray[np.int64]


class Names:
    """Equal strings by equal numbers; -1 for one that is not known."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._known: dict[str, int] = {}
        self.own = np.array([self._known.setdefault(text, len(self._known)) for text in texts], np.int64)

    def __call__(self, texts: Sequence[str]) -> Int:
        return np.array([self._known.get(text, -1) for text in texts], np.int64)


class Pool:
    """Some pairs of one facet, by rising length of their sources."""

    def __init__(self, pairs: Pairs, length: Int, rng: np.random.Generator) -> None:
        self.order = np.lexsort((rng.random(len(length)), length))  # [N] indices of the pairs given
        self._length = length[self.order]
        self._source, self._target = Names(pairs.sources), Names(pairs.targets)

    @property
    def targets(self) -> int:
        """Different ones."""
        return len(np.unique(self._target.own))

    def draw(self, pairs: Pairs, length: Int, count: int, rng: np.random.Generator) -> Int:
        """For each pair `count` others of similar length, [P, count]; never its source or its target.

        They are indices of the pairs given; -1 where there are too few.
        """
        nearest = min(NEAREST, len(self.order))
        left, right = (np.searchsorted(self._length, length, side) for side in ("left", "right"))
        middle = rng.integers(left, right + 1)  # there may be far more of this length than are looked at
        begin = np.clip(middle - nearest // 2, 0, len(self.order) - nearest)
        window = self.order[begin[:, None] + np.arange(nearest)]  # [P, nearest]
        same = (self._source.own[window] == self._source(pairs.sources)[:, None]) | (
            self._target.own[window] == self._target(pairs.targets)[:, None]
        )
        rank = np.where(same, np.inf, rng.random(window.shape))
        best = np.argsort(rank, axis=1)[:, :count]
        found = np.where(
            np.isfinite(np.take_along_axis(rank, best, 1)), np.take_along_axis(window, best, 1), -1
        )
        return np.pad(found, ((0, 0), (0, count - found.shape[1])), constant_values=-1)


class OtherSources:
    """The pools of one text in one direction, a pool for each facet (label), drawn from all of its lines."""

    def __init__(
        self, text: TrainingText, facet: Facet, codec: Codec, errors: str, seed: int, check: Check
    ) -> None:
        self._seed = seed
        rng = np.random.default_rng(seed)
        self._part = np.zeros(text.lines, np.int16)  # of each line; lines of no facet are never kept
        wanted = np.full(text.lines, -1, np.int16)
        for part, label in enumerate(text.parts()):
            lines = part_lines(text, label)
            self._part[lines] = part
            wanted[rng.choice(lines, min(POOL, len(lines)), replace=False)] = part
        rows: list[Row] = []
        for row in all_rows(facet.files["train"]):
            check()
            if wanted[row[0] - 1] >= 0:
                rows.append(row)
        pairs = pairs_of(rows, facet.files["train"], errors)
        self.ids, self.length = codec.encode(pairs.sources, facet.name, "source")
        # [N] the part of each pair of the pools
        of = np.array([wanted[row[0] - 1] for row in rows], np.int16)[pairs.place]
        self._members = [np.flatnonzero(of == part) for part in range(len(text.parts()))]
        self._pools = [Pool(some(pairs, members), self.length[members], rng) for members in self._members]
        for pool, names in zip(self._pools, text.parts().values(), strict=True):
            if pool.targets == 1:
                raise UserError(
                    f"facet {', '.join(names)}: all its targets are the same, so none depends on its source; "
                    "remove the facet, or filter --by cds"
                )

    def draw(self, pairs: Pairs, length: Int, first: int, count: int) -> Int:
        """Indices of `ids` and `length` for pairs that begin at line `first`: [P, count], -1 for none."""
        rng = np.random.default_rng([self._seed, first])
        found = np.full((len(length), count), -1)
        of = self._part[first - 1 + pairs.place]
        for part in np.unique(of).tolist():
            mine = np.flatnonzero(of == part)
            if not len(self._members[part]):  # its lines are blank, and these of no facet
                continue
            drawn = self._pools[part].draw(some(pairs, mine), length[mine], count, rng)
            found[mine] = np.where(drawn >= 0, self._members[part][drawn], -1)
        return found


def some(pairs: Pairs, members: Int) -> Pairs:
    """Some of the pairs."""
    chosen = members.tolist()
    return Pairs(pairs.place[members], [pairs.sources[i] for i in chosen], [pairs.targets[i] for i in chosen])
