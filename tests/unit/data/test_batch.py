import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.data.batch import BOS, EOS, PAD, Batch, Tokens, assign_rows, fill
from facetmt.data.config import BatchConfig

WIDTH = 12
LENGTHS = st.lists(st.tuples(st.integers(1, WIDTH), st.integers(1, WIDTH)), min_size=1, max_size=40)


def pack(lengths, rows=3, aged=None):
    source, target = np.array(lengths).T
    aged = np.zeros(len(source), bool) if aged is None else aged
    return source, target, assign_rows(source, target, aged, rows, (WIDTH, WIDTH))


def pairs_of(batch: Batch):
    """(source ids, label ids, target ids, facets) of every segment, in rows."""
    for row in range(len(batch.source)):
        for segment in range(1, batch.target_segment[row].max(initial=0) + 1):
            left, right = batch.source_segment[row] == segment, batch.target_segment[row] == segment
            assert batch.source_position[row][left].tolist() == list(range(left.sum()))
            assert batch.target_position[row][right].tolist() == list(range(right.sum()))
            yield tuple(
                a.tolist()
                for a in (
                    batch.source[row][left],
                    batch.label[row][right],
                    batch.target[row][right],
                    batch.facet[row][right],
                )
            )


@given(LENGTHS)
def test_rows_never_overflow_and_nothing_that_fits_an_empty_row_is_left_while_one_is_empty(lengths):
    source, target, row = pack(lengths)
    for index in range(3):
        assert source[row == index].sum() <= WIDTH
        assert target[row == index].sum() <= WIDTH
    if len(set(row[row >= 0].tolist())) < 3:
        assert (row >= 0).all()


@given(LENGTHS, st.data())
def test_aged_pairs_are_placed_before_all_others(lengths, data):
    aged = np.zeros(len(lengths), bool)
    aged[data.draw(st.integers(0, len(lengths) - 1))] = True
    row = pack(lengths, aged=aged)[2]
    assert (row[aged] >= 0).all()


@given(LENGTHS)
def test_a_batch_holds_every_pair_once_with_shifted_targets(lengths):
    source_length, target_length, row = pack(lengths)
    order = np.flatnonzero(row >= 0)
    order = order[np.argsort(row[order], kind="stable")]
    sources = [[100 + i] * (s - 1) + [EOS] for i, s in enumerate(source_length.tolist())]
    targets = [[500 + i] * (t - 1) + [EOS] for i, t in enumerate(target_length.tolist())]
    tokens = Tokens(
        np.array([x for i in order for x in sources[i]]),
        np.array([x for i in order for x in targets[i]]),
        source_length[order],
        target_length[order],
        order % 7,
    )
    batch = fill(tokens, row[order], 3, (WIDTH, WIDTH))
    assert all(array.shape == (3, WIDTH) and array.dtype == np.int32 for array in batch)
    found = list(pairs_of(batch))
    assert [x[:2] for x in found] == [(sources[i], targets[i]) for i in order]
    for index, (_, label, target, facet) in zip(order, found, strict=True):
        assert target == [BOS, *label[:-1]]
        assert set(facet) == {index % 7}
    assert (batch.source[batch.source_segment == 0] == PAD).all()
    for array in (batch.target, batch.label, batch.facet, batch.target_position):
        assert (array[batch.target_segment == 0] == 0).all()


def test_an_empty_batch_is_all_padding():
    nothing = np.zeros(0, np.int64)
    batch = fill(Tokens(nothing, nothing, nothing, nothing, nothing), nothing, 2, (4, 5))
    assert batch.source.shape == (2, 4) and batch.target.shape == (2, 5)
    assert not any(array.any() for array in batch)


def test_best_fit_closes_the_gaps():
    lengths = [(7, 7), (5, 5), (8, 8), (4, 4), (6, 6), (6, 6)]
    assert (pack(lengths)[2] >= 0).all()


def test_config_gives_both_widths_and_refuses_nonsense():
    assert BatchConfig(4, 16).width == (16, 16)
    assert BatchConfig(4, 16, 20).width == (16, 20)
    for bad in ({"rows": 0}, {"length": 1}, {"target_length": 1}, {"sentences": 0}):
        with pytest.raises(ValueError, match="at least"):
            BatchConfig(**bad)
