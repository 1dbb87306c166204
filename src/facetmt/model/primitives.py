"""The functions that the modules are built from: dropout, positions, masks, attention, norms, products."""

import math
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

Ids = Array | NDArray[np.int32]  # token ids, segments or positions, on either side of a jit
MASKED = -1e9  # finite, so that a query without a key gives uniform weights instead of NaN


def dropout_bits(key: Array, sites: int) -> Array:
    """64 random bits for each dropout site of a model, as two words: [sites, 2] uint32."""
    # One call for all sites: each call of Threefry is hundreds of instructions for XLA to compile.
    return jax.random.bits(key, (sites, 2), jnp.uint32)


def keep_mask(bits: Array, rate: float, shape: tuple[int, ...]) -> Array:
    """Bernoulli(1 - rate) from a hash of the element's index, keyed by the bits of a site [2]."""
    # Threefry for every element would cost a fifth of a training step on a CPU. Six integer operations per
    # element, fused with the multiplication, cost next to nothing and give the same mask on every device.
    hashed = jnp.zeros(shape, jnp.uint32)
    stride = 1
    for axis in range(len(shape) - 1, -1, -1):
        hashed = hashed + jax.lax.broadcasted_iota(jnp.uint32, shape, axis) * np.uint32(stride % 2**32)
        stride *= shape[axis]
    hashed = (hashed ^ bits[0]) * np.uint32(0x7FEB352D)
    hashed = ((hashed ^ (hashed >> 15)) + bits[1]) * np.uint32(0x846CA68B)
    hashed = hashed ^ (hashed >> 16)
    keep: Array = hashed >= np.uint32(round(rate * 2**32))
    return keep


def dropout(x: Array, rate: float, bits: Array | None) -> Array:
    """x · keep / (1 - rate); the identity without bits."""
    if bits is None or rate == 0.0:
        return x
    return jnp.where(keep_mask(bits, rate, x.shape), x * jnp.asarray(1.0 / (1.0 - rate), x.dtype), 0)


