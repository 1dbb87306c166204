"""The encoder-decoder Transformer over packed rows, and its one-token step with cached keys and values."""

import math
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from facetmt.model.config import ModelConfig
from facetmt.model.layers import DecoderBlock, EncoderBlock, Norm, Past, embed, embedding, run_blocks
from facetmt.model.primitives import MASKED, Ids, causal_bias, position_table, projected, segment_bias

Params = dict[Any, Any]  # nested dicts of float32 arrays, keyed by the names of the module tree
Graph = nnx.GraphDef["Transformer"]


class PackedPairs(Protocol):
    """The arrays of a batch that the model reads, each [R, S] or [R, T] (`facetmt.data.batch.Batch`)."""

    @property
    def source(self) -> Ids: ...
    @property
    def source_segment(self) -> Ids: ...
    @property
    def source_position(self) -> Ids: ...
    @property
    def target(self) -> Ids: ...
    @property
    def target_segment(self) -> Ids: ...
    @property
    def target_position(self) -> Ids: ...


class Transformer(nnx.Module):
    """Vaswani et al. (2017) with pre-norm; no parameter depends on a length."""

    def __init__(
        self, config: ModelConfig, vocabulary: int, source_vocabulary: int | None = None, *, rngs: nnx.Rngs
    ) -> None:
        """`source_vocabulary` None: source and target share one vocabulary and one embedding."""
        self.config = config
        self.target_embedding = embedding(vocabulary, config, rngs)
        joint = source_vocabulary is None
        self.source_embedding = None if joint else embedding(source_vocabulary or 0, config, rngs)
        self.output = None if config.tied else embedding(vocabulary, config, rngs)
        shape = config.shape
        self.encoder = nnx.List([EncoderBlock(config, rngs=rngs) for _ in range(shape.encoder_layers)])
        self.encoder_norm = Norm(config)
        self.decoder = nnx.List([DecoderBlock(config, rngs=rngs) for _ in range(shape.decoder_layers)])
        self.decoder_norm = Norm(config)

    @property
    def sites(self) -> int:
        """Number of dropout sites in a forward pass."""
        return self.encoder_sites + 1 + DecoderBlock.sites * len(self.decoder)

    @property
    def encoder_sites(self) -> int:
        """The encoder's part of them."""
        return 1 + EncoderBlock.sites * len(self.encoder)

    def hidden(self, batch: PackedPairs, bits: Array | None) -> Array:
        """The states that predict a batch's labels: [R, T, W]; dropout only with bits [sites, 2]."""
        first, second = (None, None) if bits is None else jnp.split(bits, [self.encoder_sites])
        segment = batch.source_segment
        memory = self.encode(batch.source, segment, batch.source_position, first)
        target = (batch.target, batch.target_segment, batch.target_position)
        return self.decode(*target, memory, segment, second)

    def encode(self, source: Ids, segment: Ids, position: Ids, bits: Array | None = None) -> Array:
        """Ids, segments and positions [R, S] -> [R, S, W]."""
        table = self.source_embedding or self.target_embedding
        drop, bits = (None, None) if bits is None else (bits[0], bits[1:])
        x = embed(table, source, position, self.config.dropout, drop)
        bias = segment_bias(segment, segment)
        x = run_blocks(self.encoder, x, bias, bits=bits, sites=EncoderBlock.sites, remat=self.config.remat)
        return self.encoder_norm(x)

    def decode(
        self,
        target: Ids,
        segment: Ids,
        position: Ids,
        memory: Array,
        source_segment: Ids,
        bits: Array | None = None,
    ) -> Array:
        """Decoder input [R, T] and encoder output [R, S, W] -> [R, T, W]."""
        drop, bits = (None, None) if bits is None else (bits[0], bits[1:])
        x = embed(self.target_embedding, target, position, self.config.dropout, drop)
        bias = jnp.minimum(segment_bias(segment, segment), causal_bias(target.shape[1]))
        source_bias = segment_bias(segment, source_segment)
        x = run_blocks(
            self.decoder,
            x,
            memory,
            bias,
            source_bias,
            bits=bits,
            sites=DecoderBlock.sites,
            remat=self.config.remat,
        )
        return self.decoder_norm(x)

    def matrix(self) -> Array:
        """The output projection [V, W]."""
        return (self.output or self.target_embedding).embedding[...]

    def logits(self, x: Array) -> Array:
        """[..., W] -> [..., V], float32."""
        return projected(x, self.matrix())

    def empty(self, sentences: int, width: int, beam: int, slots: int) -> "Cache":
        """A cache for sources of up to `width` tokens and `slots` positions of `beam` hypotheses."""
        shape = self.config.shape
        rows, depth = (sentences, shape.heads), shape.width // shape.heads

        def nothing(room: int) -> Past:
            kind = self.target_embedding.dtype
            return Past(jnp.zeros((*rows, depth, room), kind), jnp.zeros((*rows, room, depth), kind))

        return Cache(
            past=tuple(nothing(slots * beam) for _ in self.decoder),
            sources=Sources(
                tuple(nothing(width) for _ in self.decoder), jnp.full((sentences, 1, 1, width), MASKED)
            ),
        )

    def encoded(self, source: Array, segment: Array) -> "Sources":
        """What the decoder reads of sources [N, S], one sentence each."""
        memory = self.encode(source, segment, jnp.broadcast_to(jnp.arange(source.shape[1]), source.shape))
        keys = tuple(block.source.cached(memory) for block in self.decoder)
        return Sources(keys, jnp.where(segment[:, None, None, :] > 0, 0.0, MASKED))

    def advance(
        self, tokens: Array, cache: "Cache", time: Array, begun: Array, lineage: Array
    ) -> tuple[Array, "Cache"]:
        """Logits [B, K, V] after `tokens` [B, K], which fill slot `time`; a sentence began at slot begun[b].

        The cache is never reordered: at slot t, hypothesis k attends to what slot lineage[b, k, t] wrote.
        """
        beam, slots = tokens.shape[1], lineage.shape[2]
        width, slot = self.config.shape.width, jnp.arange(lineage.shape[2])
        table = jnp.asarray(position_table(slots, width), cache.past[0].keys.dtype)
        x = self.target_embedding(tokens) * math.sqrt(width) + table[time - begun][:, None]
        own = lineage[..., None] == jnp.arange(beam)  # [B, K, L, K]
        seen = own & ((slot >= begun[:, None]) & (slot <= time))[:, None, :, None]
        bias = jnp.where(seen, 0.0, MASKED).reshape(tokens.shape[0], 1, beam, slots * beam)
        past = []
        for block, old, source in zip(self.decoder, cache.past, cache.sources.past, strict=True):
            x, new = block.advance(x, old, source, time, bias, cache.sources.bias)
            past.append(new)
        return self.logits(self.decoder_norm(x)), cache._replace(past=tuple(past))


