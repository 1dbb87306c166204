import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.adapters.indices import Indices
from facetmt.adapters.stream import BLOCK, BundleStream, Cursor, SampleStream, cuts

ALL = slice(None)


@given(
    size=st.integers(1, 1500),
    rows=st.lists(st.integers(1, 700), min_size=1, max_size=12),
    world=st.integers(1, 3),
)
def test_ranks_share_a_stream_and_every_epoch_has_each_sample_once(size, rows, world):
    samples = Indices(range(100, 100 + size))
    streams = [SampleStream(samples, key=5) for _ in range(world)]
    cursor, drawn = Cursor(), []
    for count in rows:
        parts = [stream.take(cursor, count, slice(rank, None, world)) for rank, stream in enumerate(streams)]
        batch = [0] * count
        for rank, (mine, _) in enumerate(parts):
            batch[rank::world] = mine
        drawn += batch
        cursor = parts[0][1]
    assert cursor.position == len(drawn) == sum(rows)
    assert drawn == SampleStream(samples, key=5).take(Cursor(), sum(rows), ALL)[0]
    for start in range(0, len(drawn) - size + 1, size):
        assert sorted(drawn[start : start + size]) == list(range(100, 100 + size))


def test_epochs_are_in_different_orders():
    stream = SampleStream(Indices(range(BLOCK)), key=1)
    first, cursor = stream.take(Cursor(), BLOCK, ALL)
    assert first != stream.take(cursor, BLOCK, ALL)[0] and stream.epochs(cursor) == 1.0


@given(st.lists(st.integers(1, 60), min_size=1, max_size=80), st.integers(1, 100))
def test_parts_are_as_large_as_the_tokens_allow(lengths, tokens):
    ascending = np.sort(np.array(lengths))
    edges = [0, *cuts(ascending, tokens), len(lengths)]
    parts = [ascending[a:b] for a, b in itertools.pairwise(edges)]
    assert all(len(part) for part in parts)
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        assert len(part) * part[-1] <= tokens or len(part) == 1
        if following is not None:
            assert (len(part) + 1) * following[0] > tokens


@pytest.mark.parametrize("size", [3, 4096, 5000])
def test_bundles_hold_each_sample_once_per_epoch_and_little_padding(size):
    lengths = np.random.default_rng(1).integers(1, 80, size)
    stream = BundleStream(Indices(range(size)), 9, lengths, tokens=400)
    cursor, seen, room = Cursor(), [], 0
    while cursor.position < 2 * size:
        before = cursor
        batch, cursor = stream.take(cursor, 1, ALL)
        assert len(batch) * lengths[batch].max() <= 400
        assert batch == stream.take(before, 1, ALL)[0]
        seen += batch
        room += len(batch) * lengths[batch].max()
        assert stream.epochs(cursor) == pytest.approx(len(seen) / size)
    assert Counter(seen[:size]) == Counter(seen[size:]) == Counter(range(size))
    if size > 3:
        assert 2 * lengths.sum() / room > 0.9
