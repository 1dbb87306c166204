"""What a Transformer is made of: dropout, positions, masks, attention, feed-forward, blocks."""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from numpy.typing import NDArray

from facetmt.model.config import ModelConfig

Ids = Array | NDArray[np.int32]  # token ids, segments or positions, on either side of a jit
MASKED = -1e9  # finite, so that a query without a key gives uniform weights and no NaN


def dropout_words(key: Array, sites: int) -> Array:
    """Two random words for each place where a model drops: [sites, 2] uint32."""
    # One call for all: every call of Threefry is hundreds of instructions that XLA has to compile.
    return jax.random.bits(key, (sites, 2), jnp.uint32)


def keep_mask(words: Array, rate: float, shape: tuple[int, ...]) -> Array:
    """Bernoulli(1 - rate) from a hash, keyed by two words, of the element's index."""
    # Threefry for every element would cost a fifth of a training step on a CPU; six integer operations an
    # element, fused with the multiplication, cost next to nothing and are the same on every device.
    bits = jnp.zeros(shape, jnp.uint32)
    stride = 1
    for axis in range(len(shape) - 1, -1, -1):
        bits = bits + jax.lax.broadcasted_iota(jnp.uint32, shape, axis) * np.uint32(stride % 2**32)
        stride *= shape[axis]
    bits = (bits ^ words[0]) * np.uint32(0x7FEB352D)
    bits = ((bits ^ (bits >> 15)) + words[1]) * np.uint32(0x846CA68B)
    bits = bits ^ (bits >> 16)
    keep: Array = bits >= np.uint32(round(rate * 2**32))
    return keep


def dropout(x: Array, rate: float, words: Array | None) -> Array:
    """x · keep / (1 - rate); the identity without words."""
    if words is None or rate == 0.0:
        return x
    return jnp.where(keep_mask(words, rate, x.shape), x * jnp.asarray(1.0 / (1.0 - rate), x.dtype), 0)


def each(words: Array | None, count: int) -> list[Array | None]:
    """The rows of a block's dropout words; without words a None for each."""
    return [None] * count if words is None else list(words)


