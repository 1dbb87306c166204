"""Beam search over any next-token function: the sentences of a pool, each with a beginning of its own.

A step extends all sentences of the pool. Those that are settled may be replaced between two steps, so that
few steps are wasted on them (`facetmt.translate.pool` does that).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jax.typing import ArrayLike

from facetmt.data.batch import BOS, EOS, PAD
from facetmt.model.primitives import Ids
from facetmt.model.transformer import Cache, Graph, Params, Sources, admitted, moved, slots_from

C = TypeVar("C")
GROUP = 32  # values of which only the maximum is compared first

# (tokens [B, K], cache, time, begun [B], lineage [B, K, L]) -> (logits [B, K, V], cache). What was cached is
# never moved: what hypothesis k of sentence b knows of slot begun[b] <= t <= time was written by hypothesis
# lineage[b, k, t].
NextToken = Callable[[Array, C, Array, Array, Array], tuple[Array, C]]


class Hypotheses(NamedTuple):
    """The N best translations of B sentences, best first; absent ones have score -inf."""

    ids: Array  # [B, N, M] int32, ends with EOS, then PAD
    length: Array  # [B, N] int32, with EOS
    log_probability: Array  # [B, N] float32: sum over the tokens, EOS included
    score: Array  # [B, N] float32: log_probability / ((5 + length)/6)^alpha


class Beam(NamedTuple):
    """The search between two steps; a hypothesis that is dead has total -inf."""

    time: Array  # the slot of the cache that the next step fills
    begun: Array  # [B] the slot that the first token of each sentence filled
    limit: Array  # [B] its longest output, EOS included
    tokens: Array  # [B, K] the last token of each live hypothesis
    totals: Array  # [B, K] its log-probability
    ids: Array  # [B, K, M] its tokens
    lineage: Array  # [B, K, L] which hypotheses wrote its cache
    closed: Array  # [B] the number of finished hypotheses
    finished: Array  # [B, 2K] their log-probabilities, -inf where there is none yet
    finished_length: Array  # [B, 2K]
    finished_ids: Array  # [B, 2K, M]


def length_penalty(length: Array, alpha: float) -> Array:
    """((5 + length)/6)^alpha (Wu et al., 2016)."""
    return ((5.0 + length) / 6.0) ** alpha


def search_on(
    next_token: NextToken[C],
    search: Beam,
    cache: C,
    wanted: ArrayLike,
    *,
    alpha: float,
    n_best: int = 1,
    forbidden: Ids | None = None,
    exact: bool = True,
) -> tuple[Beam, C]:
    """Extend until `wanted` sentences are settled or the cache is full."""
    slots = search.lineage.shape[2]
    step = partial(extend, next_token, alpha=alpha, n_best=n_best, forbidden=forbidden, exact=exact)
    found: tuple[Beam, C] = jax.lax.while_loop(
        lambda carry: (carry[0].time < slots) & (jnp.sum(settled(carry[0])) < wanted),
        lambda carry: step(*carry),
        (search, cache),
    )
    return found


def extend(
    next_token: NextToken[C],
    search: Beam,
    cache: C,
    *,
    alpha: float,
    n_best: int,
    forbidden: Ids | None,
    exact: bool,
) -> tuple[Beam, C]:
    """One token more for each live hypothesis.

    An extension by EOS is finished if it is among the K best; the K best of the others live on. A sentence is
    settled when K hypotheses are finished, or earlier if nothing can change its n best: if `exact`, when no
    live hypothesis can enter them; otherwise, when none is ahead of them as it stands. A beam of 1 is greedy
    search. The last token of an output that reaches its limit is forced to be EOS. `forbidden` [V] marks ids
    that are never emitted: their probability is 0, and that of the others sums to 1.
    """
    logits, cache = next_token(search.tokens, cache, search.time, search.begun, search.lineage)
    length = search.time + 1 - search.begun  # with the token that is chosen now
    totals, parent, token = best_extensions(search.totals, logits, length >= search.limit, forbidden)
    search = advance(search, totals, parent, token)
    longest = search.limit if exact else jnp.minimum(length + 1, search.limit)
    return stop_hopeless(search, longest, alpha, n_best), cache


def settled(search: Beam) -> Array:
    """[B] whether the sentence has no live hypothesis; an empty row has none."""
    return ~jnp.any(search.totals > -jnp.inf, axis=1)


def empty(sentences: int, beam: int, longest: int, slots: int) -> Beam:
    """No sentence yet; outputs have at most `longest` tokens."""
    shape, twice = (sentences, beam), (sentences, 2 * beam)
    row = jnp.zeros((sentences,), jnp.int32)
    return Beam(
        time=jnp.zeros((), jnp.int32),
        begun=row,
        limit=row,
        tokens=jnp.full(shape, BOS, jnp.int32),
        totals=jnp.full(shape, -jnp.inf),
        ids=jnp.full((*shape, longest), PAD, jnp.int32),
        lineage=jnp.zeros((*shape, slots), jnp.int32),
        closed=row,
        finished=jnp.full(twice, -jnp.inf),
        finished_length=jnp.zeros(twice, jnp.int32),
        finished_ids=jnp.full((*twice, longest), PAD, jnp.int32),
    )


def admit(search: Beam, rows: Array, limit: Array) -> Beam:
    """New sentences begin in rows [R], each with one live hypothesis that is empty."""
    beam = search.tokens.shape[1]
    alone = jnp.where(jnp.arange(beam) == 0, 0.0, -jnp.inf)
    new = Beam(
        time=search.time,
        begun=search.time,
        limit=jnp.clip(limit, 1, search.ids.shape[2]),
        tokens=jnp.int32(BOS),
        totals=alone,
        ids=jnp.int32(PAD),
        lineage=jnp.arange(beam, dtype=jnp.int32)[:, None],
        closed=jnp.int32(0),
        finished=jnp.float32(-jnp.inf),
        finished_length=jnp.int32(0),
        finished_ids=jnp.int32(PAD),
    )
    kept = [old.at[rows].set(one, mode="drop") for old, one in zip(search[1:], new[1:], strict=True)]
    return Beam(search.time, *kept)


def best_extensions(
    totals: Array, logits: Array, ends: Array, forbidden: Ids | None
) -> tuple[Array, Array, Array]:
    """The 2K best of all K·V extensions: their totals, parents and tokens, each [B, 2K], best first.

    They hold at most K that end, one of each hypothesis, and so at least K that do not.
    """
    sentences, beam, vocabulary = logits.shape
    if forbidden is not None:
        logits = jnp.where(jnp.asarray(forbidden), -jnp.inf, logits)
    sums = jax.nn.logsumexp(logits, axis=-1, keepdims=True)
    goes_on = jnp.arange(vocabulary) != EOS
    masked = jnp.where(ends[:, None, None] & goes_on, -jnp.inf, logits)
    # K that do not end and one that does are enough of each: two small selections rather than one large
    best, token = largest(masked, min(beam + 1, vocabulary))  # [B, K, K + 1]
    candidates = (best - sums + totals[..., None]).reshape(sentences, -1)
    values, chosen = jax.lax.top_k(candidates, min(2 * beam, candidates.shape[1]))
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
    """Finish what ends among the K best extensions, and live on with the K best of the others."""
    sentences, beam = search.tokens.shape
    time, length = search.time, search.time - search.begun  # [B] tokens before this one
    ends = token == EOS
    finished = ends & (totals > -jnp.inf) & (jnp.arange(token.shape[1]) < beam)
    history = jnp.take_along_axis(search.ids, parent[..., None], axis=1)  # [B, 2K, M]
    here = jnp.arange(history.shape[2]) == length[:, None, None]
    history = jnp.where(here, token[..., None], history)
    place = jnp.where(finished, search.closed[:, None] + jnp.cumsum(finished, axis=1) - 1, 2 * beam)
    row = jnp.arange(sentences)[:, None]
    new_length = jnp.broadcast_to(length[:, None] + 1, place.shape)

    going = jnp.argsort(ends, axis=1, stable=True)[:, :beam]  # the best first
    totals_on, parent, token, ends = (
        jnp.take_along_axis(one, going, axis=1) for one in (totals, parent, token, ends)
    )
    closed = search.closed + jnp.sum(finished, axis=1)
    lineage = jnp.take_along_axis(search.lineage, parent[..., None], axis=1)
    # the next slot of hypothesis k will be written by itself
    lineage = jnp.where(jnp.arange(lineage.shape[2]) > time, jnp.arange(beam)[:, None], lineage)
    return search._replace(
        time=time + 1,
        tokens=token,
        totals=jnp.where(ends | (closed >= beam)[:, None], -jnp.inf, totals_on),
        ids=jnp.take_along_axis(history, going[..., None], axis=1),
        lineage=lineage,
        closed=closed,
        finished=search.finished.at[row, place].set(totals, mode="drop"),
        finished_length=search.finished_length.at[row, place].set(new_length, mode="drop"),
        finished_ids=search.finished_ids.at[row, place].set(history, mode="drop"),
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
    )


class Pool(NamedTuple):
    """Sentences under search, and what the model keeps of them."""

    search: Beam
    cache: Cache


@partial(jax.jit, static_argnames=("graph", "sentences", "width", "beam", "longest", "slots"))
def empty_pool(
    graph: Graph, params: Params, *, sentences: int, width: int, beam: int, longest: int, slots: int
) -> Pool:
    """Room for sources of up to `width` tokens and outputs of up to `longest`."""
    model = nnx.merge(graph, params)
    return Pool(empty(sentences, beam, longest, slots), model.empty(sentences, width, beam, slots))


@partial(jax.jit, static_argnames=("graph",))
def encode(graph: Graph, params: Params, source: Ids) -> Sources:
    """Sources [N, S]: tags, words, EOS, then PAD."""
    source = jnp.asarray(source)
    return nnx.merge(graph, params).encoded(source, (source != PAD).astype(jnp.int32))


@partial(jax.jit, donate_argnames=("pool",))
def fill(pool: Pool, rows: Ids, sources: Sources, chosen: Ids, limit: Ids) -> Pool:
    """Source chosen[r] begins in rows[r], with limit[r]; a row beyond the last is left out."""
    rows, chosen = jnp.asarray(rows), jnp.asarray(chosen)
    new: Sources = jax.tree.map(lambda leaf: leaf[chosen], sources)
    return Pool(admit(pool.search, rows, jnp.asarray(limit)), admitted(pool.cache, rows, new))


@partial(jax.jit, static_argnames=("graph", "alpha", "n_best", "exact"), donate_argnames=("pool",))
def go_on(
    graph: Graph,
    params: Params,
    pool: Pool,
    wanted: ArrayLike,
    forbidden: Ids | None,
    *,
    alpha: float,
    n_best: int,
    exact: bool,
) -> tuple[Pool, Array, Array, Hypotheses]:
    """As `search_on`; also the time, which sentences are settled [B], and the best of each."""
    pool = Pool(
        *search_on(
            nnx.merge(graph, params).advance,
            *pool,
            wanted,
            alpha=alpha,
            n_best=n_best,
            forbidden=forbidden,
            exact=exact,
        )
    )
    return pool, pool.search.time, settled(pool.search), ranked(pool.search, alpha, n_best)


@partial(jax.jit, static_argnames=("slots", "width"))
def move(pool: Pool, first: ArrayLike, *, slots: int, width: int) -> Pool:
    """Forget the slots before `first`, and have room for `slots`, of sources with at most `width` tokens."""
    search, cache = pool
    first = jnp.asarray(first)
    search = search._replace(
        time=search.time - first,
        begun=search.begun - first,  # negative for settled sentences
        lineage=slots_from(search.lineage, first, slots, axis=2),
    )
    # slots that are yet to come are written by each hypothesis itself
    itself = jnp.arange(search.lineage.shape[1])[:, None]
    search = search._replace(lineage=jnp.where(jnp.arange(slots) >= search.time, itself, search.lineage))
    return Pool(search, moved(cache, search.lineage.shape[1], first, slots, width))


@jax.jit
def pick(pool: Pool, rows: Ids) -> Pool:
    """A pool of these rows alone."""
    chosen = jnp.asarray(rows)
    picked: Pool = jax.tree.map(lambda leaf: leaf[chosen] if leaf.ndim else leaf, pool)
    return picked
