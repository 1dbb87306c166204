"""Translation of text with the beam search of this package, in few compiled shapes, on any devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import PAD
from facetmt.data.codec import Codec
from facetmt.model.transformer import Graph, Params
from facetmt.translate import beam
from facetmt.translate.config import DecodeConfig
from facetmt.translate.text import Found, Hypothesis, TextTranslator

SMALLEST = 16  # source lengths are padded to 16, 32, 64, ...: few shapes to compile, little padding
FEWEST = 4  # sentences of a batch are padded to 4, 8, 16, ..., decode.batch


class Spread(Protocol):
    """How a batch is divided among devices."""

    devices: int

    def spread(self, array: NDArray[Any]) -> Any:
        """Rows over the devices."""

    def fetch(self, tree: Any) -> Any:
        """And back to the host."""


class OneDevice:
    """There is nothing to divide."""

    devices = 1

    def spread(self, array: NDArray[Any]) -> Any:
        return array

    def fetch(self, tree: Any) -> Any:
        return jax.tree.map(np.asarray, tree)


class Translator:
    """Translates with any parameters of one model, so that each validation can reuse it."""

    def __init__(
        self, graph: Graph, codec: Codec, decode: DecodeConfig, spread: Spread | None = None
    ) -> None:
        if decode.max_source is None:
            raise ValueError("decode.max_source is None; fill it in with DecodeConfig.for_training")
        self._graph, self._codec, self._decode, self._max_source = graph, codec, decode, decode.max_source
        self._spread = spread or OneDevice()
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
        tell: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[str]:
        """The best translation of each line; a blank line stays blank. See `n_best`."""
        found = self.n_best(params, lines, facet, 1, tag=tag, check=check, tell=tell)
        return [best[0].text for best in found]

    def n_best(
        self,
        params: Params,
        lines: Sequence[str],
        facet: str,
        count: int,
        *,
        tag: str | None = None,
        check: Callable[[], None] = lambda: None,
        tell: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[list[Hypothesis]]:
        """Up to `count` hypotheses of each line, best first (`TextTranslator.n_best`)."""
        text = TextTranslator(partial(self._search, params), self._codec, self._decode)
        return text.n_best(lines, facet, count, tag=tag, check=check, tell=tell)

    def rehearse(self, params: Params, length: int, sentences: int) -> None:
        """Compile and run the search for `sentences` sources of this length, on empty input."""
        self._run(params, [], length, min(sentences, self._decode.batch), 1, 0)

    def _search(self, params: Params, sources: Sequence[Sequence[int]], count: int, spare: int) -> Found:
        """The `count` best of one batch."""
        return self._run(params, sources, max(map(len, sources)), len(sources), count, spare)

    def _run(
        self,
        params: Params,
        sources: Sequence[Sequence[int]],
        length: int,
        sentences: int,
        count: int,
        spare: int,
    ) -> Found:
        """Search in one of few shapes until `spare` sentences are left; empty rows end at once."""
        decode, devices = self._decode, self._spread.devices
        width = padded(min(length, self._max_source), SMALLEST)
        batch = min(decode.batch, padded(sentences, FEWEST))
        batch = -(-batch // devices) * devices
        rows = np.full((batch, width), PAD, np.int32)
        limit = np.ones(batch, np.int32)
        for row, ids in enumerate(sources):
            rows[row, : len(ids)] = ids
            limit[row] = decode.longest_output(len(ids))
        found = beam.translate(
            self._graph,
            params,
            self._spread.spread(rows),
            self._spread.spread(limit),
            beam=decode.beam,
            max_length=decode.longest_output(width),
            alpha=decode.length_penalty,
            n_best=count,
            forbidden=self._forbidden,
            spare=spare,
            exact=decode.exact,
        )
        return Found(*self._spread.fetch((found.ids, found.score, found.unsettled)))


def padded(length: int, least: int) -> int:
    """Rounded up to least, 2·least, 4·least, ...; `least` is a power of two."""
    return max(least, 1 << (length - 1).bit_length())
