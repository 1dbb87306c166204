"""Dropout masks, positions, masks, and the functions that have gradients of their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.model.primitives import (
    attend,
    causal_bias,
    dropout,
    dropout_bits,
    keep_mask,
    linear,
    normalised,
    position_table,
    segment_bias,
    segment_sums,
)

ATTEND = jax.jit(attend)


def bits(seed):
    return dropout_bits(jax.random.key(seed), 1)[0]


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_the_share_of_dropped_elements_is_the_rate(rate):
    keep = np.asarray(keep_mask(bits(3), rate, (64, 128, 32)))
    deviation = np.sqrt(rate * (1 - rate) / keep.size)
    assert abs((1 - keep.mean()) - rate) < 5 * deviation
    # along every axis too: no row, column or plane is treated differently
    for axis in range(3):
        share = 1 - keep.mean(axis=axis)
        spread = np.sqrt(rate * (1 - rate) / keep.shape[axis])
        assert abs(share.std() / spread - 1) < 0.1


def test_masks_of_different_keys_and_neighbouring_elements_are_independent():
    first, second = (np.asarray(keep_mask(bits(k), 0.5, (512, 512))) * 2.0 - 1 for k in (0, 1))
    for shifted in (second, np.roll(first, 1, axis=1), np.roll(first, 1, axis=0), np.roll(first, 64, axis=1)):
        assert abs((first * shifted).mean()) < 5 / 512


def test_the_sites_of_one_key_are_independent():
    first, second = (
        np.asarray(keep_mask(row, 0.5, (512, 512))) * 2.0 - 1 for row in dropout_bits(jax.random.key(0), 2)
    )
    assert abs((first * second).mean()) < 5 / 512


def test_dropout_keeps_the_expectation_and_repeats_for_a_key():
    x = jnp.ones((256, 256))
    dropped = dropout(x, 0.25, bits(7))
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(float(dropped.mean()) - 1) < 0.01
    np.testing.assert_array_equal(dropped, jax.jit(lambda k: dropout(x, 0.25, k))(bits(7)))
    assert dropout(x, 0.25, None) is x
    assert dropout(x, 0.0, bits(7)) is x


def test_positions_are_vaswanis_sinusoids():
    table = position_table(50, 8)
    frequency = 10000.0 ** (-np.arange(4) / 3)
    np.testing.assert_allclose(table[7], np.r_[np.sin(7 * frequency), np.cos(7 * frequency)], atol=1e-6)
    np.testing.assert_array_equal(position_table(20, 8), table[:20])


def test_masks_admit_one_segment_and_the_past():
    segment = jnp.array([[1, 1, 2, 0]])
    allowed = np.asarray(jnp.minimum(segment_bias(segment, segment), causal_bias(4)) == 0)[0, 0]
    assert allowed.tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [False, False, True, False],
        [False, False, False, True],
    ]


@given(st.sampled_from([(1, 1), (4, 6)]), st.integers(0, 2**31 - 1))
@settings(max_examples=30)
def test_attention_equals_its_definition(lengths, seed):
    length, keys = lengths
    rng = np.random.default_rng(seed)
    query, key, value = (rng.normal(size=(2, 3, n, 4)).astype(np.float32) for n in (length, keys, keys))
    allowed = rng.random((2, 1, length, keys)) < 0.7
    allowed[..., 0] = True
    result = ATTEND(query, key, value, np.where(allowed, 0, -1e9))
    scores = np.where(allowed, np.einsum("rhtd,rhsd->rhts", query, key) / 2.0, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    expected = np.einsum("rhts,rhsd->rthd", weights, value).reshape(2, length, 12)
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_a_query_without_any_key_stays_finite_and_so_does_its_gradient():
    x = jax.random.normal(jax.random.key(0), (1, 2, 3, 4))

    def total(q):
        return attend(q, x, x, jnp.full((1, 1, 3, 3), -1e9)).sum()

    value, gradient = jax.value_and_grad(total)(x)
    assert np.isfinite(value) and np.isfinite(gradient).all()


def same_value_and_gradient(mine, plain, inputs, back):
    """Value and vector-Jacobian product of two functions agree."""

    @jax.jit
    def both(inputs, back):
        pairs = [jax.vjp(f, *inputs) for f in (mine, plain)]
        return [(value, vjp(back)) for value, vjp in pairs]

    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5), *both(tuple(inputs), back)
    )


def plain_attention(query, key, value, bias, keep):
    """The definition, for JAX to differentiate."""
    weights = jax.nn.softmax(jnp.einsum("rhtd,rhsd->rhts", query, key) / 2.0 + bias) * keep
    return jnp.einsum("rhts,rhsd->rthd", weights, value).reshape(2, 5, 12)


@pytest.mark.parametrize("rate", [0.0, 0.25])
def test_the_gradient_of_attention_is_that_of_its_definition(rate):
    keys = jax.random.split(jax.random.key(0), 4)
    inputs = [jax.random.normal(key, (2, 3, n, 4)) for key, n in zip(keys[:3], (5, 6, 6), strict=True)]
    bias, back = jnp.zeros((2, 1, 5, 6)).at[..., 4:].set(-1e9), jax.random.normal(keys[3], (2, 5, 12))
    keep = keep_mask(bits(1), rate, (2, 3, 5, 6)) / (1 - rate) if rate else 1.0
    same_value_and_gradient(
        lambda *qkv: attend(*qkv, bias, rate, bits(1)),
        lambda *qkv: plain_attention(*qkv, bias, keep),
        inputs,
        back,
    )


def test_normalisation_and_its_gradient_are_those_of_the_definition():
    def plain(x, scale, shift):
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6) * scale + shift

    keys = jax.random.split(jax.random.key(0), 4)
    inputs = (jax.random.normal(keys[0], (2, 3, 8)) * 3 + 1, *jax.random.normal(keys[1], (2, 8)))
    back = jax.random.normal(keys[2], (2, 3, 8))
    same_value_and_gradient(normalised, plain, inputs, back)


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 5), (5, 3)])
def test_the_gradient_of_a_linear_layer_is_that_of_a_product(inputs, outputs):
    keys = jax.random.split(jax.random.key(0), 3)
    x, kernel = jax.random.normal(keys[0], (2, 4, inputs)), jax.random.normal(keys[1], (inputs, outputs))
    back = jax.random.normal(keys[2], (2, 4, outputs))
    same_value_and_gradient(linear, jnp.matmul, (x, kernel), back)
    half = jax.vjp(linear, x.astype(jnp.bfloat16), kernel)[1](back.astype(jnp.bfloat16))
    assert [leaf.dtype for leaf in half] == [jnp.bfloat16, jnp.float32]


def test_segment_sums_drop_padding():
    sums, counts = segment_sums(jnp.array([[1.0, 2, 4, 8]]), np.array([[1, 2, 2, 0]]))
    assert sums.tolist() == [[1, 6, 0, 0]] and counts.tolist() == [[1, 2, 0, 0]]
