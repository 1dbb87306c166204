import json
from collections import Counter

import numpy as np
import pytest

from facetmt.data.config import BatchConfig
from facetmt.data.dev import DevSet
from facetmt.data.sampler import DevSampler, FacetSampler, MixedSampler, RowSampler
from facetmt.data.store import StoreWriter, open_store
from facetmt.errors import UserError

CONFIG, WIDE = BatchConfig(2, 40), BatchConfig(4, 40)


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.fixture
def stores(make_store):
    return [make_store("it", 120), make_store("law", 31), make_store("talks", 1)]


def test_resuming_continues_the_stream(stores):
    order = np.random.default_rng(0).integers(0, 3, 400).tolist()
    whole = FacetSampler(stores, CONFIG, seed=1)
    batches = [whole.next(facet) for facet in order]
    half = FacetSampler(stores, CONFIG, seed=1)
    for facet in order[:200]:
        half.next(facet)
    state = json.loads(json.dumps(half.state()))
    resumed = FacetSampler(stores, CONFIG, seed=1)
    resumed.restore(state)
    assert all(same(resumed.next(f), b) for f, b in zip(order[200:], batches[200:], strict=True))
    assert resumed.state() == whole.state()


def test_a_facet_does_not_depend_on_the_others(stores):
    alone = FacetSampler(stores[1:2], CONFIG, seed=1)
    among = FacetSampler(stores, CONFIG, seed=1)
    for _ in range(20):
        among.next(0)
        among.next(2)
        first, second = alone.next(0), among.next(1)
        assert same(first._replace(facet=second.facet), second)
        assert set(second.facet[second.target_segment > 0].tolist()) == {1}


def test_seeds_and_facets_give_different_streams(stores, make_store):
    one, two = (FacetSampler(stores, CONFIG, seed=seed).next(0) for seed in (1, 2))
    assert not same(one, two)
    twin = make_store("it2", 120)
    twin.header = twin.header._replace(name="twin")
    twin.name = "twin"
    assert not np.array_equal(FacetSampler([twin], CONFIG, seed=1).next(0).source, one.source)


def test_drawing_ahead_does_not_move_what_is_consumed(stores):
    sampler, plain = FacetSampler(stores, CONFIG, seed=1), FacetSampler(stores, CONFIG, seed=1)
    ahead = [sampler.draw(sampler.cursor(facet), facet) for facet in range(3)]
    assert sampler.state() == plain.state()
    sampler.commit(ahead[1][1], 1)
    assert same(ahead[1][0], plain.next(1))
    assert sampler.state() == plain.state()


def test_effective_epochs(stores):
    sampler = FacetSampler(stores, CONFIG, seed=1)
    assert sampler.epochs() == {"it": 0, "law": 0, "talks": 0}
    pairs = sum(sampler.next(1).target_segment.max(axis=1).sum() for _ in range(30))
    assert sampler.epochs() == {"it": 0, "law": pairs / 31, "talks": 0}


def test_the_mixed_sampler_draws_from_all_in_proportion(stores, drawn):
    sampler = MixedSampler(stores, CONFIG, seed=1)
    seen = sum((drawn(sampler.next()) for _ in range(100)), drawn(sampler.next()))
    epochs = sampler.epochs()["mixed"]
    assert seen.total() == round(epochs * 152)
    assert len(seen) == 152 and max(seen.values()) - min(seen.values()) <= 2


def test_the_dev_sampler_draws_only_what_was_chosen_and_resumes(stores, drawn):
    chosen = [np.array([3, 9]), np.array([0, 30]), np.array([0])]
    sampler = DevSampler(DevSet(stores, chosen), BatchConfig(1, 24), seed=4)
    for _ in range(10):
        sampler.next()
    other = DevSampler(DevSet(stores, chosen), BatchConfig(1, 24), seed=4)
    other.restore(json.loads(json.dumps(sampler.state())))
    seen = drawn(sampler.next())
    assert seen == drawn(other.next())
    for _ in range(20):
        seen += drawn(sampler.next())
    assert set(seen) == {(0, 3), (0, 9), (1, 0), (1, 30), (2, 0)}


