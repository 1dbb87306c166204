"""Streaming data sets in shares that change, interrupted and resumed."""

import json
from collections import Counter

import pytest

datasets = pytest.importorskip("datasets", reason="the adapters' libraries are missing: make test-adapters")

from facetmt.adapters.streaming import FacetStreams  # noqa: E402
from facetmt.bandit import Exp3, FacetScheduler  # noqa: E402

SIZES = {"a": 10, "b": 24, "c": 100}


def sources():
    made = {}
    for name, size in SIZES.items():
        rows = datasets.Dataset.from_dict({"text": [f"{name} {number}" for number in range(size)]})
        made[name] = rows.to_iterable_dataset(num_shards=2).map(lambda row: {"length": len(row["text"])})
    return made


def streams(rows=None, **settings):
    policy = Exp3(3, learning_rate=0.3, exploration=0.25)
    scheduler = FacetScheduler(list(SIZES), policy, "dev-pg", seed=3, rows=rows, kappa=4.0)
    return FacetStreams(scheduler, sources(), **{"batch_size": 6, "shuffle": 8, **settings})


def train(batches, steps):
    done = []
    for batch, _ in zip(batches, range(steps), strict=False):
        name = batches.name(batches.waiting[0])
        record = batches.feedback(before=1.0, after=0.9 - sum(row["length"] for row in batch) / 1e3)
        done.append((name, [row["text"] for row in batch], record.scaled))
    return done


@pytest.mark.parametrize("settings", [{}, {"rows": 6}, {"shuffle": 1}, {"shuffle": 24}])
def test_a_restored_stream_continues_as_if_nothing_had_happened(settings):
    whole = streams(**settings)
    expected = train(whole, 50)
    first = streams(**settings)
    done = train(first, 21)
    state = json.loads(json.dumps(first.state_dict(), sort_keys=True))
    second = streams(**settings)
    second.load_state_dict(state)
    assert done + train(second, 29) == expected
    assert second.epochs() == whole.epochs()


@pytest.mark.parametrize("settings", [{}, {"rows": 6}, {"shuffle": 12}])
def test_every_epoch_has_each_example_once_also_when_left_early_and_restored(settings):
    seen: Counter[str] = Counter()
    batches = streams(**settings)
    for number in range(9):
        for _, texts, _ in train(batches, 4 + number % 3):
            seen.update(texts)
        ahead = iter(batches)
        for _ in range(number % 4):
            next(ahead)  # drawn ahead, then given up
        if number % 2:
            state = batches.state_dict()
            batches = streams(**settings)
            batches.load_state_dict(state)
    assert seen
    for name, size in SIZES.items():
        counts = [seen[f"{name} {number}"] for number in range(size)]
        assert max(counts) - min(counts) <= 1
        if batches.epochs()[name] >= 1:
            assert sum(counts) == pytest.approx(batches.epochs()[name] * size)


def test_stretches_are_shuffled_and_ranks_share_a_batch():
    def texts(**settings):
        return [
            [row["text"] for row in batch] for batch, _ in zip(streams(**settings), range(20), strict=False)
        ]

    assert texts() != texts(shuffle=1)
    assert texts(batch_size=3, rank=1, world=2) == [batch[1::2] for batch in texts()]


def test_what_would_lose_examples_is_refused():
    scheduler = FacetScheduler(["a"], Exp3(1), "dev-pg")
    rows = datasets.Dataset.from_dict({"text": ["x"] * 9}).to_iterable_dataset()
    with pytest.raises(ValueError, match="lost on resuming; leave it out"):
        FacetStreams(scheduler, {"a": rows.shuffle(seed=1, buffer_size=4).map(dict)}, batch_size=2)
    with pytest.raises(ValueError, match="data set of its own: a"):
        FacetStreams(scheduler, {"b": rows}, batch_size=2)
    empty = rows.filter(lambda row: False)
    with pytest.raises(ValueError, match="a: the data set is empty"):
        next(iter(FacetStreams(scheduler, {"a": empty}, batch_size=2)))
