"""Beam search over any next-token function, jitted, with static shapes and early exit."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jax.typing import ArrayLike

from facetmt.data.batch import BOS, EOS, PAD
from facetmt.model.primitives import Ids
from facetmt.model.transformer import Graph, Params, grow

C = TypeVar("C")
GROUP = 32  # values of which only the maximum is compared first
FIRST = 16  # length of the first cache
# each stage is traced and compiled anew, which takes longer than a few sentences with too long a cache
FEW, FIRST_OF_FEW = 4, 128

# (tokens [B, K], cache, time, lineage [B, K, L]) -> (logits [B, K, V], cache). Slots of the cache are never
# moved: what hypothesis k knows of position t <= time was written by slot lineage[b, k, t].
NextToken = Callable[[Array, C, Array, Array], tuple[Array, C]]


class Hypotheses(NamedTuple):
    """The N best translations of B sentences, best first; absent ones have score -inf."""

    ids: Array  # [B, N, L] int32, ends with EOS, then PAD
    length: Array  # [B, N] int32, with EOS
    log_probability: Array  # [B, N] float32: sum over the tokens, EOS included
    score: Array  # [B, N] float32: log_probability / ((5 + length)/6)^alpha
    unsettled: Array  # [B] bool: the search stopped before this sentence was settled


class Beam(NamedTuple):
    """The search between two steps; a dead slot has total -inf."""

    time: Array  # the position that the next step fills
    tokens: Array  # [B, K] the last token of each live hypothesis
    totals: Array  # [B, K] its log-probability
    ids: Array  # [B, K, L] its tokens
    lineage: Array  # [B, K, L] the slots that wrote its cache
    closed: Array  # [B] the number of finished hypotheses
    finished: Array  # [B, K] their log-probabilities, -inf where there is none yet
    finished_length: Array  # [B, K]
    finished_ids: Array  # [B, K, L]


def length_penalty(length: Array, alpha: float) -> Array:
    """((5 + length)/6)^alpha (Wu et al., 2016)."""
    return ((5.0 + length) / 6.0) ** alpha


def beam_search(
    next_token: NextToken[C],
    cache: C,
    grow: Callable[[C, int], C],
    limit: Array,
    *,
    beam: int,
    max_length: int,
    alpha: float,
    n_best: int = 1,
    forbidden: Ids | None = None,
    spare: ArrayLike = 0,
    exact: bool = True,
) -> Hypotheses:
    """The n best of a beam that narrows with each finished hypothesis; a beam of 1 is greedy search.

    `grow(cache, length)` gives the cache room for `length` positions. `limit` [B] is the longest output of
    each sentence, EOS included, at most `max_length`; its last token is forced to be EOS. `forbidden` [V]
    marks ids that are never emitted; the rest is not renormalised. The search stops when no more than `spare`
    sentences are unsettled. Unless `exact`, a sentence is settled when none of its live hypotheses is
    ahead of the n best as it stands, rather than when none can ever be.
    """
    limit = jnp.clip(limit, 1, max_length)

    def alive(search: Beam) -> Array:
        return jnp.sum(unsettled(search)) > spare

    def run(search: Beam, cache: C, lengths: Sequence[int]) -> Beam:
        """All stages: reading the cache takes most of the time, so it is kept as short as possible."""
        length, *longer = lengths

        def extend(carry: tuple[Beam, C]) -> tuple[Beam, C]:
            search, cache = carry
            logits, cache = next_token(search.tokens, cache, search.time, search.lineage[:, :, :length])
            ends = search.time + 1 >= limit
            totals, parent, token = best_extensions(search.totals, logits, ends, forbidden)
            search = advance(search, totals, parent, token)
            longest = limit if exact else jnp.minimum(search.time + 1, limit)
            return stop_hopeless(search, longest, alpha, n_best), cache

        search, cache = jax.lax.while_loop(
            lambda carry: (carry[0].time < length) & alive(carry[0]), extend, (search, grow(cache, length))
        )
        if not longer:
            return search
        final: Beam = jax.lax.cond(alive(search), lambda: run(search, cache, longer), lambda: search)
        return final

    lengths = stages(max_length, FIRST if limit.shape[0] > FEW else FIRST_OF_FEW)
    return ranked(run(start(limit.shape[0], beam, max_length), cache, lengths), alpha, n_best)


def unsettled(search: Beam) -> Array:
    """[B] whether the sentence has a live hypothesis."""
    return jnp.any(search.totals > -jnp.inf, axis=1)


def stages(longest: int, first: int) -> list[int]:
    """The lengths of the cache: first, 2·first, ..., the longest; each at least 1.5 times the one before."""
    lengths = [first]
    while 3 * lengths[-1] <= longest:
        lengths.append(2 * lengths[-1])
    return [*lengths, longest] if 3 * lengths[-1] <= 2 * longest else [*lengths[:-1], longest]


def start(sentences: int, beam: int, length: int) -> Beam:
    """One live hypothesis per sentence, which is empty."""
    shape = (sentences, beam)
    nothing = jnp.full(shape, -jnp.inf)
    slots = jnp.broadcast_to(jnp.arange(beam, dtype=jnp.int32)[None, :, None], (*shape, length))
    return Beam(
        time=jnp.zeros((), jnp.int32),
        tokens=jnp.full(shape, BOS, jnp.int32),
        totals=nothing.at[:, 0].set(0.0),
        ids=jnp.full((*shape, length), PAD, jnp.int32),
        lineage=slots,
        closed=jnp.zeros((sentences,), jnp.int32),
        finished=nothing,
        finished_length=jnp.zeros(shape, jnp.int32),
        finished_ids=jnp.full((*shape, length), PAD, jnp.int32),
    )


def best_extensions(
    totals: Array, logits: Array, ends: Array, forbidden: Ids | None
) -> tuple[Array, Array, Array]:
    """The K best of all K·V extensions: their totals, parents and tokens, each [B, K], best first."""
    sentences, beam, vocabulary = logits.shape
    allowed = jnp.ones((vocabulary,), bool) if forbidden is None else ~jnp.asarray(forbidden)
    is_eos = jnp.arange(vocabulary) == EOS
    allowed = jnp.where(ends[:, None, None], is_eos, allowed)  # [B, 1, V]
    sums = jax.nn.logsumexp(logits, axis=-1, keepdims=True)
    masked = jnp.where(allowed, logits, -jnp.inf)
    # the K best of each hypothesis hold the K best of all: two small selections rather than one large
    best, token = largest(masked, min(beam, vocabulary))  # [B, K, K]
    candidates = (best - sums + totals[..., None]).reshape(sentences, -1)
    values, chosen = jax.lax.top_k(candidates, beam)
    token = jnp.take_along_axis(token.reshape(sentences, -1), chosen, axis=1)
    return values, chosen // best.shape[2], token


def largest(values: Array, count: int) -> tuple[Array, Array]:
    """As `lax.top_k`: the largest values are in the groups with the largest maxima, so few are sorted."""
    size = values.shape[-1]
    groups = -(-size // GROUP)
    if groups <= count:
        top: tuple[Array, Array] = jax.lax.top_k(values, count)
        return top
    room = [(0, 0)] * (values.ndim - 1) + [(0, groups * GROUP - size)]
    grouped = jnp.pad(values, room, constant_values=-jnp.inf).reshape(*values.shape[:-1], groups, GROUP)
    _, found = jax.lax.top_k(jnp.max(grouped, axis=-1), count)
    found = jnp.sort(found, axis=-1)  # of equal values, the first comes first, as in top_k
    few = jnp.take_along_axis(grouped, found[..., None], axis=-2)  # [..., count, GROUP]
    best, index = jax.lax.top_k(few.reshape(*values.shape[:-1], count * GROUP), count)
    return best, jnp.take_along_axis(found, index // GROUP, axis=-1) * GROUP + index % GROUP


def advance(search: Beam, totals: Array, parent: Array, token: Array) -> Beam:
    """Keep the extensions that there is room for; those that end are finished and free their slot."""
    sentences, beam = totals.shape
    time = search.time
    slots = jnp.arange(beam)
    taken = (slots < beam - search.closed[:, None]) & (totals > -jnp.inf)
    ended = taken & (token == EOS)
    history = jnp.take_along_axis(search.ids, parent[..., None], axis=1).at[:, :, time].set(token)
    lineage = jnp.take_along_axis(search.lineage, parent[..., None], axis=1)
    # the next position of hypothesis k will be written by slot k
    lineage = jnp.where(jnp.arange(lineage.shape[2]) > time, slots[:, None], lineage)
    slot = jnp.where(ended, search.closed[:, None] + jnp.cumsum(ended, axis=1) - 1, beam)
    row = jnp.arange(sentences)[:, None]
    return Beam(
        time=time + 1,
        tokens=token,
        totals=jnp.where(taken & ~ended, totals, -jnp.inf),
        ids=history,
        lineage=lineage,
        closed=search.closed + jnp.sum(ended, axis=1),
        finished=search.finished.at[row, slot].set(totals, mode="drop"),
        finished_length=search.finished_length.at[row, slot].set(time + 1, mode="drop"),
        finished_ids=search.finished_ids.at[row, slot].set(history, mode="drop"),
    )


def stop_hopeless(search: Beam, longest: Array, alpha: float, n_best: int) -> Beam:
    """Settle a sentence if no live hypothesis can enter its n best by `longest`: Σ log p only falls."""
    score = search.finished / length_penalty(search.finished_length, alpha)
    worst_wanted = jax.lax.top_k(score, n_best)[0][:, -1]
    bound = jnp.max(search.totals, axis=1) / length_penalty(longest, alpha)
    hopeless = worst_wanted >= bound
    return search._replace(totals=jnp.where(hopeless[:, None], -jnp.inf, search.totals))


def ranked(search: Beam, alpha: float, n_best: int) -> Hypotheses:
    """The finished hypotheses, by falling normalised score."""
    scores = search.finished / length_penalty(search.finished_length, alpha)
    score, order = jax.lax.top_k(scores, n_best)
    return Hypotheses(
        ids=jnp.take_along_axis(search.finished_ids, order[..., None], axis=1),
        length=jnp.take_along_axis(search.finished_length, order, axis=1),
        log_probability=jnp.take_along_axis(search.finished, order, axis=1),
        score=score,
        unsettled=unsettled(search),
    )


@partial(jax.jit, static_argnames=("graph", "beam", "max_length", "alpha", "n_best", "exact"))
def translate(
    graph: Graph,
    params: Params,
    source: Ids,
    limit: Ids,
    *,
    beam: int,
    max_length: int,
    alpha: float,
    n_best: int = 1,
    forbidden: Ids | None = None,
    spare: ArrayLike = 0,
    exact: bool = True,
) -> Hypotheses:
    """Translate source ids [B, S] (tags, words, EOS, then PAD), one sentence per row."""
    model = nnx.merge(graph, params)
    source = jnp.asarray(source)
    segment = (source != PAD).astype(jnp.int32)
    position = jnp.broadcast_to(jnp.arange(source.shape[1]), source.shape)
    memory = model.encode(source, segment, position)
    return beam_search(
        model.advance,
        model.start(memory, segment),
        lambda cache, length: grow(cache, beam, length),
        jnp.asarray(limit),
        beam=beam,
        max_length=max_length,
        alpha=alpha,
        n_best=n_best,
        forbidden=forbidden,
        spare=spare,
        exact=exact,
    )
