"""Text through any search over ids: encode, search, decode; one line out for each line in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import EOS
from facetmt.data.clean import portions
from facetmt.data.codec import Codec
from facetmt.translate.config import DecodeConfig

SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+")


class Found(NamedTuple):
    """A sentence whose search is over."""

    sentence: int
    ids: NDArray[np.int32]  # [N, M]: the N best, each ends with EOS, then PAD
    score: NDArray[np.float32]  # [N], -inf where no more were found


# (source ids of each sentence by falling length, hypotheses wanted, check) -> every sentence, in any order;
# `check` is called where the search may be left
Search = Callable[[Sequence[Sequence[int]], int, Callable[[], None]], Iterator[Found]]


class Hypothesis(NamedTuple):
    """A finished translation and its length-normalised log-probability."""

    text: str
    score: float


class TextTranslator:
    """Translates lines of text with a search over ids."""

    def __init__(self, search: Search, codec: Codec, decode: DecodeConfig) -> None:
        if decode.max_source is None:
            raise ValueError("decode.max_source is None; fill it in with DecodeConfig.for_training")
        self._search, self._codec, self._decode, self._max_source = search, codec, decode, decode.max_source

    def n_best(
        self,
        lines: Sequence[str],
        facet: str,
        count: int,
        *,
        tag: str | None = None,
        check: Callable[[], None] = lambda: None,
        tell: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[list[Hypothesis]]:
        """Up to `count` hypotheses of each line, best first; a line that had to be cut has one.

        `check` is called where the search may be left, `tell(done, total)` after each sentence.
        """
        parts = [self._parts(line, facet, tag) for line in lines]
        flat = [ids for line in parts for ids in line]
        found = iter(self._hypotheses(flat, facet, count, check, tell))
        answers = ([next(found) for _ in line] for line in parts)
        return [whole_line(answer) for answer in answers]

    def _parts(self, line: str, facet: str, tag: str | None) -> list[list[int]]:
        """Source ids of a line; one longer than any training pair is cut at sentence ends, then spaces."""
        around = len(self._codec.prefix(facet, tag)) + 1  # tags and EOS; cleaning may leave nothing else
        return [ids for ids in self._encoded(line, facet, tag) if len(ids) > around]

    def _encoded(self, line: str, facet: str, tag: str | None) -> list[list[int]]:
        limit = self._max_source
        # in portions, because cleaning a very long text takes too long
        pieces = [part for part in portions(line) if part.strip()]
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
        """Cut overlong pieces where the pattern matches, into runs of about `limit` tokens."""
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
        self,
        sources: Sequence[Sequence[int]],
        facet: str,
        count: int,
        check: Callable[[], None],
        tell: Callable[[int, int], None],
    ) -> list[list[Hypothesis]]:
        """Longest first, so that sentences under search at the same time are alike."""
        answers: list[list[Hypothesis]] = [[] for _ in sources]
        order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
        found = self._search([sources[index] for index in order], count, check)
        for done, one in enumerate(found, start=1):
            texts = self._codec.decode(one.ids.tolist(), facet)
            answers[order[one.sentence]] = [
                Hypothesis(text, float(score))
                for text, score in zip(texts, one.score, strict=True)
                if np.isfinite(score)
            ]
            tell(done, len(sources))
        return answers


def whole_line(parts: Sequence[list[Hypothesis]]) -> list[Hypothesis]:
    """The hypotheses of a line from those of its parts."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return [Hypothesis("", 0.0)]
    best = [part[0] for part in parts]
    return [Hypothesis(" ".join(one.text for one in best), sum(one.score for one in best))]
