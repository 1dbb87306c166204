"""An exported model behind CTranslate2: another search from ids to ids, ranked by our length penalty."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from facetmt.data.batch import EOS, PAD
from facetmt.data.codec import Codec
from facetmt.data.vocab import Vocabulary
from facetmt.errors import UserError
from facetmt.export.folder import About, open_export, required
from facetmt.translate.config import DecodeConfig
from facetmt.translate.text import Found

# largest difference between the log-probability of a token here and in our model, by type of the weights
TOLERANCE = {"float32": 0.01, "float16": 0.2, "bfloat16": 1.0, "int16": 0.5}
COARSE = 3.0  # of int8


def open_engine(
    folder: Path, codec: Codec | None = None, decode: DecodeConfig | None = None, beam: int = 1
) -> tuple[EngineSearch, Codec, DecodeConfig]:
    """The search of an exported model, at least `beam` wide; refused if its codec is not `codec`."""
    about, own = open_export(folder, "ctranslate2")
    if codec is not None and codec.vocabulary.fingerprint != own.vocabulary.fingerprint:
        raise UserError(f"{folder}: was exported with another vocabulary; delete it to export again")
    decode = decode or DecodeConfig(**about["decode"])
    decode = replace(decode, beam=max(decode.beam, beam))
    longest = max(decode.max_length, decode.max_source or 0)
    if longest > about["positions"]:
        raise UserError(
            f"{folder}: was exported for at most {about['positions']} tokens, but decode asks for {longest}; "
            "lower decode.max_length and decode.max_source, or export again with them"
        )
    engine = required("ctranslate2", "ctranslate2")
    try:
        model = engine.Translator(str(folder), intra_threads=processors())
    except (RuntimeError, ValueError) as error:
        raise UserError(f"{folder}: CTranslate2 {engine.__version__} cannot open it ({error})") from None
    if engine.__version__ != about["engine"]:
        compare(model, own.vocabulary, about, folder, engine.__version__)
    return EngineSearch(model, own.vocabulary, decode), own, decode


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compare(model: Any, vocabulary: Vocabulary, about: About, folder: Path, version: str) -> None:
    """Refuse an engine that does not compute what our own model computed when it was exported."""
    source, target = vocabulary.pieces("source"), vocabulary.pieces("target")
    pairs = about["probe"]
    scored = model.score_batch(
        [[source[index] for index in pair["source"][:-1]] for pair in pairs],
        [[target[index] for index in pair["target"][:-1]] for pair in pairs],
    )
    furthest = max(
        float(np.abs(np.subtract(found.log_probs, pair["log_probability"])).max())
        if len(found.log_probs) == len(pair["log_probability"])
        else math.inf
        for found, pair in zip(scored, pairs, strict=True)
    )
    if not furthest <= TOLERANCE.get(about["quantization"], COARSE):
        raise UserError(
            f"{folder}: CTranslate2 {version} does not compute what the model was trained to compute (log "
            f"probabilities differ by up to {furthest:.3g}); install CTranslate2 {about['engine']}"
        )


class EngineSearch:
    """Another `facetmt.translate.text.Search`: batch after batch."""

    def __init__(self, model: Any, vocabulary: Vocabulary, decode: DecodeConfig) -> None:
        self._model, self._decode = model, decode
        self._source, self._target = vocabulary.pieces("source"), vocabulary.pieces("target")
        self._ids = {symbol: index for index, symbol in enumerate(self._target)}
        self._suppressed = [[self._target[index]] for index in vocabulary.forbidden]

    def __call__(
        self, sources: Sequence[Sequence[int]], count: int, check: Callable[[], None] = lambda: None
    ) -> Iterator[Found]:
        """Sentences with the same limit are searched together; decode.max_ratio gives each its own."""
        limits = [self._decode.longest_output(len(ids)) for ids in sources]
        for limit in dict.fromkeys(limits):
            alike = [index for index, own in enumerate(limits) if own == limit]
            for first in range(0, len(alike), self._decode.batch):
                check()
                chosen = alike[first : first + self._decode.batch]
                for index, best in zip(
                    chosen, self._search([sources[one] for one in chosen], count, limit), strict=True
                ):
                    yield found(index, best, count)

    def _search(
        self, sources: Sequence[Sequence[int]], count: int, limit: int
    ) -> list[list[tuple[float, list[int]]]]:
        """Score and ids (with EOS) of the `count` best of each sentence, by our length penalty."""
        options = search_options(self._decode, limit, count)
        symbols = [[self._source[index] for index in ids[:-1]] for ids in sources]
        results = self._model.translate_batch(
            symbols, suppress_sequences=self._suppressed, max_batch_size=len(symbols), **options
        )
        return [self._ranked(result, count, options["length_penalty"]) for result in results]

    def _ranked(self, result: Any, count: int, exponent: float) -> list[tuple[float, list[int]]]:
        found = []
        for symbols, score in zip(result.hypotheses, result.scores, strict=True):
            total = score * len(symbols) ** exponent
            ids = [self._ids[symbol] for symbol in symbols]
            ids = ids if ids[-1:] == [EOS] else [*ids, EOS]
            found.append((total / ((5.0 + len(ids)) / 6.0) ** self._decode.length_penalty, ids))
        return sorted(found, key=lambda one: -one[0])[:count]


def found(index: int, best: Sequence[tuple[float, list[int]]], count: int) -> Found:
    """Scores and ids of one sentence, as our own search gives them."""
    ids = np.full((count, max(len(one) for _, one in best)), PAD, np.int32)
    score = np.full(count, -np.inf, np.float32)
    for rank, (value, one) in enumerate(best):
        ids[rank, : len(one)], score[rank] = one, value
    return Found(index, ids, score)


def search_options(decode: DecodeConfig, limit: int, count: int = 1) -> Mapping[str, Any]:
    """Arguments of translate_batch for outputs of at most `limit` tokens, EOS included."""
    return {
        "beam_size": decode.beam,
        "num_hypotheses": decode.beam,
        "length_penalty": decode.length_penalty,
        "max_decoding_length": max(1, limit - 1),
        "min_decoding_length": 0,
        "max_input_length": 0,
        "return_scores": True,
        "return_end_token": True,
    }
