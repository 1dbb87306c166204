"""Cross-entropy, its sums by facet and by segment, and packing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.data.batch import Batch
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.train.loss import (
    chunked,
    cross_entropy,
    facet_loss,
    loss_sum,
    score,
    token_losses,
    training_loss,
    unchunked,
)

VOCABULARY = 12
MODEL = create(
    ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.3),
    VOCABULARY,
    seed=0,
)
PAIRS = [([5, 6, 3], [7, 8, 9]), ([4, 3], [10]), ([9, 9, 9, 3], [4, 5])]


def packed(rows, source_length=10, target_length=9, facets=None):
    """Rows of pair numbers -> Batch; the facet of pair i is `facets[i]`."""
    arrays = {name: np.zeros((len(rows), source_length), np.int32) for name in Batch._fields[:3]}
    arrays |= {name: np.zeros((len(rows), target_length), np.int32) for name in Batch._fields[3:]}
    for row, numbers in enumerate(rows):
        s = t = 0
        for segment, number in enumerate(numbers, 1):
            source, target = PAIRS[number]
            span, out = slice(s, s + len(source)), slice(t, t + len(target) + 1)
            arrays["source"][row, span] = source
            arrays["source_segment"][row, span] = segment
            arrays["source_position"][row, span] = np.arange(len(source))
            arrays["target"][row, out] = [2, *target]
            arrays["label"][row, out] = [*target, 3]
            arrays["target_segment"][row, out] = segment
            arrays["target_position"][row, out] = np.arange(len(target) + 1)
            arrays["facet"][row, out] = facets[number] if facets else 0
            s, t = span.stop, out.stop
    return Batch(**arrays)


def reference(hidden, matrix, label, smoothing):
    """−Σ target·log softmax(E·h), written out."""
    logits = hidden @ matrix.T
    log_probability = jax.nn.log_softmax(logits)
    target = (1 - smoothing) * jax.nn.one_hot(label, matrix.shape[0]) + smoothing / matrix.shape[0]
    return -jnp.sum(target * log_probability, axis=-1)


CROSS_ENTROPY = jax.jit(cross_entropy, static_argnums=3)


@given(st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 2**31 - 1))
@settings(max_examples=40)
def test_cross_entropy_is_that_of_the_smoothed_distribution(smoothing, seed):
    rng = np.random.default_rng(seed)
    hidden, matrix = (
        rng.normal(size=(2, 3, 4)).astype(np.float32) * 3,
        rng.normal(size=(7, 4)).astype(np.float32),
    )
    label = rng.integers(0, 7, (2, 3))
    losses = CROSS_ENTROPY(hidden, matrix, label, smoothing)
    np.testing.assert_allclose(losses, reference(hidden, matrix, label, smoothing), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_the_gradient_computed_with_the_loss_is_that_of_the_definition(smoothing):
    rng = np.random.default_rng(0)
    # 3 x 400 tokens: more than one chunk
    hidden = jnp.asarray(rng.normal(size=(3, 400, 4)), jnp.float32)
    matrix = jnp.asarray(rng.normal(size=(7, 4)), jnp.float32)
    label, weight = rng.integers(0, 7, (3, 400)), jnp.asarray(rng.random((3, 400)) < 0.8, jnp.float32)

    def fused(hidden, matrix):
        return 3.0 * loss_sum(hidden, matrix, label, weight, smoothing)

    def plain(hidden, matrix):
        return 3.0 * jnp.sum(weight * reference(hidden, matrix, label, smoothing))

    results = [jax.jit(jax.value_and_grad(f, argnums=(0, 1)))(hidden, matrix) for f in (fused, plain)]
    assert len(chunked(hidden)) > 1
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3), *results)
    assert float(fused(hidden, matrix)) == pytest.approx(float(results[0][0]), rel=1e-5)


@pytest.mark.parametrize("shape", [(2, 3), (4, 512), (600, 7), (1, 1024, 2), (3, 997)])
def test_chunks_hold_every_element_once(shape):
    x = jnp.arange(np.prod(shape)).reshape(shape)
    np.testing.assert_array_equal(unchunked(chunked(x)), x)
    assert chunked(x).shape[1] == shape[0]


def test_large_logits_do_not_overflow():
    hidden, matrix = jnp.full((1, 1, 1), 100.0), jnp.array([[100.0], [-100.0], [0.0]])
    assert float(cross_entropy(hidden, matrix, np.array([[1]]), 0.0)[0, 0]) == pytest.approx(2e4)
    gradient = jax.grad(loss_sum)(hidden, matrix, np.array([[1]]), jnp.ones((1, 1)), 0.0)
    assert float(gradient[0, 0, 0]) == pytest.approx(200.0)


@jax.jit
def losses(batch):
    return token_losses(nnx.merge(MODEL.graph, MODEL.params), batch, 0.1)


def test_a_packed_row_has_the_loss_of_its_sentences_alone():
    batch = packed([[0, 1, 2], [0], [1], [2]])
    together, *alone = np.asarray(losses(batch))
    assert together.sum() == pytest.approx(sum(row.sum() for row in alone), rel=1e-5)
    assert (together[9:] == 0).all() and (together[:9] > 0).all()


def test_padding_has_neither_loss_nor_gradient():
    batch = packed([[0]])
    # other words at padded places
    noisy = batch._replace(
        source=np.where(batch.source_segment == 0, 7, batch.source),
        target=np.where(batch.target_segment == 0, 8, batch.target),
        label=np.where(batch.target_segment == 0, 9, batch.label),
    )

    @jax.jit
    def gradient(batch):
        return jax.value_and_grad(
            lambda params: training_loss(nnx.merge(MODEL.graph, params), batch, 0.1, jax.random.key(0))
        )(MODEL.params)

    (value, clean), (noisy_value, dirty) = gradient(batch), gradient(noisy)
    assert float(value) == pytest.approx(float(noisy_value), rel=1e-6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), clean, dirty)


def test_facet_sums_are_the_losses_of_each_facets_pairs():
    batch = packed([[0, 1], [2]], facets=[2, 0, 2])
    batch = batch._replace(facet=np.where(batch.target_segment > 0, batch.facet, 99))  # any value at padding
    by_facet = jax.jit(lambda b: facet_loss(MODEL.graph, MODEL.params, b, 4))(batch)
    assert by_facet.tokens.tolist() == [2, 0, 7, 0]
    sums, _ = jax.jit(lambda b: score(MODEL.graph, MODEL.params, b))(packed([[0], [1], [2]]))
    expected = -np.asarray(sums[:, 0])
    np.testing.assert_allclose(by_facet.loss, [expected[1], 0, expected[0] + expected[2], 0], rtol=1e-5)


def test_a_batch_without_tokens_gives_zero():
    by_facet = jax.jit(lambda b: facet_loss(MODEL.graph, MODEL.params, b, 2))(packed([[], []]))
    assert by_facet.loss.tolist() == by_facet.tokens.tolist() == [0, 0]


def test_scores_are_log_probabilities_by_segment():
    batch = packed([[2, 0], [1]])
    sums, lengths = jax.jit(lambda b: score(MODEL.graph, MODEL.params, b))(batch)
    assert lengths[:, :3].tolist() == [[3, 4, 0], [2, 0, 0]]
    plain = np.asarray(jax.jit(lambda b: token_losses(nnx.merge(MODEL.graph, MODEL.params), b))(batch))
    np.testing.assert_allclose(sums[0, :2], [-plain[0, :3].sum(), -plain[0, 3:7].sum()], rtol=1e-5)
    assert float(sums[1, 0]) == pytest.approx(-plain[1].sum(), rel=1e-5)
