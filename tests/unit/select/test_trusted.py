"""The trusted text is drawn as training text is: in its own lengths, each pair once an epoch."""

from collections import Counter

import numpy as np
import pytest

from facetmt.data.batch import EOS
from facetmt.data.config import BatchConfig
from facetmt.data.store import StoreWriter, open_store
from facetmt.select.trusted import Stages, TrustedText, split

PAIRS, SHAPE = 3000, BatchConfig(rows=8, length=128)


@pytest.fixture
def skewed(tmp_path):
    """Many short pairs and a few long ones, as in real text; pair i consists of the id 10 + i."""
    lengths = np.clip(np.random.default_rng(1).lognormal(3.0, 0.7, (PAIRS, 1)), 2, 120).astype(np.int64)
    lengths = np.repeat(lengths, 2, axis=1)
    with StoreWriter(tmp_path / "text", "text", "train", "v", np.dtype(np.uint16)) as store:
        for index, (length, _) in enumerate(lengths.tolist()):
            ids = [10 + index] * (length - 1) + [EOS]
            store.append(np.array(ids * 2), lengths[index : index + 1])
    return TrustedText([open_store(tmp_path / "text")], [np.arange(PAIRS)], [np.arange(0)]), lengths[:, 1]


def drawn(batch):
    """The pairs of a batch."""
    return (batch.label[(batch.target_position == 0) & (batch.target_segment > 0)] - 10).tolist()


def test_the_first_batches_hold_sentences_of_the_usual_length(skewed):
    text, lengths = skewed
    sampler = text.sampler(SHAPE, seed=1)
    found = [pair for _ in range(20) for pair in drawn(sampler.next())]
    assert len(found) < PAIRS / 3  # far from an epoch
    assert lengths[found].mean() == pytest.approx(lengths.mean(), rel=0.06)


def test_every_pair_is_seen_once_an_epoch(skewed):
    text, _ = skewed
    sampler = text.sampler(SHAPE, seed=1)
    seen: Counter[int] = Counter()
    while sampler.epochs()["trusted"] < 3:
        seen.update(drawn(sampler.next()))
    assert set(seen) == set(range(PAIRS))
    assert {2, 3, 4} >= set(seen.values())  # what waits for the next batch may be seen a little later


def test_the_limit_of_sentences_counts(skewed):
    text, _ = skewed
    sampler = text.sampler(BatchConfig(rows=8, length=128, sentences=5), seed=1)
    assert [len(drawn(sampler.next())) for _ in range(4)] == [5, 5, 5, 5]


def test_a_tenth_is_held_out_and_never_learned_from(skewed):
    text, _ = skewed
    parts = split(text.stores, seed=1)
    assert len(parts.held[0]) == PAIRS // 10
    assert sorted([*parts.held[0], *parts.learn[0]]) == list(range(PAIRS))
    sampler = parts.sampler(SHAPE, seed=1)
    found = {pair for _ in range(20) for pair in drawn(sampler.next())}
    assert not found & set(parts.held[0].tolist())


def test_the_best_stage_is_kept_and_a_worse_one_ends_it():
    class State:
        params = 1.0

    stages = Stages(State(), 0.0, scores=[-3.0])
    stages.judge(-3.5)  # the first stage counts even so: without one there is nothing to contrast
    assert float(stages.params) == 1.0 and not stages.finished
    State.params = 2.0
    stages.judge(-2.5)
    assert float(stages.params) == 2.0 and not stages.finished
    State.params = 3.0
    stages.judge(-2.6)
    assert float(stages.params) == 2.0 and stages.finished
