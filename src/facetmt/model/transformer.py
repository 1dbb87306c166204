"""The encoder-decoder Transformer over packed rows, and its one-token step with cached keys and values."""

import math
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

    def start(self, memory: Array, source_segment: Ids) -> "Cache":
        """A cache of length 0, to be extended by `grow`; memory is [B, S, W]."""
        shape = self.config.shape
        depth = shape.width // shape.heads
        keys = jnp.zeros((memory.shape[0], shape.heads, depth, 0), memory.dtype)
        return Cache(
            past=tuple(Past(keys, keys.swapaxes(2, 3)) for _ in self.decoder),
            source=tuple(block.source.cached(memory) for block in self.decoder),
            source_bias=jnp.where(jnp.asarray(source_segment)[:, None, None, :] > 0, 0.0, MASKED),
        )

    def advance(self, tokens: Array, cache: "Cache", time: Array, lineage: Array) -> tuple[Array, "Cache"]:
        """Logits [B, K, V] after `tokens` [B, K], which are at position `time` of the target.

        The cache is never reordered: at position t, hypothesis k attends to what slot lineage[b, k, t] wrote.
        """
        beam, length = tokens.shape[1], lineage.shape[2]
        width = self.config.shape.width
        encoding = jnp.asarray(position_table(length, width), cache.past[0].keys.dtype)[time]
        x = self.target_embedding(tokens) * math.sqrt(width) + encoding
        own = lineage[..., None] == jnp.arange(beam)  # [B, K, L, slot]
        seen = own & (jnp.arange(length) <= time)[:, None]
        bias = jnp.where(seen, 0.0, MASKED).reshape(tokens.shape[0], 1, beam, length * beam)
        past = []
        for block, old, source in zip(self.decoder, cache.past, cache.source, strict=True):
            x, new = block.advance(x, old, source, time, bias, cache.source_bias)
            past.append(new)
        return self.logits(self.decoder_norm(x)), cache._replace(past=tuple(past))


def grow(cache: "Cache", beam: int, length: int) -> "Cache":
    """The cache extended to `length` positions of `beam` hypotheses."""

    def longer(past: Past) -> Past:
        room = length * beam - past.values.shape[2]
        keys = jnp.pad(past.keys, ((0, 0), (0, 0), (0, 0), (0, room)))
        return Past(keys, jnp.pad(past.values, ((0, 0), (0, 0), (0, room), (0, 0))))

    return cache._replace(past=tuple(longer(past) for past in cache.past))


class Cache(NamedTuple):
    """What the decoder keeps between positions, one entry per layer."""

    past: tuple[Past, ...]
    source: tuple[Past, ...]
    source_bias: Array  # [B, 1, 1, S]


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
