"""Translation of text: encode, search in batches of like length, decode; one line out for each line in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from facetmt.data.batch import EOS, PAD
from facetmt.data.codec import Codec
from facetmt.model.transformer import Graph, Params
from facetmt.translate import beam
from facetmt.translate.config import DecodeConfig

SMALLEST = 16  # source lengths are padded to 16, 32, 64, ...: few shapes to compile, little padding
SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+")


class Hypothesis(NamedTuple):
    """A finished translation and its length-normalised log-probability."""

    text: str
    score: float


class Translator:
    """Translates with any parameters of one model, so that a validation need not build it anew."""

    def __init__(self, graph: Graph, codec: Codec, decode: DecodeConfig) -> None:
        self._graph, self._codec, self._decode = graph, codec, decode
        self._forbidden = np.zeros(codec.vocabulary.target_size, bool)
        self._forbidden[codec.vocabulary.forbidden] = True

    def translate(
        self,
        params: Params,
        lines: Sequence[str],
        facet: str,
        *,
        tag: str | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> list[str]:
        """The best translation of each line; a blank line stays blank."""
        return [best[0].text for best in self.n_best(params, lines, facet, tag=tag, check=check)]

    def n_best(
        self,
        params: Params,
        lines: Sequence[str],
        facet: str,
        *,
        tag: str | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> list[list[Hypothesis]]:
        """Up to `beam` hypotheses of each line, best first; a line that was cut in parts has one."""
        parts = [self._parts(line, facet, tag) for line in lines]
        flat = [ids for line in parts for ids in line]
        found = iter(self._hypotheses(params, flat, facet, check))
        answers = ([next(found) for _ in line] for line in parts)
        return [joined(answer) for answer in answers]

    def _parts(self, line: str, facet: str, tag: str | None) -> list[list[int]]:
        """Source ids of a line; one that is longer than any training pair is cut at sentence ends, then words."""
        limit = self._decode.max_source
        pieces = [line] if line.strip() else []
        for pattern in (SENTENCE_END, re.compile(r"\s+")):
            encoded = self._codec.encode_source(pieces, facet, tag)
            if all(len(ids) <= limit for ids in encoded):
                return encoded
            pieces = list(self._cut(pieces, encoded, pattern, limit))
        return [
            ids if len(ids) <= limit else [*ids[: limit - 1], EOS]
            for ids in self._codec.encode_source(pieces, facet, tag)
        ]

    def _cut(
        self, pieces: Sequence[str], encoded: Sequence[Sequence[int]], pattern: re.Pattern[str], limit: int
    ) -> Iterator[str]:
        """Cut the overlong pieces where the pattern matches, into runs of about as many tokens as fit."""
        for piece, ids in zip(pieces, encoded, strict=True):
            if len(ids) <= limit:
                yield piece
                continue
            room = max(1, int(len(piece) * 0.8 * limit / len(ids)))  # characters that should fit
            run = ""
            for word in pattern.split(piece):
                if run and len(run) + len(word) + 1 > room:
                    yield run
                    run = word
                else:
                    run = f"{run} {word}" if run else word
            yield run

    def _hypotheses(
        self, params: Params, sources: Sequence[Sequence[int]], facet: str, check: Callable[[], None]
    ) -> list[list[Hypothesis]]:
        """Search in batches of one static shape each, longest first; answers in the order of the sources."""
        answers: list[list[Hypothesis]] = [[] for _ in sources]
        order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
        for chosen in batches(order, [len(ids) for ids in sources], self._decode.batch):
            check()
            width = padded_length(max(len(sources[index]) for index in chosen))
            ids, scores = self._search(params, [sources[index] for index in chosen], width)
            texts = self._codec.decode(ids[: len(chosen)].reshape(-1, ids.shape[-1]).tolist(), facet)
            for row, index in enumerate(chosen):
                first = row * ids.shape[1]
                answers[index] = [
                    Hypothesis(text, float(score))
                    for text, score in zip(texts[first : first + ids.shape[1]], scores[row], strict=True)
                    if np.isfinite(score)
                ]
        return answers

    def _search(
        self, params: Params, sources: Sequence[Sequence[int]], width: int
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Ids [B, N, L] and scores [B, N] of one batch; rows without a sentence end at once."""
        decode = self._decode
        rows = np.full((decode.batch, width), PAD, np.int32)
        limit = np.ones(decode.batch, np.int32)
        for row, ids in enumerate(sources):
            rows[row, : len(ids)] = ids
            limit[row] = min(decode.max_length, longest_output(len(ids)))
        found = beam.translate(
            self._graph,
            params,
            rows,
            limit,
            beam=decode.beam,
            max_length=min(decode.max_length, longest_output(width)),
            alpha=decode.length_penalty,
            n_best=decode.beam,
            forbidden=self._forbidden,
        )
        return np.asarray(found.ids), np.asarray(found.score)


def longest_output(length: int) -> int:
    """No sensible translation is longer, and one that does not end must be cut somewhere."""
    return 2 * length + 8


def padded_length(length: int) -> int:
    """The next of 16, 32, 64, ..."""
    return max(SMALLEST, 1 << (length - 1).bit_length())


def batches(order: Sequence[int], lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Runs of at most `size` indices whose padded lengths agree."""
    batch: list[int] = []
    for index in order:
        if batch and (
            len(batch) == size or padded_length(lengths[index]) != padded_length(lengths[batch[0]])
        ):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def joined(parts: Sequence[list[Hypothesis]]) -> list[Hypothesis]:
    """The hypotheses of a line from those of its parts."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return [Hypothesis("", 0.0)]
    best = [part[0] for part in parts]
    return [Hypothesis(" ".join(one.text for one in best), sum(one.score for one in best))]
