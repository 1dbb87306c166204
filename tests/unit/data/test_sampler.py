import json

import numpy as np
import pytest

from facetmt.data.batch import BatchConfig
from facetmt.data.sampler import DevSampler, FacetSampler, MixedSampler
from facetmt.errors import UserError

CONFIG = BatchConfig(2, 40)


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
    sampler = DevSampler(stores, chosen, BatchConfig(1, 24), seed=4)
    for _ in range(10):
        sampler.next()
    other = DevSampler(stores, chosen, BatchConfig(1, 24), seed=4)
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
