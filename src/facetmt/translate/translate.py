"""Translation of text with the beam search of this package, on any devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from facetmt.data.codec import Codec
from facetmt.model.transformer import Graph, Params
from facetmt.translate.config import DecodeConfig
from facetmt.translate.pool import OneDevice, PooledSearch, Spread
from facetmt.translate.text import Hypothesis, TextTranslator


class Translator:
    """Translates with any parameters of one model, so that each validation can reuse it."""

    def __init__(
        self, graph: Graph, codec: Codec, decode: DecodeConfig, spread: Spread | None = None
    ) -> None:
        self._graph, self._codec, self._decode = graph, codec, decode
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
        text = TextTranslator(self._search(params), self._codec, self._decode)
        return text.n_best(lines, facet, count, tag=tag, check=check, tell=tell)

    def rehearse(self, params: Params, length: int, sentences: int) -> None:
        """Compile and run the largest search for `sentences` sources of this length, on empty input."""
        self._search(params).rehearse(length, sentences)

    def _search(self, params: Params) -> PooledSearch:
        return PooledSearch(self._graph, params, self._decode, self._forbidden, self._spread)
