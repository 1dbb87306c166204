"""The modules of a Transformer: projections, attention, feed-forward, norms, and the blocks of them."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from facetmt.model.config import ModelConfig
from facetmt.model.primitives import Ids, attend, attend_cached, dropout, linear, normalised, position_table


class Norm(nnx.Module):
    """Layer normalisation with scale and shift."""

    def __init__(self, config: ModelConfig) -> None:
        """The identity on what is normal already."""
        self.scale = nnx.Param(jnp.ones((config.shape.width,)))
        self.shift = nnx.Param(jnp.zeros((config.shape.width,)))

    def __call__(self, x: Array) -> Array:
        """[..., W] -> [..., W]."""
        return normalised(x, self.scale[...], self.shift[...])


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
    """Cached keys and values of one layer; n is L·K for the target, S for the source."""

    keys: Array  # [B, H, D, n]: the way round that a product with few queries reads fastest
    values: Array  # [B, H, n, D]


class Attention(nnx.Module):
    """Multi-head attention; the projections that read the same input are one matrix."""

    def __init__(self, config: ModelConfig, *, cross: bool, rngs: nnx.Rngs) -> None:
        """Self-attention projects q, k, v at once; cross-attention q alone and k, v at once."""
        width, self.heads, self.rate = config.shape.width, config.shape.heads, config.dropout_of_weights
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

    def to_past(self, x: Array, past: Past, time: Array, bias: Array) -> tuple[Array, Past]:
        """The K hypotheses of each sentence [B, K, W] attend to all that was cached, and to themselves."""
        q, k, v = self.split(self.query_key_value(x), 3)
        place = time * x.shape[1]
        keys = jax.lax.dynamic_update_slice(past.keys, k.swapaxes(2, 3), (0, 0, 0, place))
        values = jax.lax.dynamic_update_slice(past.values, v, (0, 0, place, 0))
        return self.out(attend_cached(q, keys, values, bias)), Past(keys, values)

    def to_cached(self, x: Array, source: Past, bias: Array) -> Array:
        """[B, K, W] attends to the projected source."""
        (q,) = self.split(self.query(x), 1)
        return self.out(attend_cached(q, source.keys, source.values, bias))

    def cached(self, memory: Array) -> Past:
        """The encoder's output [B, S, W], projected once for all steps."""
        k, v = self.split(self.key_value(memory), 2)
        return Past(k.swapaxes(2, 3), v)


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


def each(words: Array | None, count: int) -> list[Array | None]:
    """The rows of a block's dropout words; without words a None for each."""
    return [None] * count if words is None else list(words)


class EncoderBlock(nnx.Module):
    """Pre-norm: x + attention(norm x), then x + mlp(norm x)."""

    sites = 4  # rows of dropout words it takes

    def __init__(self, config: ModelConfig, *, rngs: nnx.Rngs) -> None:
        """One layer of the encoder, or of a language model when the bias is causal."""
        self.rate = config.dropout
        self.attention_norm = Norm(config)
        self.attention = Attention(config, cross=False, rngs=rngs)
        self.mlp_norm = Norm(config)
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
        self.attention_norm = Norm(config)
        self.attention = Attention(config, cross=False, rngs=rngs)
        self.source_norm = Norm(config)
        self.source = Attention(config, cross=True, rngs=rngs)
        self.mlp_norm = Norm(config)
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
        self, x: Array, past: Past, source: Past, time: Array, bias: Array, source_bias: Array
    ) -> tuple[Array, Past]:
        """One position of every hypothesis [B, K, W], without dropout."""
        heard, past = self.attention.to_past(self.attention_norm(x), past, time, bias)
        x = x + heard
        x = x + self.source.to_cached(self.source_norm(x), source, source_bias)
        return x + self.mlp(self.mlp_norm(x), None), past


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