def moved(cache: "Cache", beam: int, first: Array, slots: int, width: int) -> "Cache":
    """The cache from slot `first` on, with room for `slots`, of sources that have at most `width` tokens."""

    def later(array: Array, axis: int) -> Array:
        return slots_from(array, first * beam, slots * beam, axis)

    return Cache(
        past=tuple(Past(later(past.keys, 3), later(past.values, 2)) for past in cache.past),
        sources=fitted(cache.sources, width),
    )


def admitted(cache: "Cache", rows: Array, sources: "Sources") -> "Cache":
    """Put sources into rows [R] of the cache; a row beyond the last is left out.

    What is cached of the target need not be erased: it is never read.
    """
    new = fitted(sources, cache.sources.bias.shape[3])
    put = partial(jax.tree.map, lambda old, one: old.at[rows].set(one, mode="drop"))
    return cache._replace(sources=put(cache.sources, new))


def fitted(sources: "Sources", width: int) -> "Sources":
    """Sources of at most `width` tokens, padded or cut to it."""
    more = max(0, width - sources.bias.shape[3])

    def fit(array: Array, axis: int, value: float = 0.0) -> Array:
        room = [(0, more if one == axis else 0) for one in range(array.ndim)]
        padded = jnp.pad(array, room, constant_values=value)
        return jax.lax.slice_in_dim(padded, 0, width, axis=axis)

    return Sources(
        tuple(Past(fit(past.keys, 3), fit(past.values, 2)) for past in sources.past),
        fit(sources.bias, 3, MASKED),
    )


def slots_from(array: Array, first: Array, count: int, axis: int) -> Array:
    """`count` places of an axis from `first` on; zero beyond its end."""
    room = [(0, count if one == axis else 0) for one in range(array.ndim)]
    return jax.lax.dynamic_slice_in_dim(jnp.pad(array, room), first, count, axis)


class Cache(NamedTuple):
    """What the decoder keeps between positions, one entry per layer."""

    past: tuple[Past, ...]
    sources: "Sources"


class Sources(NamedTuple):
    """What the decoder reads of B sources, one entry per layer."""

    past: tuple[Past, ...]
    bias: Array  # [B, 1, 1, S]


class Model(NamedTuple):
    """A Transformer split in two; `nnx.merge(graph, params)` inside a traced function restores it."""

    graph: Graph
    params: Params


def create(config: ModelConfig, vocabulary: int, source_vocabulary: int | None = None, *, seed: int) -> Model:
    """A freshly initialised model; `source_vocabulary` None means a joint vocabulary."""
    # not jitted: compiling the initialisers takes longer than running them
    module = Transformer(config, vocabulary, source_vocabulary, rngs=nnx.Rngs(seed))
    graph, state = nnx.split(module, nnx.Param)
    return Model(graph, nnx.to_pure_dict(state))


def graph_of(config: ModelConfig, vocabulary: int, source_vocabulary: int | None = None) -> Graph:
    """The structure alone, without computing any parameter, for restoring a checkpoint."""
    module = nnx.eval_shape(lambda: Transformer(config, vocabulary, source_vocabulary, rngs=nnx.Rngs(0)))
    return nnx.split(module, nnx.Param)[0]


def count_parameters(params: Params) -> int:
    """Number of trained scalars."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))