@lru_cache(maxsize=8)
def position_table(length: int, width: int) -> NDArray[np.float32]:
    """PE[t] = [sin(t·f), cos(t·f)], f_i = 10000^(-i/(width/2 - 1)) (Vaswani et al., 3.5)."""
    half = width // 2
    frequencies = np.exp(-math.log(10000.0) / max(half - 1, 1) * np.arange(half))
    angles = np.arange(length)[:, None] * frequencies[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def segment_sums(values: Array, segment: Ids) -> tuple[Array, Array]:
    """Values and tokens summed for each segment of each row: [R, T] -> 2 x [R, T]; padding is dropped."""
    numbers = jnp.arange(1, values.shape[1] + 1)
    member = (jnp.asarray(segment)[:, :, None] == numbers).astype(values.dtype)  # [R, T, segment]
    return jnp.einsum("rt,rtn->rn", values, member), jnp.sum(member, axis=1)


def segment_bias(query: Ids, key: Ids) -> Array:
    """0 where query and key are of one segment, else -1e9: [R, T], [R, S] -> [R, 1, T, S]."""
    return jnp.where(query[:, None, :, None] == key[:, None, None, :], 0.0, MASKED)


def causal_bias(length: int) -> Array:
    """0 where the key is not after the query, else -1e9: [1, 1, T, T]."""
    steps = jnp.arange(length)
    return jnp.where(steps[:, None] >= steps[None, :], 0.0, MASKED)[None, None]


def attend(
    query: Array, key: Array, value: Array, bias: Array, rate: float = 0.0, words: Array | None = None
) -> Array:
    """softmax(q·kᵀ/√D + bias)·v, heads joined: [R, H, T, D], 2 x [R, H, S, D] -> [R, T, H·D]."""
    rows, heads, length, depth = query.shape
    scores = jnp.einsum("rhtd,rhsd->rhts", query * jnp.asarray(depth**-0.5, query.dtype), key)
    weights = jax.nn.softmax(scores.astype(jnp.float32) + bias, axis=-1)
    weights = dropout(weights, rate, words).astype(value.dtype)
    joined = jnp.einsum("rhts,rhsd->rhtd", weights, value)
    return joined.transpose(0, 2, 1, 3).reshape(rows, length, heads * depth)


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
    # One of the two is transposed in memory on a CPU: let it be the smaller one. Saves a tenth of a step.
    if inputs <= outputs:
        of_kernel = jnp.matmul(rows.T, columns, preferred_element_type=jnp.float32)
    else:
        of_kernel = jnp.matmul(columns.T, rows, preferred_element_type=jnp.float32).T
    return gradient @ kernel.T.astype(gradient.dtype), of_kernel


linear.defvjp(_linear_forward, _linear_backward)


class Linear(nnx.Module):
    """x·W, or x·W + b; Xavier-uniform, fused projections as if they were separate squares."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = False, rngs: nnx.Rngs) -> None:
        """`outputs` may be several times `inputs` for fused projections, which have no bias."""
        bound = math.sqrt(6.0 / (inputs + outputs)) if bias else math.sqrt(3.0 / inputs)
        kernel = jax.random.uniform(rngs.params(), (inputs, outputs), minval=-bound, maxval=bound)
        self.kernel = nnx.Param(kernel)
        self.bias = nnx.Param(jnp.zeros((outputs,))) if bias else None

    def __call__(self, x: Array) -> Array:
        """[..., I] -> [..., O]."""
        y = linear(x, self.kernel[...])
        return y if self.bias is None else y + self.bias[...].astype(y.dtype)


class Past(NamedTuple):
    """Cached keys and values of one layer: [B, H, L·K, D] for the target, [B, H, S, D] for the source."""

    keys: Array
    values: Array


class Attention(nnx.Module):
    """Multi-head attention; the projections that read the same input are one matrix."""

    def __init__(self, config: ModelConfig, *, cross: bool, rngs: nnx.Rngs) -> None:
        """Self-attention projects q, k, v at once; cross-attention q alone and k, v at once."""
        width, self.heads, self.rate = config.shape.width, config.shape.heads, config.attention_dropout
        self.depth = width // self.heads
        if cross:
            self.query = Linear(width, width, rngs=rngs)
            self.key_value = Linear(width, 2 * width, rngs=rngs)
        else:
            self.query_key_value = Linear(width, 3 * width, rngs=rngs)
        self.out = Linear(width, width, rngs=rngs)

    def split(self, projected: Array, parts: int) -> tuple[Array, ...]:
        """[R, T, parts·W] -> parts x [R, H, T, D]."""
        rows, length, _ = projected.shape
        heads = projected.reshape(rows, length, parts, self.heads, self.depth).transpose(2, 0, 3, 1, 4)
        return tuple(heads[part] for part in range(parts))

    def to_self(self, x: Array, bias: Array, words: Array | None) -> Array:
        """[R, T, W] attends to itself."""
        q, k, v = self.split(self.query_key_value(x), 3)
        return self.out(attend(q, k, v, bias, self.rate, words))

    def to_memory(self, x: Array, memory: Array, bias: Array, words: Array | None) -> Array:
        """[R, T, W] attends to the encoder's output [R, S, W]."""
        (q,) = self.split(self.query(x), 1)
        k, v = self.split(self.key_value(memory), 2)
        return self.out(attend(q, k, v, bias, self.rate, words))

    def to_past(self, x: Array, past: Past, index: Array, bias: Array) -> tuple[Array, Past]:
        """The K hypotheses of each sentence [B, K, W] attend to all that was cached, and to themselves."""
        q, k, v = self.split(self.query_key_value(x), 3)
        place = (0, 0, index * x.shape[1], 0)
        keys = jax.lax.dynamic_update_slice(past.keys, k, place)
        values = jax.lax.dynamic_update_slice(past.values, v, place)
        return self.out(attend(q, keys, values, bias)), Past(keys, values)

    def to_cached(self, x: Array, source: Past, bias: Array) -> Array:
        """[B, K, W] attends to the projected source."""
        (q,) = self.split(self.query(x), 1)
        return self.out(attend(q, source.keys, source.values, bias))

    def cached(self, memory: Array) -> Past:
        """The encoder's output [B, S, W], projected once for all steps."""
        return Past(*self.split(self.key_value(memory), 2))


class FeedForward(nnx.Module):
    """relu(x·A + a)·B + b, with dropout on the activations."""

    def __init__(self, config: ModelConfig, *, rngs: nnx.Rngs) -> None:
        """Width to mlp and back."""
        shape, self.rate = config.shape, config.dropout
        self.widen = Linear(shape.width, shape.mlp, bias=True, rngs=rngs)
        self.narrow = Linear(shape.mlp, shape.width, bias=True, rngs=rngs)

    def __call__(self, x: Array, words: Array | None) -> Array:
        """[R, T, W] -> [R, T, W]."""
        return self.narrow(dropout(nnx.relu(self.widen(x)), self.rate, words))


class EncoderBlock(nnx.Module):
    """Pre-norm: x + attention(norm x), then x + mlp(norm x)."""

    sites = 4  # rows of dropout words it takes

    def __init__(self, config: ModelConfig, *, rngs: nnx.Rngs) -> None:
        """One layer of the encoder, or of a language model when the bias is causal."""
        self.rate = config.dropout
        self.attention_norm = norm(config, rngs)
        self.attention = Attention(config, cross=False, rngs=rngs)
        self.mlp_norm = norm(config, rngs)
        self.mlp = FeedForward(config, rngs=rngs)

    def __call__(self, x: Array, bias: Array, words: Array | None) -> Array:
        """[R, T, W] -> [R, T, W]."""
        drop = each(words, self.sites)
        x = x + dropout(self.attention.to_self(self.attention_norm(x), bias, drop[0]), self.rate, drop[1])
        return x + dropout(self.mlp(self.mlp_norm(x), drop[2]), self.rate, drop[3])


class DecoderBlock(nnx.Module):
    """Pre-norm: self-attention, attention to the source, mlp."""

    sites = 6

    def __init__(self, config: ModelConfig, *, rngs: nnx.Rngs) -> None:
        """One layer of the decoder."""
        self.rate = config.dropout
        self.attention_norm = norm(config, rngs)
        self.attention = Attention(config, cross=False, rngs=rngs)
        self.source_norm = norm(config, rngs)
        self.source = Attention(config, cross=True, rngs=rngs)
        self.mlp_norm = norm(config, rngs)
        self.mlp = FeedForward(config, rngs=rngs)

    def __call__(
        self, x: Array, memory: Array, bias: Array, source_bias: Array, words: Array | None
    ) -> Array:
        """[R, T, W], [R, S, W] -> [R, T, W]."""
        drop = each(words, self.sites)
        x = x + dropout(self.attention.to_self(self.attention_norm(x), bias, drop[0]), self.rate, drop[1])
        heard = self.source.to_memory(self.source_norm(x), memory, source_bias, drop[2])
        x = x + dropout(heard, self.rate, drop[3])
        return x + dropout(self.mlp(self.mlp_norm(x), drop[4]), self.rate, drop[5])

    def advance(
        self, x: Array, past: Past, source: Past, index: Array, bias: Array, source_bias: Array
    ) -> tuple[Array, Past]:
        """One position of every hypothesis [B, K, W], without dropout."""
        heard, past = self.attention.to_past(self.attention_norm(x), past, index, bias)
        x = x + heard
        x = x + self.source.to_cached(self.source_norm(x), source, source_bias)
        return x + self.mlp(self.mlp_norm(x), None), past


def norm(config: ModelConfig, rngs: nnx.Rngs) -> nnx.LayerNorm:
    """Layer normalisation with scale and shift; statistics in float32."""
    return nnx.LayerNorm(config.shape.width, epsilon=1e-6, dtype=jnp.dtype(config.compute), rngs=rngs)


def embedding(vocabulary: int, config: ModelConfig, rngs: nnx.Rngs) -> nnx.Embed:
    """Normal with deviation 1/√W, so that the scaled embedding has unit variance."""
    width = config.shape.width
    return nnx.Embed(
        vocabulary,
        width,
        dtype=jnp.dtype(config.compute),
        embedding_init=jax.nn.initializers.normal(width**-0.5),
        rngs=rngs,
    )


def embed(table: nnx.Embed, ids: Ids, position: Ids, rate: float, words: Array | None) -> Array:
    """√W·E[id] + PE[position], then dropout: [R, T] -> [R, T, W]."""
    # positions lie within the row, so its length is all the table needs
    places = jnp.asarray(position_table(ids.shape[1], table.features), table.dtype)[position]
    return dropout(table(jnp.asarray(ids)) * math.sqrt(table.features) + places, rate, words)


def run_blocks(
    blocks: Iterable[Callable[..., Array]],
    x: Array,
    *inputs: Array,
    words: Array | None,
    sites: int,
    remat: bool,
) -> Array:
    """The blocks one after another, `sites` rows of words each, rematerialised if asked for."""
    for number, block in enumerate(blocks):
        mine = None if words is None else words[number * sites : (number + 1) * sites]
        x = jax.checkpoint(block)(x, *inputs, mine) if remat else block(x, *inputs, mine)
    return x
