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
from facetmt.translate import beam
from facetmt.translate.beam import beam_search, largest, length_penalty, stages, translate

VOCABULARY, LENGTH = 6, 4  # ids 4 and 5 are words
FORBIDDEN = np.array([True, True, True, False, False, False])


def toy(tables):
    """A next-token function whose logits depend on the whole history, kept in a cache of slots."""
    weights = jnp.asarray(tables)  # [B, L, V, V]: logits += weights[t, token at t]

    def next_token(tokens, cache, time, lineage):
        cache = cache.at[:, time].set(tokens)  # [B, L, K]
        sentences, _, length = lineage.shape
        history = jnp.take_along_axis(cache, lineage.transpose(0, 2, 1), axis=2)  # [B, L, K]
        seen = (jnp.arange(length) <= time)[None, :, None, None]
        sentence, step = jnp.arange(sentences)[:, None, None], jnp.arange(length)[None, :, None]
        logits = jnp.sum(jnp.where(seen, weights[sentence, step, history], 0.0), axis=1)
        return logits, cache

    return next_token


def longer(cache, length):
    """[B, L, K] with room for `length` positions."""
    return jnp.pad(cache, ((0, 0), (0, length - cache.shape[1]), (0, 0)))


@partial(jax.jit, static_argnames=("beam", "alpha", "n_best", "exact"))
def search(tables, limit, beam, alpha, n_best, spare=0, exact=True):
    return beam_search(
        toy(tables),
        jnp.zeros((tables.shape[0], 0, beam), jnp.int32),
        longer,
        limit,
        beam=beam,
        max_length=LENGTH,
        alpha=alpha,
        n_best=n_best,
        forbidden=jnp.asarray(FORBIDDEN),
        spare=spare,
        exact=exact,
    )


def log_probability(table, ids):
    """Σ log p of a sequence under one toy table [L, V, V]."""
    total, logits = 0.0, np.zeros(VOCABULARY)
    for time, (given_id, wanted) in enumerate(zip([BOS, *ids[:-1]], ids, strict=True)):
        logits = logits + table[time, given_id]
        total += logits[wanted] - np.log(np.exp(logits).sum())
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


def narrowing(table, limit, beam, alpha):
    """The definition: keep the best extensions, finished ones give up their place; no early exit."""
    live, finished = [(0.0, [])], []
    for time in range(limit):
        extensions = [
            (log_probability(table, [*ids, token]), [*ids, token])
            for _, ids in live
            for token in ([EOS] if time + 1 == limit else [EOS, 4, 5])
        ]
        kept = sorted(extensions, reverse=True)[: beam - len(finished)]
        finished += [pair for pair in kept if pair[1][-1] == EOS]
        live = [pair for pair in kept if pair[1][-1] != EOS]
    return sorted(((total / ((5 + len(ids)) / 6) ** alpha, ids) for total, ids in finished), reverse=True)


@pytest.mark.parametrize("n_best", [1, 3])
@given(tables=tables, limit=limits)
@settings(max_examples=40)
def test_the_early_exit_changes_no_result(n_best, tables, limit):
    found = search(tables, limit, beam=3, alpha=0.6, n_best=n_best)
    for sentence in range(2):
        for rank, (score, ids) in enumerate(narrowing(tables[sentence], limit[sentence], 3, 0.6)[:n_best]):
            assert words(found, sentence, rank) == ids
            assert float(found.score[sentence, rank]) == pytest.approx(score, rel=1e-4)


def test_the_search_stops_when_nothing_better_can_come():
    certain = np.zeros((1, LENGTH, VOCABULARY, VOCABULARY), np.float32)
    certain[..., EOS] = 20.0
    steps = []

    def next_token(tokens, cache, time, lineage):
        jax.debug.callback(lambda t: steps.append(int(t)), time)
        return toy(certain)(tokens, cache, time, lineage)

    cache, limit = jnp.zeros((1, 0, 3), jnp.int32), jnp.array([LENGTH])
    found = beam_search(next_token, cache, longer, limit, beam=3, max_length=LENGTH, alpha=0.6)
    found.score.block_until_ready()
    jax.effects_barrier()
    assert steps == [0]


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (1, [1]),
        (16, [16]),
        (20, [20]),
        (24, [16, 24]),
        (40, [16, 40]),
        (48, [16, 32, 48]),
        (136, [16, 32, 64, 136]),
    ],
)
def test_the_cache_grows_in_steps_worth_a_stage(longest, expected):
    assert stages(longest, 16) == expected


