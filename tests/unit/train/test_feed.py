"""The input pipeline over a sampler that counts."""

import numpy as np

from facetmt.bandit import Pull
from facetmt.data.batch import Batch
from facetmt.data.stream import Cursor
from facetmt.train.feed import Feed, HeldBatch


class Counting:
    """Two streams; the n-th batch of stream s is full of 100·s + n."""

    names = ("a", "b")

    def __init__(self) -> None:
        self.cursors = [Cursor(), Cursor()]

    def cursor(self, stream: int = 0) -> Cursor:
        return self.cursors[stream]

    def draw(self, cursor: Cursor, stream: int = 0) -> tuple[Batch, Cursor]:
        plane = np.full((2, 3), 100 * stream + cursor.position, np.int32)
        return Batch(*[plane] * 8), Cursor(cursor.position + 1)

    def commit(self, cursor: Cursor, stream: int = 0) -> None:
        self.cursors[stream] = cursor


def values(feed: Feed, streams: list[int]) -> list[int]:
    return [int(feed.take(Pull(stream, 0.5))[0].source.max()) for stream in streams]


def test_each_stream_goes_on_by_itself_and_only_what_was_taken_counts():
    sampler = Counting()
    feed = Feed(sampler, lambda batch: batch)
    feed.start()
    assert values(feed, [0, 1, 1, 0, 1]) == [0, 100, 101, 1, 102]
    feed.close()
    assert [cursor.position for cursor in sampler.cursors] == [2, 3]  # though one more of each was drawn


def test_a_new_feed_goes_on_where_the_sampler_stands():
    sampler = Counting()
    for expected in ([0, 100], [1, 101]):
        feed = Feed(sampler, lambda batch: batch)
        feed.start()
        assert values(feed, [0, 1]) == expected
        feed.close()


def test_micro_batches_are_stacked_and_their_tokens_counted():
    feed = Feed(Counting(), lambda batch: batch, accumulate=3)
    feed.start()
    batch, filled = feed.take(Pull(1, 0.5))
    feed.close()
    assert batch.source.shape == (3, 2, 3)
    assert batch.source[:, 0, 0].tolist() == [100, 101, 102]
    assert filled == (3 * 12, batch.source.size + batch.target.size)


def test_a_dev_batch_is_held_and_survives_a_restart():
    sampler = Counting()
    held = HeldBatch(sampler, lambda batch: batch, hold=3)
    seen = []
    for step in range(10):
        if step == 7:  # as if resumed from a checkpoint in the middle
            held = HeldBatch(sampler, lambda batch: batch, hold=3)
        batch, fresh = held.get(step)
        seen.append((int(batch.source.max()), fresh))
    assert [value for value, _ in seen] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert [fresh for _, fresh in seen] == [True, False, False] * 3 + [True]
