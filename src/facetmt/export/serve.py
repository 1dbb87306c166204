"""`facetmt translate` through CTranslate2: a run, which is exported on first use, or an exported folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from facetmt.console import say
from facetmt.errors import UserError
from facetmt.export.engine import open_engine
from facetmt.export.folder import is_export, required
from facetmt.export.run import cached_export
from facetmt.train.best import open_best
from facetmt.train.standard_input import translate_standard_input
from facetmt.translate.pipe import choose_facet
from facetmt.translate.text import TextTranslator


def translate_text(
    place: Path,
    facet: str | None,
    to: str | None,
    tag: str | None,
    n_best: int,
    scores: bool,
    errors: str,
    quantization: str,
    overrides: Sequence[str],
) -> None:
    """Standard input to standard output."""
    required("ctranslate2", "ctranslate2")
    if is_export(place):
        if overrides:
            raise UserError(f"{place} is an export, whose settings are fixed; give --set to `facetmt export`")
        search, codec, decode = open_engine(place, beam=n_best)
    else:
        best = open_best(place, overrides)
        for note in best.notes:
            say(note)
        choose_facet(best.codec, facet, to, tag)  # before anything is exported
        folder = cached_export(best, quantization)
        search, codec, decode = open_engine(folder, best.codec, best.decode, beam=n_best)
    name = choose_facet(codec, facet, to, tag)
    text = TextTranslator(search, codec, decode)
    translate_standard_input(
        lambda lines: text.n_best(lines, name, n_best, tag=tag),
        batch=decode.batch,
        keep=n_best,
        scores=scores,
        errors=errors,
    )
