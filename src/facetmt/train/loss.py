"""Label-smoothed cross-entropy over packed rows: summed for training, by facet, by segment."""

from functools import partial
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from facetmt.data.batch import Batch
from facetmt.model.primitives import Ids, dropout_bits, projected, segment_sums
from facetmt.model.transformer import Graph, Params


class TokenModel(Protocol):
    """A module that predicts target tokens: the Transformer or a language model."""

    @property
    def sites(self) -> int:
        """Number of dropout sites, one row of bits each."""

    def hidden(self, batch: Batch, bits: Array | None) -> Array:
        """[R, T, W]; no dropout without bits."""

    def matrix(self) -> Array:
        """The output projection [V, W]."""


class FacetLoss(NamedTuple):
    """Loss and non-padding tokens, summed for each facet: 2 x [F]."""

    loss: Array
    tokens: Array


def training_loss(model: TokenModel, batch: Batch, smoothing: float, key: Array) -> Array:
    """The smoothed loss with dropout, summed over the target tokens that are not padding."""
    present = (batch.target_segment > 0).astype(jnp.float32)
    hidden = model.hidden(batch, dropout_bits(key, model.sites))
    return loss_sum(hidden, model.matrix(), batch.label, present, smoothing)


def token_losses(model: TokenModel, batch: Batch, smoothing: float = 0.0) -> Array:
    """The loss of every target token [R, T] without dropout; 0 on padding."""
    losses = cross_entropy(model.hidden(batch, None), model.matrix(), batch.label, smoothing)
    return jnp.where(batch.target_segment > 0, losses, 0.0)


def cross_entropy(hidden: Array, matrix: Array, label: Ids, smoothing: float) -> Array:
    """log Σ exp z − (1−ε)·z_y − ε·mean z, z = E·h, in float32: [R, T, W], [V, W], [R, T] -> [R, T]."""
    output = matrix.astype(hidden.dtype)

    def normaliser(part: Array) -> Array:
        return jax.nn.logsumexp(projected(part, output), axis=-1)

    sums = unchunked(jax.lax.map(normaliser, chunked(hidden)))
    return sums - jnp.sum(hidden * wanted(output, label, smoothing), axis=-1, dtype=jnp.float32)


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def loss_sum(hidden: Array, matrix: Array, label: Ids, weight: Array, smoothing: float) -> Array:
    """Σ weight·cross_entropy, with a gradient that is computed in the same pass over chunks of logits."""
    return jnp.sum(weight * cross_entropy(hidden, matrix, label, smoothing))


def _loss_forward(
    hidden: Array, matrix: Array, label: Ids, weight: Array, smoothing: float
) -> tuple[Array, tuple[Array, Array]]:
    output = matrix.astype(hidden.dtype)
    vocabulary, width = matrix.shape

    # No array of all logits is ever made: on a CPU a chunk of them stays in the cache, on an accelerator
    # they would be the largest thing in memory. ∂/∂z = weight·(softmax z − target).
    def chunk(total: Array, inputs: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        part, share = inputs
        logits = projected(part, output)
        top = jnp.max(logits, axis=-1, keepdims=True)
        powers = jnp.exp(logits - top)
        norms = jnp.sum(powers, axis=-1, keepdims=True)
        slope = (powers * (share[..., None] / norms)).astype(part.dtype)
        # [W, V] rather than [V, W]: a CPU transposes the left factor, and part is the smaller
        grown = total + jnp.einsum("rtw,rtv->wv", part, slope, preferred_element_type=jnp.float32)
        return grown, (slope @ output, (top + jnp.log(norms))[..., 0])

    nothing = jnp.zeros((width, vocabulary), jnp.float32)
    of_matrix, (of_hidden, sums) = jax.lax.scan(chunk, nothing, (chunked(hidden), chunked(weight)))
    target = wanted(output, label, smoothing)
    losses = unchunked(sums) - jnp.sum(hidden * target, axis=-1, dtype=jnp.float32)
    weighted = hidden.astype(jnp.float32) * weight[..., None]
    spread = smoothing / vocabulary * jnp.sum(weighted, axis=(0, 1))
    aimed = (smoothing - 1.0) * weighted.reshape(-1, width)
    of_matrix = of_matrix.T.at[label.ravel()].add(aimed) - spread
    of_hidden = unchunked(of_hidden) - target * weight[..., None].astype(hidden.dtype)
    return jnp.sum(weight * losses), (of_hidden, of_matrix)


def _loss_backward(
    smoothing: float, saved: tuple[Array, Array], scale: Array
) -> tuple[Array, Array, None, None]:
    of_hidden, of_matrix = saved
    return of_hidden * scale.astype(of_hidden.dtype), of_matrix * scale, None, None


loss_sum.defvjp(_loss_forward, _loss_backward)


def wanted(output: Array, label: Ids, smoothing: float) -> Array:
    """(1−ε)·E_y + ε·mean E, so that its product with h is the smoothed target's logit: [R, T, W]."""
    return (1.0 - smoothing) * output[label] + smoothing * jnp.mean(output, axis=0)


def chunked(x: Array) -> Array:
    """[R, T, ...] -> [chunks, R, T/chunks, ...]: rows stay whole, for they may be spread over devices."""
    rows, length = x.shape[:2]
    most = 512 if jax.default_backend() == "cpu" else 32768  # tokens a chunk
    chunks = next(
        c for c in range(1, length + 1) if length % c == 0 and (rows * length <= most * c or c == length)
    )
    return x.reshape(rows, chunks, length // chunks, *x.shape[2:]).swapaxes(0, 1)


def unchunked(x: Array) -> Array:
    """The inverse of `chunked`."""
    chunks, rows, part = x.shape[:3]
    return x.swapaxes(0, 1).reshape(rows, chunks * part, *x.shape[3:])


def token_count(batch: Batch) -> Array:
    """Target tokens that are not padding, as float32."""
    return jnp.sum(batch.target_segment > 0).astype(jnp.float32)


def mean(total: Array, count: Array) -> Array:
    """total / count; 0 where there is nothing to count."""
    return total / jnp.maximum(count, 1.0)


def plain_loss(graph: Graph, params: Params, batch: Batch) -> Array:
    """Negative log-likelihood per token (no dropout, no smoothing), with the cheap gradient of `loss_sum`."""
    model = nnx.merge(graph, params)
    present = (batch.target_segment > 0).astype(jnp.float32)
    total = loss_sum(model.hidden(batch, None), model.matrix(), batch.label, present, 0.0)
    return mean(total, token_count(batch))


def facet_loss(graph: Graph, params: Params, batch: Batch, num_facets: int) -> FacetLoss:
    """Negative log-likelihood (no dropout, no smoothing) of a batch, by facet."""
    losses = token_losses(nnx.merge(graph, params), batch).ravel()
    present = batch.target_segment.ravel() > 0
    # padding may carry any facet index: send it to a bucket of its own
    facet = jnp.where(present, batch.facet.ravel(), num_facets)
    sums = jax.ops.segment_sum(losses, facet, num_facets + 1)[:num_facets]
    counts = jax.ops.segment_sum(present.astype(jnp.float32), facet, num_facets + 1)[:num_facets]
    return FacetLoss(sums, counts)


def score(graph: Graph, params: Params, batch: Batch) -> tuple[Array, Array]:
    """Σ log p(y|x) and the length (with EOS) of each segment: 2 x [R, T], segment i in column i-1."""
    return segment_sums(-token_losses(nnx.merge(graph, params), batch), batch.target_segment)
