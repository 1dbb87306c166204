"""A few made-up pairs scored by our own model, against which an engine that opens the export is compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from facetmt.data.batch import BOS, EOS
from facetmt.data.config import SPECIAL_IDS
from facetmt.data.vocab import Vocabulary
from facetmt.model.transformer import Graph, Params, graph_of
from facetmt.train.restore import TrainedModel
from facetmt.train.session import vocabulary_sizes

PAIRS, LENGTH = 4, 12  # pairs, and tokens on each side without EOS


class Pair(NamedTuple):
    """Ids of both sides, each with EOS."""

    source: list[int]
    target: list[int]


def made_up(vocabulary: Vocabulary) -> list[Pair]:
    """Random subwords; the same for the same vocabulary."""
    random = np.random.default_rng(1)
    first = SPECIAL_IDS + len(vocabulary.tags)

    def side(size: int) -> list[int]:
        return [*random.integers(first, size, LENGTH).tolist(), EOS]

    return [Pair(side(vocabulary.source_size), side(vocabulary.target_size)) for _ in range(PAIRS)]


def probe(model: TrainedModel) -> list[dict[str, Any]]:
    """The pairs, and log p(target | source) of each token of the target, EOS included."""
    vocabulary = model.codec.vocabulary
    pairs = made_up(vocabulary)
    # engines start from the parameters, which are float32 whatever the activations were in training
    exact = replace(model.recipe.model, compute="float32")
    scores = jax.jit(token_scores, static_argnums=0)(
        graph_of(exact, *vocabulary_sizes(vocabulary)),
        model.params,
        np.array([pair.source for pair in pairs]),
        np.array([pair.target for pair in pairs]),
    )
    return [
        {"source": pair.source, "target": pair.target, "log_probability": row}
        for pair, row in zip(pairs, np.asarray(scores).tolist(), strict=True)
    ]


def token_scores(graph: Graph, params: Params, source: jax.Array, target: jax.Array) -> jax.Array:
    """log p of each target token: 2 x [B, L] -> [B, L]."""
    model = nnx.merge(graph, params)
    ones = jnp.ones_like(source)
    position = jnp.broadcast_to(jnp.arange(source.shape[1]), source.shape)
    memory = model.encode(source, ones, position)
    shifted = jnp.concatenate([jnp.full_like(target[:, :1], BOS), target[:, :-1]], axis=1)
    logits = model.logits(model.decode(shifted, ones, position, memory, ones))
    chosen = jnp.take_along_axis(logits, target[..., None], axis=-1)[..., 0]
    return chosen - jax.nn.logsumexp(logits, axis=-1)
