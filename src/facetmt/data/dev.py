"""The balanced dev set: the same number of pairs from each facet, as far as it has them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import Batch
from facetmt.data.config import BatchConfig
from facetmt.data.store import Store
from facetmt.data.stream import Packed, PairSet, check_fit, filled, packed_once
from facetmt.permutation import permuted, stream_key

Int = NDArray[np.int64]


@dataclass(frozen=True)
class DevSet:
    """The dev store of each facet, and the indices of the pairs chosen from it, none where it has none."""

    stores: Sequence[Store]
    chosen: Sequence[Int]

    def pairs(self) -> PairSet:
        """All chosen pairs behind one index."""
        return PairSet(self.stores, range(len(self.stores)), self.chosen)

    def facet(self, index: int) -> PairSet:
        """The chosen pairs of one facet."""
        return PairSet([self.stores[index]], [index], [self.chosen[index]])

    def few(self, pairs: int) -> "DevSet":
        """At most this many pairs of each facet, from all over its text: neighbours are often alike."""
        counts = [min(pairs, len(indices)) for indices in self.chosen]
        spread = [
            np.arange(n) * len(indices) // max(n, 1) for n, indices in zip(counts, self.chosen, strict=True)
        ]
        return DevSet(self.stores, [one[places] for one, places in zip(self.chosen, spread, strict=True)])

    def dealt(self, groups: int) -> "DevSet":
        """The pairs of each facet dealt into groups: facet f of group g is g·(number of facets) + f."""
        chosen = [indices[group::groups] for group in range(groups) for indices in self.chosen]
        return DevSet([*self.stores] * groups, chosen)


def balanced(stores: Sequence[Store], pairs: int, seed: int, *, cut: bool) -> DevSet:
    """`pairs` random pairs of each facet, or all that it has; `cut`: no more than the smallest facet has."""
    most = min([pairs, *(len(store) for store in stores if len(store) and cut)])
    chosen = []
    for store in stores:
        key = stream_key(seed, "dev", store.name)
        count = min(most, len(store))
        chosen.append(np.sort(permuted(np.arange(count), max(1, len(store)), key)))
    return DevSet(stores, chosen)


def dev_batches(dev: DevSet, config: BatchConfig, rows: slice | None = None) -> Iterator[Batch]:
    """The whole dev set once, in order as far as packing allows; the last batch is padded."""
    pairs = dev.pairs()
    check_fit(pairs, config)
    source, target = pairs.lengths(np.arange(len(pairs)))
    for found, row in packed_once(source, target, config):
        packed = Packed(row, found, source[found], target[found])
        yield filled(pairs, packed, rows or slice(0, config.rows), config.width)