def test_a_state_of_something_else_is_refused(stores, make_store):
    state = FacetSampler(stores, CONFIG, seed=1).state()
    with pytest.raises(UserError, match="seed 1, this one 2"):
        FacetSampler(stores, CONFIG, seed=2).restore(state)
    with pytest.raises(UserError, match=r"other facets .*\(law\)"):
        FacetSampler([stores[0], stores[2]], CONFIG, seed=1).restore(state)
    with pytest.raises(UserError, match="law had 31 pairs when saved, but has 32 now"):
        FacetSampler([stores[0], make_store("law", 32), stores[2]], CONFIG, seed=1).restore(state)
    with pytest.raises(ValueError, match="same facet name"):
        FacetSampler([stores[0], stores[0]], CONFIG, seed=1)


def test_the_state_is_small(make_store):
    sampler = FacetSampler([make_store("it", 3000)], BatchConfig(64, 96), seed=1)
    for _ in range(30):
        sampler.next(0)
        assert len(sampler.cursor(0).pending) < 100


def facet_rows(batch):
    """Facet index -> rows in which it has target tokens."""
    counts = Counter()
    for row in range(len(batch.facet)):
        (facet,) = set(batch.facet[row][batch.target_segment[row] > 0].tolist())  # a row holds one facet
        counts[facet] += 1
    return counts


def test_rows_are_shared_out_as_asked_and_each_facet_goes_through_its_own_stream(stores):
    sampler, alone = RowSampler(stores, WIDE, seed=3), FacetSampler(stores, WIDE, seed=3)
    counts = [WIDE.rows - 1, 1, *[0] * (len(stores) - 2)]
    before = sampler.state()
    (batch,), cursors = sampler.draw_rows(counts)
    assert facet_rows(batch) == {0: WIDE.rows - 1, 1: 1}
    assert sampler.state() == before  # drawing changes nothing
    assert cursors[2:] == [alone.cursor(place) for place in range(2, len(stores))]
    (again,), _ = sampler.draw_rows(counts)
    assert all(np.array_equal(one, other) for one, other in zip(batch, again, strict=True))


def test_no_pair_is_lost_or_drawn_twice_whatever_the_rows(stores):
    sampler, rng = RowSampler(stores, WIDE, seed=3), np.random.default_rng(1)
    placed = Counter()
    for _ in range(60):
        counts = rng.multinomial(WIDE.rows, [1 / len(stores)] * len(stores)).tolist()
        (batch,), cursors = sampler.draw_rows(counts)
        for facet, cursor in enumerate(cursors):
            sampler.commit(cursor, facet)
        starts = batch.target_segment * (batch.target_position == 0) > 0
        placed.update(batch.facet[starts].tolist())
    for facet in range(len(stores)):
        cursor = sampler.cursor(facet)
        assert placed[facet] == cursor.position - len(cursor.pending) > 0
        assert len(cursor.pending) < 40


@pytest.mark.parametrize("micro", [1, 3])
def test_processes_and_micro_batches_hold_the_same_rows(stores, micro):
    counts = [2 * micro, WIDE.rows * micro - 2 * micro, *[0] * (len(stores) - 2)]
    whole, _ = RowSampler(stores, WIDE, seed=3).draw_rows(counts)
    half = WIDE.rows // 2
    parts = [
        RowSampler(stores, WIDE, 3, rows).draw_rows(counts)[0]
        for rows in (slice(0, half), slice(half, WIDE.rows))
    ]
    assert len(whole) == micro
    for number in range(micro):
        for plane in range(8):
            joined = np.concatenate([part[number][plane] for part in parts])
            assert np.array_equal(whole[number][plane], joined)


def test_a_single_row_is_filled_as_well_as_many(tmp_path):
    rng = np.random.default_rng(2)
    with StoreWriter(tmp_path / "a", "a", "train", "v", np.dtype(np.uint16)) as writer:
        for length in np.clip(rng.lognormal(np.log(18), 0.6, 4000), 2, 48).astype(int).tolist():
            writer.append(np.full(2 * length, 7), np.array([[length, length]]))
    sampler = RowSampler([open_store(tmp_path / "a")], BatchConfig(rows=1, length=48), seed=1)
    filled = []
    for _ in range(200):
        (batch,), (cursor,) = sampler.draw_rows([1])
        sampler.commit(cursor)
        filled.append((batch.target_segment > 0).mean())
    assert np.mean(filled) > 0.9