@lru_cache(maxsize=8)
def position_table(length: int, width: int) -> NDArray[np.float32]:
    """PE[t] = [sin(t·f), cos(t·f)], f_i = 10000^(-i/(width/2 - 1)) (Vaswani et al., 3.5)."""
    half = width // 2
    frequencies = np.exp(-math.log(10000.0) / max(half - 1, 1) * np.arange(half))
    angles = np.arange(length)[:, None] * frequencies[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def segment_sums(values: Array, segment: Ids) -> tuple[Array, Array]:
    """Sums of values and counts of tokens per segment: [R, T] -> 2 x [R, T]; padding is dropped."""
    numbers = jnp.arange(1, values.shape[1] + 1)
    member = (jnp.asarray(segment)[:, :, None] == numbers).astype(values.dtype)  # [R, T, segment]
    return jnp.einsum("rt,rtn->rn", values, member), jnp.sum(member, axis=1)


def segment_bias(query: Ids, key: Ids) -> Array:
    """0 where query and key share a segment, else -1e9: [R, T], [R, S] -> [R, 1, T, S]."""
    return jnp.where(query[:, None, :, None] == key[:, None, None, :], 0.0, MASKED)


def causal_bias(length: int) -> Array:
    """0 where the key is not after the query, else -1e9: [1, 1, T, T]."""
    steps = jnp.arange(length)
    return jnp.where(steps[:, None] >= steps[None, :], 0.0, MASKED)[None, None]


def attend(
    query: Array, key: Array, value: Array, bias: Array, rate: float = 0.0, bits: Array | None = None
) -> Array:
    """softmax(q·kᵀ/√D + bias)·v, heads joined: [R, H, T, D], 2 x [R, H, S, D] -> [R, T, H·D]."""
    rows, heads, length, depth = query.shape
    attended = weighted(query * jnp.asarray(depth**-0.5, query.dtype), key, value, bias, bits, rate)
    return attended.transpose(0, 2, 1, 3).reshape(rows, length, heads * depth)


def attend_cached(query: Array, keys: Array, values: Array, bias: Array) -> Array:
    """`attend` without gradient, keys as cached: [R, H, T, D], [R, H, D, S], [R, H, S, D] -> [R, T, H·D]."""
    rows, heads, length, depth = query.shape
    scores = jnp.einsum("rhtd,rhds->rhts", query, keys, preferred_element_type=jnp.float32)
    scores = scores * depth**-0.5 + bias
    powers = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    divisor = jnp.sum(powers, axis=-1, keepdims=True).astype(values.dtype)
    attended = jnp.einsum("rhts,rhsd->rhtd", powers.astype(values.dtype), values) / divisor
    return attended.transpose(0, 2, 1, 3).reshape(rows, length, heads * depth)


@partial(jax.custom_vjp, nondiff_argnums=(5,))
def weighted(q: Array, k: Array, v: Array, bias: Array, bits: Array | None, rate: float) -> Array:
    """softmax(q·kᵀ + bias)·v with dropout on the weights: [R, H, T, D], 2 x [R, H, S, D] -> [R, H, T, D]."""
    return _weighted_forward(q, k, v, bias, bits, rate)[0]


# Written out so that the division comes after the product with v, on [T, D] instead of [T, S] numbers, and
# so that the gradient needs no sum over [T, S]: Σ_s w·∂w = ∂o·o.
def _weighted_forward(
    q: Array, k: Array, v: Array, bias: Array, bits: Array | None, rate: float
) -> tuple[Array, tuple[Array | None, ...]]:
    scores = jnp.einsum("rhtd,rhsd->rhts", q, k, preferred_element_type=jnp.float32) + bias
    powers = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    divisor = (1.0 / jnp.sum(powers, axis=-1, keepdims=True)).astype(v.dtype)
    powers = powers.astype(v.dtype)
    attended = jnp.einsum("rhts,rhsd->rhtd", dropout(powers, rate, bits), v) * divisor
    return attended, (q, k, v, powers, divisor, attended, bits)


def _weighted_backward(
    rate: float, saved: tuple[Array, ...], gradient: Array
) -> tuple[Array, Array, Array, None, None]:
    q, k, v, powers, divisor, attended, bits = saved
    slope = gradient * divisor
    of_v = jnp.einsum("rhts,rhtd->rhsd", dropout(powers, rate, bits), slope)
    of_weights = dropout(jnp.einsum("rhtd,rhsd->rhts", slope, v), rate, bits)
    of_scores = powers * (of_weights - jnp.sum(slope * attended, axis=-1, keepdims=True))
    of_q = jnp.einsum("rhts,rhsd->rhtd", of_scores, k)
    of_k = jnp.einsum("rhts,rhtd->rhsd", of_scores, q)
    return of_q, of_k, of_v, None, None


weighted.defvjp(_weighted_forward, _weighted_backward)


@jax.custom_vjp
def normalised(x: Array, scale: Array, shift: Array) -> Array:
    """(x − mean)/√(variance + 1e-6)·scale + shift over the last axis, in float32: [..., W]."""
    return _normalised_forward(x, scale, shift)[0]


# Written out so that the backward pass keeps two numbers per token instead of two arrays of the size of x.
def _normalised_forward(x: Array, scale: Array, shift: Array) -> tuple[Array, tuple[Array, ...]]:
    wide = x.astype(jnp.float32)
    mean = jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.maximum(jnp.mean(wide * wide, axis=-1, keepdims=True) - mean * mean, 0.0)
    inverse = jax.lax.rsqrt(variance + 1e-6)
    return ((wide - mean) * inverse * scale + shift).astype(x.dtype), (x, mean, inverse, scale)


def _normalised_backward(saved: tuple[Array, ...], gradient: Array) -> tuple[Array, Array, Array]:
    x, mean, inverse, scale = saved
    wide = gradient.astype(jnp.float32)
    normal = (x.astype(jnp.float32) - mean) * inverse
    tokens = tuple(range(x.ndim - 1))
    of_normal = wide * scale
    centre = jnp.mean(of_normal, axis=-1, keepdims=True)
    along = jnp.mean(of_normal * normal, axis=-1, keepdims=True)
    of_x = inverse * (of_normal - centre - normal * along)
    return of_x.astype(x.dtype), jnp.sum(wide * normal, axis=tokens), jnp.sum(wide, axis=tokens)


normalised.defvjp(_normalised_forward, _normalised_backward)


@jax.custom_vjp
def linear(x: Array, kernel: Array) -> Array:
    """x·W in the type of x; the gradient of W in float32: [..., I], [I, O] -> [..., O]."""
    return x @ kernel.astype(x.dtype)


def _linear_forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return linear(x, kernel), (x, kernel)


def _linear_backward(saved: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, kernel = saved
    inputs, outputs = kernel.shape
    rows, columns = x.reshape(-1, inputs), gradient.reshape(-1, outputs)
    # A CPU transposes one of the two in memory: make it the smaller one, which saves a tenth of a step.
    if inputs <= outputs:
        of_kernel = jnp.matmul(rows.T, columns, preferred_element_type=jnp.float32)
    else:
        of_kernel = jnp.matmul(columns.T, rows, preferred_element_type=jnp.float32).T
    return gradient @ kernel.T.astype(gradient.dtype), of_kernel


linear.defvjp(_linear_forward, _linear_backward)


def projected(hidden: Array, matrix: Array) -> Array:
    """Logits in float32, whatever the type of the activations: [..., W], [V, W] -> [..., V]."""
    output = matrix.astype(hidden.dtype)
    return jnp.einsum("...w,vw->...v", hidden, output, preferred_element_type=jnp.float32)
