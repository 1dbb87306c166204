"""Beam search against exhaustive search, greedy search and the model without a cache."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.data.batch import BOS, EOS, PAD
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.translate import beam as module
from facetmt.translate.beam import largest, length_penalty, ranked, search_on, settled

VOCABULARY, LENGTH = 6, 4  # ids 4 and 5 are words
FORBIDDEN = np.array([True, True, True, False, False, False])


def toy(tables):
    """A next-token function whose logits depend on the whole history, kept in a cache of slots."""
    weights = jnp.asarray(tables)  # [B, L, V, V]: logits += weights[t, token at t]

    def next_token(tokens, cache, time, begun, lineage):
        cache = cache.at[:, time].set(tokens)  # [B, L, K]
        sentences, _, slots = lineage.shape
        history = jnp.take_along_axis(cache, lineage.transpose(0, 2, 1), axis=2)  # [B, L, K]
        slot = jnp.arange(slots)
        seen = ((slot >= begun[:, None]) & (slot <= time))[:, :, None, None]
        step = jnp.maximum(slot - begun[:, None], 0)[:, :, None]  # [B, L, 1]
        sentence = jnp.arange(sentences)[:, None, None]
        logits = jnp.sum(jnp.where(seen, weights[sentence, step, history], 0.0), axis=1)
        return logits, cache

    return next_token


@partial(jax.jit, static_argnames=("beam", "alpha", "n_best", "exact", "late"))
def search(tables, limit, beam, alpha, n_best, exact=True, late=0):
    """Until all sentences are settled; those after the first begin `late` steps after it."""
    options = {"alpha": alpha, "n_best": n_best, "exact": exact, "forbidden": jnp.asarray(FORBIDDEN)}
    rows = jnp.arange(len(limit))
    found = module.empty(len(limit), beam, LENGTH, LENGTH + late)
    cache = jnp.zeros((len(limit), LENGTH + late, beam), jnp.int32)
    found = module.admit(
        found, jnp.where(rows == 0, 0, len(rows)), limit
    )  # rows beyond the last are left out
    for _ in range(late):
        found, cache = module.extend(toy(tables), found, cache, **options)
    found = module.admit(found, rows[1:], limit[1:])
    found, _ = search_on(toy(tables), found, cache, len(rows), **options)
    return ranked(found, alpha, n_best)


def log_probability(table, ids):
    """Σ log p of a sequence under one toy table [L, V, V]."""
    total, logits = 0.0, np.zeros(VOCABULARY)
    for time, (given_id, wanted) in enumerate(zip([BOS, *ids[:-1]], ids, strict=True)):
        logits = logits + table[time, given_id]
        total += logits[wanted] - np.log(np.exp(logits[~FORBIDDEN]).sum())
    return total


def exhaustive(table, limit, alpha):
    """Every complete output of at most `limit` tokens with its score, best first."""
    outputs = [[*words, EOS] for n in range(limit) for words in itertools.product([4, 5], repeat=n)]
    scored = [(log_probability(table, ids) / ((5 + len(ids)) / 6) ** alpha, ids) for ids in outputs]
    return sorted(scored, reverse=True)


def greedy(table, limit):
    """Step-by-step argmax."""
    ids, logits = [], np.zeros(VOCABULARY)
    while True:
        logits = logits + table[len(ids), ids[-1] if ids else BOS]
        ids.append(EOS if len(ids) + 1 == limit else int(np.argmax(np.where(FORBIDDEN, -np.inf, logits))))
        if ids[-1] == EOS:
            return ids


def words(hypotheses, sentence, rank):
    length = int(hypotheses.length[sentence, rank])
    ids = np.asarray(hypotheses.ids[sentence, rank])
    assert (ids[length:] == PAD).all()
    return ids[:length].tolist()


tables = st.integers(0, 2**31 - 1).map(
    lambda seed: (
        np.random.default_rng(seed).normal(size=(2, LENGTH, VOCABULARY, VOCABULARY)).astype(np.float32) * 2
    )
)
limits = st.tuples(st.integers(1, LENGTH), st.integers(1, LENGTH)).map(np.array)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@given(tables=tables, limit=limits)
@settings(max_examples=25)
def test_a_beam_as_wide_as_the_tree_is_exhaustive_search(alpha, tables, limit):
    found = search(tables, limit, beam=16, alpha=alpha, n_best=4)
    for sentence in range(2):
        expected = exhaustive(tables[sentence], limit[sentence], alpha)[:4]
        for rank, (score, ids) in enumerate(expected):
            assert words(found, sentence, rank) == ids
            assert float(found.score[sentence, rank]) == pytest.approx(score, rel=1e-4)
        assert np.isneginf(found.score[sentence, len(expected) :]).all()


@given(tables=tables, limit=limits)
@settings(max_examples=50)
def test_a_beam_of_one_is_greedy_search(tables, limit):
    found = search(tables, limit, beam=1, alpha=0.6, n_best=1)
    for sentence in range(2):
        ids = greedy(tables[sentence], limit[sentence])
        assert words(found, sentence, 0) == ids
        expected = log_probability(tables[sentence], ids)
        assert float(found.log_probability[sentence, 0]) == pytest.approx(expected, rel=1e-4)


def defined(table, limit, beam, alpha):
    """The definition: of the best extensions, those that end are finished; the best others live on."""
    live, finished = [(0.0, [])], []
    for time in range(limit):
        extensions = [
            (log_probability(table, [*ids, token]), [*ids, token])
            for _, ids in live
            for token in ([EOS] if time + 1 == limit else [EOS, 4, 5])
        ]
        extensions.sort(reverse=True)
        finished += [pair for pair in extensions[:beam] if pair[1][-1] == EOS]
        live = [pair for pair in extensions if pair[1][-1] != EOS][:beam]
        if len(finished) >= beam:
            break
    return sorted(((total / ((5 + len(ids)) / 6) ** alpha, ids) for total, ids in finished), reverse=True)


@pytest.mark.parametrize("n_best", [1, 3])
@given(tables=tables, limit=limits)
@settings(max_examples=40)
def test_the_early_exit_changes_no_result(n_best, tables, limit):
    found = search(tables, limit, beam=3, alpha=0.6, n_best=n_best)
    for sentence in range(2):
        for rank, (score, ids) in enumerate(defined(tables[sentence], limit[sentence], 3, 0.6)[:n_best]):
            assert words(found, sentence, rank) == ids
            assert float(found.score[sentence, rank]) == pytest.approx(score, rel=1e-4)


@pytest.mark.parametrize("exact", [True, False])
@given(tables=tables, limit=limits)
@settings(max_examples=20)
def test_a_sentence_that_begins_later_is_searched_as_if_alone(exact, tables, limit):
    together = search(tables, limit, beam=3, alpha=0.6, n_best=3, exact=exact)
    late = search(tables, limit, beam=3, alpha=0.6, n_best=3, exact=exact, late=2)
    np.testing.assert_array_equal(late.ids, together.ids)
    np.testing.assert_array_equal(late.score, together.score)


def test_the_search_stops_when_nothing_better_can_come():
    certain = np.zeros((1, LENGTH, VOCABULARY, VOCABULARY), np.float32)
    certain[..., EOS] = 20.0
    found = module.admit(module.empty(1, 3, LENGTH, LENGTH), jnp.array([0]), jnp.array([LENGTH]))
    assert not settled(found).any()
    found, _ = search_on(toy(certain), found, jnp.zeros((1, LENGTH, 3), jnp.int32), 1, alpha=0.6)
    assert settled(found).all() and int(found.time) == 1


def test_the_search_pauses_when_enough_sentences_are_settled():
    tables = np.zeros((3, LENGTH, VOCABULARY, VOCABULARY), np.float32)
    for sentence, length in enumerate([1, 2, 4]):
        tables[sentence, : length - 1, :, 4] = 20.0
        tables[sentence, length - 1, :, EOS] = 60.0
    for wanted, expected in ((1, 1), (2, 2), (3, 4)):
        found = module.admit(module.empty(3, 2, LENGTH, LENGTH), jnp.arange(3), jnp.full(3, LENGTH))
        found, _ = search_on(toy(tables), found, jnp.zeros((3, LENGTH, 2), jnp.int32), wanted, alpha=0.6)
        assert int(found.time) == expected and int(settled(found).sum()) == wanted


def test_the_length_penalty_is_that_of_wu_et_al():
    assert length_penalty(jnp.array([1, 7]), 1.0).tolist() == [1.0, 2.0]
    assert length_penalty(jnp.array([7]), 0.0).tolist() == [1.0]


MODEL = create(
    ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=2, dropout=0.3), 12, seed=3
)
SHARP = jax.tree.map(lambda leaf: leaf * 3.0, MODEL.params)  # so that no two candidates nearly tie
SOURCE = np.array([[4, 5, 6, 3, 0, 0], [7, 8, 9, 10, 11, 3], [3, 0, 0, 0, 0, 0]], np.int32)
SPECIAL = np.arange(12) < 3


def translate(params, source, limit, *, beam, alpha, n_best=1, slots=8, moves=()):
    """All sources at once; `moves`: (time at which the cache is moved, its new slots)."""
    size, width = source.shape
    shape = {"sentences": size, "width": width, "beam": beam, "longest": 8}
    pool = module.empty_pool(MODEL.graph, params, slots=slots, **shape)
    rows, sources = np.arange(size), module.encode(MODEL.graph, params, source)
    pool = module.fill(pool, rows, sources, rows, limit)
    options = {"alpha": alpha, "n_best": n_best, "exact": True}
    for time, new in (*moves, (8, None)):
        pool, now, done, found = module.go_on(MODEL.graph, params, pool, size, SPECIAL, **options)
        if new is None:
            assert bool(done.all())
            return found
        assert int(now) == time
        pool = module.move(pool, 0, slots=new, width=width)
    raise AssertionError


def test_a_cache_that_grew_gives_what_one_of_full_length_gives():
    settings = {"beam": 3, "alpha": 0.6, "n_best": 2}
    whole = translate(SHARP, SOURCE, np.full(3, 8), **settings)
    grown = translate(SHARP, SOURCE, np.full(3, 8), **settings, slots=2, moves=[(2, 5), (5, 8)])
    np.testing.assert_array_equal(whole.ids, grown.ids)
    np.testing.assert_allclose(whole.score, grown.score, rtol=1e-4)
    assert int(whole.length.max()) > 5


def test_a_pool_of_fewer_rows_goes_on_where_it_was():
    settings = {"alpha": 0.6, "n_best": 2, "exact": True}
    pool = module.empty_pool(MODEL.graph, SHARP, sentences=3, width=6, beam=3, longest=8, slots=3)
    sources = module.encode(MODEL.graph, SHARP, SOURCE)
    pool = module.fill(pool, np.arange(3), sources, np.arange(3), np.full(3, 8))
    pool, *_ = module.go_on(MODEL.graph, SHARP, pool, 3, SPECIAL, **settings)
    pool = module.move(module.pick(pool, np.array([2, 0])), 0, slots=8, width=4)  # their sources are short
    _, _, done, found = module.go_on(MODEL.graph, SHARP, pool, 2, SPECIAL, **settings)
    whole = translate(SHARP, SOURCE, np.full(3, 8), beam=3, alpha=0.6, n_best=2)
    assert bool(done.all())
    np.testing.assert_array_equal(found.ids, whole.ids[np.array([2, 0])])


@jax.jit
def plain_logits(target):
    """The next-token logits of [B, T] prefixes, without a cache."""
    model = nnx.merge(MODEL.graph, SHARP)
    segment = (SOURCE != PAD).astype(np.int32)
    position = np.broadcast_to(np.arange(SOURCE.shape[1]), SOURCE.shape)
    memory = model.encode(SOURCE, segment, position)
    ones, places = jnp.ones_like(target), jnp.broadcast_to(jnp.arange(target.shape[1]), target.shape)
    logits = model.logits(model.decode(target, ones, places, memory, segment))
    return jax.nn.log_softmax(jnp.where(SPECIAL, -jnp.inf, logits))


def rescored(ids, length, sentence):
    """Σ log p of one output under the model without a cache."""
    target = np.full((3, 8), BOS, np.int32)
    target[sentence, 1:] = ids[:-1]
    log_probabilities = np.asarray(plain_logits(target))[sentence]
    return sum(log_probabilities[time, ids[time]] for time in range(length))


def test_greedy_translation_is_argmax_without_a_cache():
    limit = np.array([8, 5, 8])
    found = translate(SHARP, SOURCE, limit, beam=1, alpha=0.0)
    target = np.full((3, 8), BOS, np.int32)
    outputs = [[], [], []]
    for time in range(8):
        best = np.argmax(np.where(SPECIAL, -np.inf, plain_logits(target)[:, time]), axis=-1)
        for sentence, ids in enumerate(outputs):
            if EOS not in ids:
                ids.append(EOS if time + 1 == limit[sentence] else int(best[sentence]))
        if time < 7:
            target[:, time + 1] = best
    assert [words(found, sentence, 0) for sentence in range(3)] == outputs


def test_every_hypothesis_of_a_beam_has_the_models_own_score():
    found = translate(SHARP, SOURCE, np.full(3, 8), beam=4, alpha=0.6, n_best=4)
    for sentence, rank in itertools.product(range(3), range(4)):
        length = int(found.length[sentence, rank])
        expected = rescored(np.asarray(found.ids[sentence, rank]), length, sentence)
        assert float(found.log_probability[sentence, rank]) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert len({tuple(np.asarray(found.ids[1, rank])) for rank in range(4)}) == 4


def test_a_sentence_translates_the_same_in_any_company_and_padding():
    together = translate(SHARP, SOURCE, np.full(3, 6), beam=3, alpha=0.6)
    alone = translate(SHARP, SOURCE[:1, :4], np.full(1, 6), beam=3, alpha=0.6)
    assert words(together, 0, 0) == words(alone, 0, 0)
    assert float(together.score[0, 0]) == pytest.approx(float(alone.score[0, 0]), rel=1e-4)


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("size", [3, 31, 200, 257])
def test_the_largest_are_those_of_top_k_with_ties_in_the_same_order(size, count):
    if count > size:
        count = size
    values = np.random.default_rng(size).integers(-9, 9, (4, 3, size)).astype(np.float32)
    values[0, 0] = -np.inf
    for found, expected in zip(
        largest(jnp.asarray(values), count), jax.lax.top_k(values, count), strict=True
    ):
        assert np.array_equal(found[1:], expected[1:])
        assert found.dtype == expected.dtype


def test_a_sentence_is_settled_sooner_if_none_of_its_hypotheses_is_ahead():
    # to end at once is likelier than to go on, but then each further word is free and the score rises
    table = np.full((1, LENGTH, VOCABULARY, VOCABULARY), -30.0, np.float32)
    table[0, 0, :, EOS], table[0, 0, :, 4] = np.log(0.55), np.log(0.45)
    table[0, 1:, :, 4] = 0.0
    table[0, -1, :, EOS] = 100.0  # logits add up over the positions
    limit = np.array([LENGTH])
    patient = search(table, limit, beam=3, alpha=1.0, n_best=1)
    hasty = search(table, limit, beam=3, alpha=1.0, n_best=1, exact=False)
    assert len(words(patient, 0, 0)) == LENGTH and words(hasty, 0, 0) == [EOS]
