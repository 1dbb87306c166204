from collections import Counter

import numpy as np
import pytest

from facetmt.data.config import BatchConfig
from facetmt.data.stream import AGED, Cursor, PairSet, Stream
from facetmt.errors import UserError


def stream_of(stores, config=None, chosen=None, key=3):
    return Stream(PairSet(stores, range(len(stores)), chosen), config or BatchConfig(4, 32), key)


def take(stream, batches, drawn, cursor=None):
    """All pairs of some batches, and the cursor after them."""
    cursor, seen = cursor or Cursor(), Counter()
    for _ in range(batches):
        batch, cursor = stream.draw(cursor)
        seen += drawn(batch)
    return seen, cursor


@pytest.mark.parametrize("rows", [1, 4, 300])
def test_every_pair_comes_exactly_once_an_epoch(make_store, drawn, rows):
    store = make_store("it", 97)
    stream = stream_of([store], BatchConfig(rows, 32))
    seen, cursor = take(stream, 60 if rows < 300 else 2, drawn)
    consumed = cursor.position - len(cursor.pending)
    assert sum(seen.values()) == consumed and cursor.position >= 97
    # what is missing from whole epochs is exactly what waits
    waiting = Counter(stream_index(stream, list(cursor.pending)))
    taken = Counter(stream_index(stream, range(cursor.position)))
    assert Counter({pair: count for (_, pair), count in seen.items()}) == taken - waiting


def stream_index(stream, positions):
    from facetmt.permutation import permuted

    return permuted(np.array(list(positions), np.int64), len(stream.pairs), 3).tolist()


def test_whole_epochs_once_nothing_waits(make_store, drawn):
    """Draw until position is a multiple of n and nothing waits: then each pair was seen equally often."""
    store = make_store("it", 6, longest=4)
    stream = stream_of([store], BatchConfig(1, 12, sentences=3))
    cursor, seen, ends = Cursor(), Counter(), 0
    for _ in range(200):
        batch, cursor = stream.draw(cursor)
        seen += drawn(batch)
        if not cursor.pending and cursor.position % 6 == 0:
            ends += 1
            assert len(seen) == 6 and set(seen.values()) == {cursor.position // 6}
            assert stream.epochs(cursor) == cursor.position // 6
    assert ends > 3


def test_a_draw_depends_on_the_cursor_alone(make_store):
    stream = stream_of([make_store("it", 50)])
    first, after = stream.draw(Cursor())
    stream.draw(after)
    again, same = stream.draw(Cursor())
    assert same == after
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_one_sentence_is_enough(make_store, drawn):
    seen, cursor = take(stream_of([make_store("it", 1)]), 5, drawn)
    assert set(seen) == {(0, 0)} and seen.total() == cursor.position - len(cursor.pending) > 5


def test_a_sentence_budget_is_never_passed_and_is_reached(make_store, drawn):
    stream = stream_of([make_store("it", 500)], BatchConfig(200, 64, sentences=150))
    cursor = Cursor()
    for _ in range(5):
        batch, cursor = stream.draw(cursor)
        assert drawn(batch).total() == 150
    tight = stream_of([make_store("law", 500)], BatchConfig(2, 24, sentences=7))
    cursor = Cursor()
    for _ in range(50):
        batch, cursor = tight.draw(cursor)
        assert 1 <= drawn(batch).total() <= 7
        assert len(cursor.pending) <= 7


def test_no_pair_waits_for_long(make_store):
    stream = stream_of([make_store("it", 5000, longest=30)])
    cursor, longest = Cursor(), 0
    for _ in range(600):
        before = cursor.position
        _, cursor = stream.draw(cursor)
        pool = cursor.position - before + len(cursor.pending)
        longest = max(longest, *(cursor.position - position for position in cursor.pending), 0)
        assert longest <= (AGED + 2) * max(pool, 20)


def test_batches_are_tight(make_store):
    stream = stream_of([make_store("it", 4000, longest=30)], BatchConfig(64, 96))
    cursor, fill = Cursor(), []
    for _ in range(20):
        batch, cursor = stream.draw(cursor)
        fill.append(((batch.source_segment > 0).mean() + (batch.target_segment > 0).mean()) / 2)
    assert np.mean(fill) > 0.9


def test_mixed_pairs_keep_their_facet_and_their_tokens(make_store, drawn):
    stores = [make_store("a", 30), make_store("b", 5), make_store("c", 60)]
    stream = stream_of(stores, BatchConfig(8, 40))
    cursor, seen = Cursor(), Counter()
    for _ in range(12):
        batch, cursor = stream.draw(cursor)
        seen += drawn(batch)
        rows, columns = np.nonzero((batch.target_position == 0) & (batch.target_segment > 0))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            segment = batch.target_segment[row, column]
            index = int(batch.label[row, column]) - 10
            source, target = stores[batch.facet[row, column]].pair(index)
            assert batch.source[row][batch.source_segment[row] == segment].tolist() == source
            assert batch.label[row][batch.target_segment[row] == segment].tolist() == target
    assert {facet for facet, _ in seen} == {0, 1, 2} and len(seen) == 95


@pytest.mark.parametrize("sentences", [None, 1, 9])
@pytest.mark.parametrize(("rows", "parts"), [(1, 2), (3, 4), (70, 2)])
def test_processes_that_read_their_rows_read_the_whole_batch(make_store, rows, parts, sentences):
    stores = [make_store("a", 30), make_store("b", 25)]
    config = BatchConfig(rows * parts, 40, sentences=sentences)
    pairs = PairSet(stores, range(2))
    shares = [Stream(pairs, config, 7, slice(n * rows, (n + 1) * rows)) for n in range(parts)]
    whole, cursor = Stream(pairs, config, 7).draw(Cursor(11, (3,)))
    drawn = [share.draw(Cursor(11, (3,))) for share in shares]
    assert {after for _, after in drawn} == {cursor}
    for name, field in zip(whole._fields, whole, strict=True):
        assert np.array_equal(np.concatenate([getattr(batch, name) for batch, _ in drawn]), field)


def test_pairs_that_no_row_can_hold_and_empty_facets_are_said_at_once(make_store):
    with pytest.raises(UserError, match=r"facet it has pairs of up to \d+ source .* lower data.max_length"):
        stream_of([make_store("it", 50, longest=40)], BatchConfig(4, 16))
    with pytest.raises(UserError, match="no pairs to draw from in law"):
        stream_of([make_store("law", 0)])