def test_a_cache_that_grew_gives_what_one_of_full_length_gives(monkeypatch):
    settings = {"beam": 3, "max_length": 8, "alpha": 0.6, "n_best": 2, "forbidden": SPECIAL}
    whole = translate(MODEL.graph, SHARP, SOURCE, np.full(3, 8), **settings)
    monkeypatch.setattr(beam, "stages", lambda longest, first: [2, 5, longest])
    grown = translate.__wrapped__(MODEL.graph, SHARP, SOURCE, np.full(3, 8), **settings)
    np.testing.assert_array_equal(whole.ids, grown.ids)
    np.testing.assert_allclose(whole.score, grown.score, rtol=1e-4)
    assert int(whole.length.max()) > 5


def test_the_length_penalty_is_that_of_wu_et_al():
    assert length_penalty(jnp.array([1, 7]), 1.0).tolist() == [1.0, 2.0]
    assert length_penalty(jnp.array([7]), 0.0).tolist() == [1.0]


MODEL = create(
    ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=2, dropout=0.3), 12, seed=3
)
SHARP = jax.tree.map(lambda leaf: leaf * 3.0, MODEL.params)  # so that no two candidates nearly tie
SOURCE = np.array([[4, 5, 6, 3, 0, 0], [7, 8, 9, 10, 11, 3], [3, 0, 0, 0, 0, 0]], np.int32)
SPECIAL = np.arange(12) < 3


@jax.jit
def plain_logits(target):
    """The next-token logits of [B, T] prefixes, without a cache."""
    model = nnx.merge(MODEL.graph, SHARP)
    segment = (SOURCE != PAD).astype(np.int32)
    position = np.broadcast_to(np.arange(SOURCE.shape[1]), SOURCE.shape)
    memory = model.encode(SOURCE, segment, position)
    ones, places = jnp.ones_like(target), jnp.broadcast_to(jnp.arange(target.shape[1]), target.shape)
    return jax.nn.log_softmax(model.logits(model.decode(target, ones, places, memory, segment)))


def rescored(ids, length, sentence):
    """Σ log p of one output under the model without a cache."""
    target = np.full((3, 8), BOS, np.int32)
    target[sentence, 1:] = ids[:-1]
    log_probabilities = np.asarray(plain_logits(target))[sentence]
    return sum(log_probabilities[time, ids[time]] for time in range(length))


def test_greedy_translation_is_argmax_without_a_cache():
    limit = np.array([8, 5, 8])
    found = translate(MODEL.graph, SHARP, SOURCE, limit, beam=1, max_length=8, alpha=0.0, forbidden=SPECIAL)
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
    found = translate(
        MODEL.graph,
        SHARP,
        SOURCE,
        np.full(3, 8),
        beam=4,
        max_length=8,
        alpha=0.6,
        n_best=4,
        forbidden=SPECIAL,
    )
    for sentence, rank in itertools.product(range(3), range(4)):
        length = int(found.length[sentence, rank])
        expected = rescored(np.asarray(found.ids[sentence, rank]), length, sentence)
        assert float(found.log_probability[sentence, rank]) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert len({tuple(np.asarray(found.ids[1, rank])) for rank in range(4)}) == 4


def test_a_sentence_translates_the_same_in_any_company_and_padding():
    settings = {"beam": 3, "max_length": 8, "alpha": 0.6, "forbidden": SPECIAL}
    together = translate(MODEL.graph, SHARP, SOURCE, np.full(3, 6), **settings)
    alone = translate(MODEL.graph, SHARP, SOURCE[:1, :4], np.full(1, 6), **settings)
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


@given(tables=tables, limit=limits)
@settings(max_examples=20)
def test_a_search_that_was_broken_off_says_which_sentences_are_unsettled(tables, limit):
    whole = search(tables, limit, beam=3, alpha=0.6, n_best=1)
    part = search(tables, limit, beam=3, alpha=0.6, n_best=1, spare=1)
    assert not np.asarray(whole.unsettled).any() and np.asarray(part.unsettled).sum() <= 1
    for sentence in np.flatnonzero(~np.asarray(part.unsettled)):
        assert words(part, sentence, 0) == words(whole, sentence, 0)


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
