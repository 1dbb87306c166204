"""Log-probabilities of many sentences at full speed: packed rows, one compiled shape, answers in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import EOS, Batch, BatchConfig, Tokens, assign_rows, fill

Floats = NDArray[np.float64]
Ids = Sequence[int]
Score = Callable[[Batch], tuple[Any, Any]]  # batch -> Σ log p and length of each segment, 2 x [R, T]
POOL = 4096  # sentences packed together


class Sentence(NamedTuple):
    """Source ids (tags x EOS; EOS alone for a language model) and target ids (y EOS)."""

    source: Ids
    target: Ids


def mean_log_probabilities(
    score: Score, sentences: Iterable[Sentence], shape: BatchConfig
) -> Iterator[float]:
    """Σ log p(y)/|y| of each sentence, in order; what is longer than a row is scored by its beginning."""
    rest = iter(sentences)
    while pool := [cut(sentence, shape) for sentence in islice(rest, POOL)]:
        yield from _pool(score, pool, shape).tolist()


def cut(sentence: Sentence, shape: BatchConfig) -> Sentence:
    """At most a row of each side, still ending with EOS."""
    sides = (
        ids if len(ids) <= width else [*ids[: width - 1], EOS]
        for ids, width in zip(sentence, shape.width, strict=True)
    )
    return Sentence(*sides)


def _pool(score: Score, pool: Sequence[Sentence], shape: BatchConfig) -> Floats:
    means = np.zeros(len(pool))
    waiting = np.arange(len(pool))
    source, target = (np.array([len(sentence[side]) for sentence in pool]) for side in (0, 1))
    while len(waiting):
        row = assign_rows(
            source[waiting], target[waiting], np.zeros(len(waiting), np.bool_), shape.rows, shape.width
        )
        order = np.flatnonzero(row >= 0)
        order = order[np.argsort(row[order], kind="stable")]
        placed, rows = waiting[order], row[order]
        segment = np.arange(len(rows)) - np.searchsorted(rows, rows)  # place in its row, from 0
        total, length = (
            np.asarray(part) for part in score(fill(tokens_of(pool, placed), rows, shape.rows, shape.width))
        )
        means[placed] = total[rows, segment] / length[rows, segment]
        waiting = waiting[row < 0]
    return means


def tokens_of(pool: Sequence[Sentence], placed: NDArray[np.int64]) -> Tokens:
    chosen = [pool[index] for index in placed]
    sides = [np.concatenate([np.asarray(sentence[side]) for sentence in chosen]) for side in (0, 1)]
    lengths = [np.array([len(sentence[side]) for sentence in chosen]) for side in (0, 1)]
    return Tokens(sides[0], sides[1], lengths[0], lengths[1], np.zeros(len(chosen), np.int64))
