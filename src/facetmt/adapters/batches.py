"""Batches of sample indices: the samples of each facet in an endless shuffled stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from facetmt.adapters.draws import FacetDraws, Stream
from facetmt.adapters.indices import indices_by_facet
from facetmt.adapters.stream import BundleStream, SampleStream
from facetmt.bandit import FacetScheduler
from facetmt.permutation import stream_key


class FacetBatches(FacetDraws):
    """Batches of indices into a data set, by size or by tokens, of one facet each or mixed."""

    def __init__(
        self,
        scheduler: FacetScheduler,
        facets: Mapping[str, Sequence[int] | npt.NDArray[Any] | range] | Sequence[Any] | npt.NDArray[Any],
        *,
        batch_size: int | None = None,
        tokens: int | None = None,
        lengths: Sequence[int] | npt.NDArray[Any] | None = None,
        seed: int = 1,
        batches: int | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        """`facets` are lists of samples by name, or one column with the name of each sample's facet.

        A batch of each of the `world` ranks has `batch_size` samples, or samples of similar `lengths` that
        are padded to at most `tokens`. One iteration has `batches` batches; by default it never ends.
        """
        if (batch_size is None) == (tokens is None) or (tokens is None) != (lengths is None):
            raise ValueError("give either batch_size, or tokens with the lengths of all samples")
        if any(count is not None and count < 1 for count in (batch_size, tokens)):
            raise ValueError("batch_size and tokens must be at least 1")
        rows = scheduler.rows or (batch_size or 1) * world  # samples, or bundles of samples
        if batch_size is not None and rows != batch_size * world:
            raise ValueError(
                f"the scheduler shares out {rows} rows, but {world} batches of {batch_size} have "
                f"{batch_size * world}; give FacetScheduler rows={batch_size * world}"
            )
        samples = indices_by_facet(facets, scheduler.facets)
        keys = [stream_key(seed, "adapter", name) for name in scheduler.facets]
        streams: list[Stream]
        if tokens is None or lengths is None:
            streams = [SampleStream(*pair) for pair in zip(samples, keys, strict=True)]
        else:
            sizes, room = np.asarray(lengths), tokens * world / rows
            streams = [BundleStream(*pair, sizes, room) for pair in zip(samples, keys, strict=True)]
        settings = {"seed": seed, "tokens": tokens and tokens * world}
        super().__init__(scheduler, streams, settings, rows=rows, batches=batches, rank=rank, world=world)
