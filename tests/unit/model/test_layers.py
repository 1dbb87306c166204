"""The modules: how they start, what they attend to, and which dropout bits each block takes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from facetmt.model.config import ModelConfig
from facetmt.model.layers import Attention, EncoderBlock, Linear, Norm, Past, embed, embedding, run_blocks
from facetmt.model.primitives import causal_bias, dropout_bits, position_table

CONFIG = ModelConfig(width=16, mlp=32, heads=2, dropout=0.3)
X = jax.random.normal(jax.random.key(0), (2, 5, 16))


def test_a_new_norm_gives_mean_0_and_variance_1():
    y = np.asarray(Norm(CONFIG)(X * 3 + 1))
    np.testing.assert_allclose(y.mean(-1), 0, atol=1e-5)
    np.testing.assert_allclose(y.var(-1), 1, atol=1e-3)


@pytest.mark.parametrize(
    ("outputs", "bias", "bound"), [(48, False, (6 / 32) ** 0.5), (64, True, (6 / 80) ** 0.5)]
)
def test_a_fused_projection_starts_like_separate_squares(outputs, bias, bound):
    kernel = np.asarray(Linear(16, outputs, bias=bias, rngs=nnx.Rngs(0)).kernel[...])
    assert bound * 0.98 < np.abs(kernel).max() <= bound


def test_position_by_position_with_a_cache_equals_the_whole_row():
    attention = Attention(CONFIG, cross=False, rngs=nnx.Rngs(0))
    whole = attention.to_self(X, causal_bias(5), None)
    past = Past(jnp.zeros((2, 2, 8, 5)), jnp.zeros((2, 2, 5, 8)))
    for time in range(5):
        bias = jnp.where(jnp.arange(5) <= time, 0.0, -1e9)
        one, past = attention.to_past(X[:, time : time + 1], past, jnp.asarray(time), bias)
        np.testing.assert_allclose(one[:, 0], whole[:, time], atol=1e-5)


def test_attention_to_a_cached_source_equals_attention_to_the_source():
    attention = Attention(CONFIG, cross=True, rngs=nnx.Rngs(0))
    memory, bias = (
        jax.random.normal(jax.random.key(1), (2, 7, 16)),
        jnp.zeros((1, 1, 1, 7)).at[..., 5:].set(-1e9),
    )
    cached = attention.to_cached(X, attention.cached(memory), bias)
    np.testing.assert_allclose(cached, attention.to_memory(X, memory, bias, None), atol=1e-5)


def test_an_embedding_is_scaled_and_has_its_position_added():
    table = embedding(9, CONFIG, nnx.Rngs(0))
    ids, position = np.array([[3, 4, 5]]), np.array([[0, 1, 0]])
    expected = np.asarray(table.embedding[...])[ids] * 4 + position_table(3, 16)[position]
    np.testing.assert_allclose(embed(table, ids, position, 0.3, None), expected, rtol=1e-5)


@pytest.mark.parametrize("remat", [False, True])
def test_each_block_takes_its_own_rows_of_dropout_bits(remat):
    blocks = [EncoderBlock(CONFIG, rngs=nnx.Rngs(seed)) for seed in (0, 1)]
    bits, bias = dropout_bits(jax.random.key(2), 2 * EncoderBlock.sites), jnp.zeros((1, 1, 5, 5))
    expected = blocks[1](blocks[0](X, bias, bits[:4]), bias, bits[4:])
    result = run_blocks(blocks, X, bias, bits=bits, sites=EncoderBlock.sites, remat=remat)
    np.testing.assert_allclose(result, expected, atol=1e-5)
    dry = run_blocks(blocks, X, bias, bits=None, sites=EncoderBlock.sites, remat=remat)
    assert np.abs(dry - expected).max() > 0.1
