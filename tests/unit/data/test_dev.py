from collections import Counter

import numpy as np
import pytest

from facetmt.data.config import BatchConfig
from facetmt.data.dev import DevSet, balanced, dev_batches
from facetmt.data.sampler import DevFacetSampler
from facetmt.errors import UserError


@pytest.mark.parametrize(("cut", "sizes"), [(False, [6, 3, 0]), (True, [3, 3, 0])])
def test_each_facet_gives_as_many_pairs_as_it_has(make_store, cut, sizes):
    stores = [make_store("a", 40), make_store("b", 3), make_store("c", 0)]
    dev = balanced(stores, 6, seed=1, cut=cut)
    assert [len(chosen) for chosen in dev.chosen] == sizes == [len(dev.facet(i)) for i in range(3)]
    assert all(np.all(np.diff(chosen) > 0) for chosen in dev.chosen)
    again, other = (balanced(stores, 6, seed=seed, cut=cut) for seed in (1, 2))
    assert dev.chosen[0].tolist() == again.chosen[0].tolist() != other.chosen[0].tolist()
    few = [chosen.tolist() for chosen in dev.few(2).chosen]
    assert few == [chosen[[0, len(chosen) // 2]].tolist() for chosen in dev.chosen[:2]] + [[]]


def test_pairs_are_dealt_into_groups(make_store):
    dev = balanced([make_store("a", 40), make_store("b", 3)], 6, seed=1, cut=False)
    dealt = dev.dealt(4)
    assert [len(chosen) for chosen in dealt.chosen] == [2, 1, 2, 1, 1, 1, 1, 0]
    for facet in range(2):
        assert sorted(np.concatenate(dealt.chosen[facet::2])) == dev.chosen[facet].tolist()
        assert all(store is dev.stores[facet] for store in dealt.stores[facet::2])


def test_dev_batches_cover_the_chosen_pairs_once_with_the_last_batch_padded(make_store, drawn):
    stores = [make_store("a", 40), make_store("b", 0), make_store("c", 40)]
    chosen = [np.array([1, 5, 7, 30]), np.zeros(0, np.int64), np.array([0, 2, 3, 39])]
    for config in (BatchConfig(2, 24), BatchConfig(2, 24, sentences=3)):
        batches = list(dev_batches(DevSet(stores, chosen), config))
        total = sum((drawn(batch) for batch in batches), Counter())
        assert total == Counter([(0, i) for i in (1, 5, 7, 30)] + [(2, i) for i in (0, 2, 3, 39)])
        assert len(batches) > 1


def test_a_pair_longer_than_a_row_is_refused(make_store):
    with pytest.raises(UserError, match="facet a"):
        list(dev_batches(balanced([make_store("a", 40)], 6, 1, cut=False), BatchConfig(2, 5)))


def test_facets_are_sampled_apart_and_one_without_pairs_has_no_stream(make_store, drawn):
    stores = [make_store("a", 40), make_store("b", 0), make_store("c", 40)]
    dev = DevSet(stores, [np.array([3, 9]), np.zeros(0, np.int64), np.array([0])])
    sampler = DevFacetSampler(dev, BatchConfig(2, 24), seed=4, purpose="probe")
    assert sampler.names == ["a", "c"]
    assert set(drawn(sampler.next(0)) + drawn(sampler.next(0))) == {(0, 3), (0, 9)}
    assert set(drawn(sampler.next(1))) == {(2, 0)}
