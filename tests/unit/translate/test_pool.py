"""The pool: whatever enters when, every sentence is translated as if it were alone."""

import jax
import numpy as np
import pytest

from facetmt.data.batch import EOS
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.translate import beam, pool
from facetmt.translate.config import DecodeConfig
from facetmt.translate.pool import OneDevice, PooledSearch, Rows, padded, slots_for

MODEL = create(
    ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0), 12, seed=5
)
# so that no two candidates nearly tie
SHARP = jax.tree.map(lambda leaf: leaf * 3.0, MODEL.params)
FORBIDDEN = np.arange(12) < 3
DECODE = DecodeConfig(beam=2, batch=8, max_length=40, max_ratio=1.5)  # outputs of many lengths


def sentences(count, longest, seed=1):
    """Sources by falling length, of up to `longest` tokens."""
    random = np.random.default_rng(seed)
    lengths = sorted(random.integers(1, longest, count), reverse=True)
    return [[*random.integers(4, 12, length).tolist(), EOS] for length in lengths]


def searcher(decode=DECODE):
    return PooledSearch(MODEL.graph, SHARP, decode, FORBIDDEN, OneDevice())


def words(found):
    """The outputs without what follows their EOS."""
    return [row[: row.index(EOS) + 1] for row in found.ids.tolist()]


@pytest.fixture
def small(monkeypatch):
    """Sizes at which everything happens with few sentences."""
    for name, value in (("SMALLEST", 4), ("LEAST", 4), ("REFILL", 4), ("CROWD", 8), ("TAIL", 2)):
        monkeypatch.setattr(pool, name, value)


def test_every_sentence_is_found_as_if_it_were_alone(small, monkeypatch):
    done = {"fill": 0, "move": 0, "pick": 0}

    def counted(name):
        real = getattr(beam, name)

        def call(*given, **options):
            done[name] += 1
            return real(*given, **options)

        monkeypatch.setattr(beam, name, call)

    for name in done:
        counted(name)
    sources = sentences(30, 14)
    found = list(searcher()(sources, 2))
    assert sorted(one.sentence for one in found) == list(range(30))
    assert done["fill"] > 4 and done["move"] > 2 and done["pick"] == 1, done
    for one in found:
        (alone,) = searcher()([sources[one.sentence]], 2)
        assert words(one) == words(alone)
        np.testing.assert_allclose(one.score, alone.score, rtol=1e-3)


def test_few_steps_are_spent_on_sentences_that_are_settled(monkeypatch):
    spent = []

    class Counted(Rows):
        def go_on(self):
            before, live = self.time, int((self.sentence >= 0).sum())
            found = super().go_on()
            spent.append(((self.time - before) * len(self.sentence), (self.time - before) * live))
            return found

    monkeypatch.setattr(pool, "Rows", Counted)
    list(searcher()(sentences(200, 14), 1))
    computed, useful = map(sum, zip(*spent, strict=True))
    assert useful > 0.9 * computed


def test_nothing_to_translate():
    assert list(searcher()([], 1)) == []


def test_a_check_may_leave_the_search():
    calls = []

    def check():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(searcher()(sentences(60, 14), 1, check))


def test_a_rehearsal_runs_the_largest_search(monkeypatch):
    shapes = []
    real = beam.go_on

    def noted(graph, params, given, *rest, **options):
        shapes.append((given.search.lineage.shape, given.cache.sources.bias.shape[3]))
        return real(graph, params, given, *rest, **options)

    monkeypatch.setattr(beam, "go_on", noted)
    searcher().rehearse(20, 5)
    assert shapes == [((8, 2, slots_for(40, 40)), 32)]  # 20 tokens may become 38, and 32 may become 40


@pytest.mark.parametrize(("length", "expected"), [(1, 16), (16, 16), (17, 32), (33, 64)])
def test_few_shapes_are_compiled(length, expected):
    assert padded(length, 16) == expected


@pytest.mark.parametrize("time", [0, 5, 23, 24, 47, 200, 255])
def test_a_cache_has_room_for_some_more_steps(time):
    slots = slots_for(time, 256)
    assert 32 <= slots <= 288 and time < slots - 8
    assert slots == 288 or (time < 0.75 * slots and (slots == 32 or slots < 3 * (time + 1)))
