"""Log-probabilities of many sentences: packed rows, one compiled shape, all devices, results in order."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from facetmt.data.batch import EOS, Batch, Tokens, fill
from facetmt.data.codec import Codec
from facetmt.data.config import BatchConfig
from facetmt.data.store import spans
from facetmt.data.stream import packed_once
from facetmt.errors import UserError
from facetmt.train.interrupt import Check
from facetmt.train.loss import score
from facetmt.train.place import Placement

Floats = NDArray[np.float64]
Int = NDArray[np.int64]
AHEAD = 2  # batches being computed while the next one is packed


def mean_log_probability(graph: Any, params: Any, batch: Batch) -> Array:
    """log p(y|x)/|y| of each segment: [R, T], segment i in column i-1; 0 elsewhere."""
    total, length = score(graph, params, batch)
    return total / jnp.maximum(length, 1.0)


def log_probability_by_root(graph: Any, params: Any, batch: Batch) -> Array:
    """log p(y|x)/√|y| of each segment: [R, T]."""
    total, length = score(graph, params, batch)
    return total / jnp.sqrt(jnp.maximum(length, 1.0))


def contrast(graph: Any, both: tuple[Any, Any], batch: Batch) -> Array:
    """[log p_first(y|x) − log p_second(y|x)] / |y| of each segment: [R, T]."""
    first, second = (mean_log_probability(graph, params, batch) for params in both)
    return first - second


class Scorer:
    """One value per pair of a text; each batch is divided among all devices."""

    def __init__(self, value: Callable[[Any, Any, Batch], Array], graph: Any, shape: BatchConfig) -> None:
        placement = Placement()
        rows = -(-shape.rows // placement.devices) * placement.devices
        # a limit of pairs per update does not apply here
        self.shape = replace(shape, rows=rows, sentences=None)
        self._put = placement.share(rows).put
        self._value = jax.jit(partial(value, graph))
        self.place = placement.replicated  # parameters, onto every device

    @property
    def portion(self) -> int:
        """Pairs to score per call: many, so that the last, half-empty batch costs little."""
        return max(1 << 13, self.shape.rows * self.shape.width[1])

    def __call__(self, params: Any, tokens: Tokens, check: Check = lambda: None) -> Floats:
        """The value of each pair, in order; a sentence longer than a row is cut."""
        width = self.shape.width
        source, source_length = clipped(tokens.source, tokens.source_length, width[0])
        target, target_length = clipped(tokens.target, tokens.target_length, width[1])
        tokens = Tokens(source, target, source_length, target_length, tokens.facet)
        values = np.zeros(len(source_length))
        waiting: deque[tuple[Int, tuple[Int, Int], Array]] = deque()

        def settle() -> None:
            members, cells, found = waiting.popleft()
            values[members] = np.asarray(found)[cells]

        try:
            for members, row in packed_once(source_length, target_length, self.shape):
                check()
                batch = fill(chosen(tokens, members), row, self.shape.rows, width)
                segment = np.arange(len(row)) - np.searchsorted(row, row)  # index in its row
                waiting.append((members, (row, segment), self._value(params, self._put(batch))))
                if len(waiting) > AHEAD:
                    settle()
        finally:
            while waiting:  # a process that exits while its devices work crashes
                settle()
        if not np.isfinite(values).all():
            raise UserError(
                "the log-probabilities of a model are not finite, so its scores mean nothing; train it again "
                "with a lower learning rate"
            )
        return values


def clipped(ids: Int, length: Int, width: int) -> tuple[Int, Int]:
    """At most `width` ids of each sentence, still ending with EOS."""
    short = np.minimum(length, width)
    found = ids[spans(np.cumsum(length) - length, short)]
    found[np.cumsum(short) - 1] = EOS
    return found, short


def chosen(tokens: Tokens, members: Int) -> Tokens:
    """Some of the pairs, in the order of `members`."""
    source, source_length = picked(tokens.source, tokens.source_length, members)
    target, target_length = picked(tokens.target, tokens.target_length, members)
    return Tokens(source, target, source_length, target_length, tokens.facet[members])


def picked(ids: Int, length: Int, members: Int) -> tuple[Int, Int]:
    """Ids and lengths of some sentences, in the order of `members`."""
    begin = np.cumsum(length) - length
    return ids[spans(begin[members], length[members])], length[members]


def encode_pairs(codec: Codec, facet: str, sources: Sequence[str], targets: Sequence[str]) -> Tokens:
    """tags x EOS and y EOS of each pair."""
    source, target = codec.encode(sources, facet, "source"), codec.encode(targets, facet, "target")
    return Tokens(source[0], target[0], source[1], target[1], np.zeros(len(sources), np.int64))


def encode_text(codec: Codec, facet: str, lines: Sequence[str]) -> Tokens:
    """EOS and y EOS of each line, for a language model, which reads the target side only."""
    ids, length = codec.encode(lines, facet, "target")
    count = len(lines)
    return Tokens(np.full(count, EOS), ids, np.ones(count, np.int64), length, np.zeros(count, np.int64))


def fingerprint(params: Any) -> str:
    """sha256 over all parameters, wherever they were loaded from."""
    digest = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        digest.update(jax.tree_util.keystr(path).encode())
        digest.update(np.ascontiguousarray(np.asarray(leaf)).tobytes())
    return digest.hexdigest()
