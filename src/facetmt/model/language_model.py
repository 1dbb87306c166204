"""A decoder-only language model of the target side, for labelling translationese and for data selection."""

from typing import Protocol

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from facetmt.model.config import ModelConfig
from facetmt.model.layers import EncoderBlock, Norm, embed, embedding, run_blocks
from facetmt.model.primitives import Ids, causal_bias, projected, segment_bias, segment_sums
from facetmt.model.transformer import Params

Graph = nnx.GraphDef["LanguageModel"]


class PackedText(Protocol):
    """The arrays of a batch that the model reads, each [R, T]; a batch of pairs has them too."""

    @property
    def target(self) -> Ids: ...
    @property
    def label(self) -> Ids: ...
    @property
    def target_segment(self) -> Ids: ...
    @property
    def target_position(self) -> Ids: ...


class LanguageModel(nnx.Module):
    """The decoder of `config` without a source; trained by `make_step`, like the Transformer."""

    def __init__(self, config: ModelConfig, vocabulary: int, *, rngs: nnx.Rngs) -> None:
        """As many layers as the decoder has."""
        self.config = config
        self.embedding = embedding(vocabulary, config, rngs)
        self.output = None if config.tied else embedding(vocabulary, config, rngs)
        layers = config.shape.decoder_layers
        self.blocks = nnx.List([EncoderBlock(config, rngs=rngs) for _ in range(layers)])
        self.norm = Norm(config)

    @property
    def sites(self) -> int:
        """Number of dropout sites in a forward pass."""
        return 1 + EncoderBlock.sites * len(self.blocks)

    def hidden(self, batch: PackedText, bits: Array | None) -> Array:
        """The states that predict a batch's labels: [R, T, W]; dropout only with bits [sites, 2]."""
        drop, bits = (None, None) if bits is None else (bits[0], bits[1:])
        x = embed(self.embedding, batch.target, batch.target_position, self.config.dropout, drop)
        segment = batch.target_segment
        bias = jnp.minimum(segment_bias(segment, segment), causal_bias(segment.shape[1]))
        x = run_blocks(self.blocks, x, bias, bits=bits, sites=EncoderBlock.sites, remat=self.config.remat)
        return self.norm(x)

    def matrix(self) -> Array:
        """The output projection [V, W]."""
        return (self.output or self.embedding).embedding[...]

    def logits(self, x: Array) -> Array:
        """[..., W] -> [..., V], float32."""
        return projected(x, self.matrix())


def create(config: ModelConfig, vocabulary: int, *, seed: int) -> tuple[Graph, Params]:
    """A freshly initialised language model, split as by `transformer.create`."""
    graph, state = nnx.split(LanguageModel(config, vocabulary, rngs=nnx.Rngs(seed)), nnx.Param)
    return graph, nnx.to_pure_dict(state)


def log_probability(graph: Graph, params: Params, batch: PackedText) -> tuple[Array, Array]:
    """Σ log p(y) and the length (with EOS) of each segment: 2 x [R, T], segment i in column i-1."""
    model = nnx.merge(graph, params)
    logits = model.logits(model.hidden(batch, None))
    right = jnp.take_along_axis(logits, jnp.asarray(batch.label)[..., None], axis=-1)[..., 0]
    return segment_sums(right - jax.nn.logsumexp(logits, axis=-1), batch.target_segment)
