"""The modules of a Transformer: projections, attention, feed-forward, norms, and the blocks made of them."""

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
        """Starts as plain normalisation: scale 1, shift 0."""
        self.scale = nnx.Param(jnp.ones((config.shape.width,)))
        self.shift = nnx.Param(jnp.zeros((config.shape.width,)))

    def __call__(self, x: Array) -> Array:
        """[..., W] -> [..., W]."""
        return normalised(x, self.scale[...], self.shift[...])


class Linear(nnx.Module):
    """x·W, or x·W + b; Xavier-uniform, with fused projections initialised as separate squares."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = False, rngs: nnx.Rngs) -> None:
        """For fused projections, which have no bias, `outputs` is a multiple of `inputs`."""
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

    keys: Array  # [B, H, D, n]: the layout that a product with few queries reads fastest
    values: Array  # [B, H, n, D]


class Attention(nnx.Module):
    """Multi-head attention; projections of the same input share one matrix."""

    def __init__(self, config: ModelConfig, *, cross: bool, rngs: nnx.Rngs) -> None:
        """Self-attention projects q, k and v together; cross-attention q alone, then k and v together."""
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

    def to_self(self, x: Array, bias: Array, bits: Array | None) -> Array:
        """[R, T, W] attends to itself."""
        q, k, v = self.split(self.query_key_value(x), 3)
        return self.out(attend(q, k, v, bias, self.rate, bits))

    def to_memory(self, x: Array, memory: Array, bias: Array, bits: Array | None) -> Array:
        """[R, T, W] attends to the encoder's output [R, S, W]."""
        (q,) = self.split(self.query(x), 1)
        k, v = self.split(self.key_value(memory), 2)
        return self.out(attend(q, k, v, bias, self.rate, bits))

    def to_past(self, x: Array, past: Past, time: Array, bias: Array) -> tuple[Array, Past]:
        """The K hypotheses of each sentence [B, K, W] attend to everything cached and to themselves."""
        q, k, v = self.split(self.query_key_value(x), 3)
        start = time * x.shape[1]
        keys = jax.lax.dynamic_update_slice(past.keys, k.swapaxes(2, 3), (0, 0, 0, start))
        values = jax.lax.dynamic_update_slice(past.values, v, (0, 0, start, 0))
        return self.out(attend_cached(q, keys, values, bias)), Past(keys, values)

    def to_cached(self, x: Array, source: Past, bias: Array) -> Array:
        """[B, K, W] attends to the projected source."""
        (q,) = self.split(self.query(x), 1)
        return self.out(attend_cached(q, source.keys, source.values, bias))

    def cached(self, memory: Array) -> Past:
        """Keys and values of the encoder's output [B, S, W], projected once for all steps."""
        k, v = self.split(self.key_value(memory), 2)
        return Past(k.swapaxes(2, 3), v)


class FeedForward(nnx.Module):
    """relu(x·A + a)·B + b, with dropout on the activations."""

    def __init__(self, config: ModelConfig, *, rngs: nnx.Rngs) -> None:
        """Width to mlp and back."""
        shape, self.rate = config.shape, config.dropout
        self.widen = Linear(shape.width, shape.mlp, bias=True, rngs=rngs)
        self.narrow = Linear(shape.mlp, shape.width, bias=True, rngs=rngs)

    def __call__(self, x: Array, bits: Array | None) -> Array:
        """[R, T, W] -> [R, T, W]."""
        return self.narrow(dropout(nnx.relu(self.widen(x)), self.rate, bits))


def per_site(bits: Array | None, sites: int) -> list[Array | None]:
    """The dropout bits of each site, or None for each."""
    return [None] * sites if bits is None else list(bits)


class EncoderBlock(nnx.Module):
    """Pre-norm: x + attention(norm x), then x + mlp(norm x)."""

    sites = 4  # places with dropout, each with its own row of bits

    def __init__(self, config: ModelConfig, *, rngs: nnx.Rngs) -> None:
        """One layer of the encoder, or of a language model if the bias is causal."""
        self.rate = config.dropout
        self.attention_norm = Norm(config)
        self.attention = Attention(config, cross=False, rngs=rngs)
        self.mlp_norm = Norm(config)
        self.mlp = FeedForward(config, rngs=rngs)

    def __call__(self, x: Array, bias: Array, bits: Array | None) -> Array:
        """[R, T, W] -> [R, T, W]."""
        drop = per_site(bits, self.sites)
        x = x + dropout(self.attention.to_self(self.attention_norm(x), bias, drop[0]), self.rate, drop[1])
        return x + dropout(self.mlp(self.mlp_norm(x), drop[2]), self.rate, drop[3])


class DecoderBlock(nnx.Module):
    """Pre-norm: self-attention, attention to the source, feed-forward."""

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

    def __call__(self, x: Array, memory: Array, bias: Array, source_bias: Array, bits: Array | None) -> Array:
        """[R, T, W], [R, S, W] -> [R, T, W]."""
        drop = per_site(bits, self.sites)
        x = x + dropout(self.attention.to_self(self.attention_norm(x), bias, drop[0]), self.rate, drop[1])
        attended = self.source.to_memory(self.source_norm(x), memory, source_bias, drop[2])
        x = x + dropout(attended, self.rate, drop[3])
        return x + dropout(self.mlp(self.mlp_norm(x), drop[4]), self.rate, drop[5])

    def advance(
        self, x: Array, past: Past, source: Past, time: Array, bias: Array, source_bias: Array
    ) -> tuple[Array, Past]:
        """The next position of every hypothesis [B, K, W], without dropout."""
        attended, past = self.attention.to_past(self.attention_norm(x), past, time, bias)
        x = x + attended
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


def embed(table: nnx.Embed, ids: Ids, position: Ids, rate: float, bits: Array | None) -> Array:
    """√W·E[id] + PE[position], then dropout: [R, T] -> [R, T, W]."""
    # positions are within the row, so its length bounds the table
    encoding = jnp.asarray(position_table(ids.shape[1], table.features), table.dtype)[position]
    return dropout(table(jnp.asarray(ids)) * math.sqrt(table.features) + encoding, rate, bits)


def run_blocks(
    blocks: Iterable[Callable[..., Array]],
    x: Array,
    *inputs: Array,
    bits: Array | None,
    sites: int,
    remat: bool,
) -> Array:
    """The blocks in order, each with its `sites` rows of bits, rematerialised if `remat`."""
    for number, block in enumerate(blocks):
        own = None if bits is None else bits[number * sites : (number + 1) * sites]
        x = jax.checkpoint(block)(x, *inputs, own) if remat else block(x, *inputs, own)
    return x
