"""Contrastive data selection (Wang et al. 2018): which pairs does fine-tuning make likelier?

score(x, y) = [log p_trusted(y|x) − log p_noisy(y|x)] / |y|
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.console import Tell, progress
from facetmt.data.chunks import Files, Line, check_aligned, read_rows
from facetmt.data.codec import Codec
from facetmt.data.config import DataConfig
from facetmt.data.corpus import Facet
from facetmt.data.discover import discover
from facetmt.data.lines import decode
from facetmt.errors import UserError
from facetmt.select.scoring import Scorer, contrast, encode_pairs, fingerprint
from facetmt.select.shards import Floats, Shards, claim, identity
from facetmt.select.trusted import FilterConfig, FineTuning, directions, encode_trusted, split
from facetmt.train.interrupt import Check
from facetmt.train.restore import TrainedModel

WORK = ".filter"  # below the folder of the keep files: the trusted model and the scores so far


class TrainingText(NamedTuple):
    """Two files of training text, and all facets read from them, in either direction and of any label."""

    folder: Path  # relative to data.root
    lines: int
    facets: list[Facet]

    def directions(self) -> list[Facet]:
        """One facet for each direction."""
        found: dict[Path, Facet] = {}
        for facet in self.facets:
            found.setdefault(facet.files["train"].source, facet)
        return list(found.values())

    def parts(self) -> dict[str, list[str]]:
        """The facets of each label, one part of the text each; without labels the text is one part."""
        parts: dict[str, list[str]] = {}
        for facet in self.facets:
            parts.setdefault(facet.files["train"].label or "", []).append(facet.name)
        return parts


def training_texts(data: DataConfig) -> list[TrainingText]:
    """Every training text once; refuses layouts that take no keep files."""
    root = Path(data.root).resolve()
    if data.layout not in ("pairs", "tsv"):
        raise UserError(f"data.layout: {data.layout} takes no keep files; filter works on the layout pairs")
    if isinstance(data.facets, dict) and any(entry.train is not None for entry in data.facets.values()):
        raise UserError(
            "data.facets: a facet that names its files takes no keep file; use the layout pairs to filter it"
        )
    texts: dict[frozenset[Path], list[Facet]] = {}
    for facet in discover(data, Path(data.root)):
        files = facet.files["train"]
        if files.header or files.columns is not None:
            raise UserError(
                f"{files.source}: filter works on line-aligned files; convert the TSV to two files"
            )
        if not files.source.resolve().is_relative_to(root):
            raise UserError(f"{files.source}: filter works on text below {data.root}; move it there")
        texts.setdefault(frozenset((files.source, files.target)), []).append(facet)
    return [
        TrainingText(
            facets[0].files["train"].source.parent.resolve().relative_to(root),
            check_aligned(sorted(paths)),
            facets,
        )
        for paths, facets in texts.items()
    ]


def scores_of(
    model: TrainedModel,
    texts: Sequence[TrainingText],
    trusted: tuple[Path, Path],
    facet: str | None,
    config: FilterConfig,
    codec: Path,
    work: Path,
    tell: Tell,
    check: Check,
) -> list[Floats]:
    """The score of every line of every text; interrupted work is continued, other work refused."""
    taught = directions(model.codec, facet)
    about = {
        "model": fingerprint(model.params),
        "vocabulary": model.codec.vocabulary.fingerprint,
        "trusted text": [identity(path, check) for path in trusted],
        "directions": [[one.name, one.source_language, one.target_language] for one in taught],
        "fine-tuning": config.tuning(),
    }
    claim(work, about)
    warn_of_languages(taught, texts, tell)
    stores = encode_trusted(model, trusted, taught, codec, work, tell)
    params = FineTuning(model, split(stores, config.seed), config, work).run(tell, check)
    scorer = Scorer(contrast, model.graph, model.recipe.batch)
    both = scorer.place((params, model.params))
    about = {"model": about["model"], "trusted model": fingerprint(params)}
    return [score_text(model, text, scorer, both, about, work, check) for text in texts]


def warn_of_languages(taught: Sequence[Facet], texts: Sequence[TrainingText], tell: Tell) -> None:
    """Warn of languages that the trusted text does not cover."""
    known = {(one.source_language, one.target_language) for one in taught}
    found = {(one.source_language, one.target_language) for text in texts for one in text.facets}
    if others := ", ".join(sorted(f"{source}-{target}" for source, target in found - known)):
        spoken = ", ".join(f"{source}-{target}" for source, target in sorted(known))
        tell(f"warning: the trusted text is taken to be {spoken}; it teaches little about {others}")


def score_text(
    model: TrainedModel,
    text: TrainingText,
    scorer: Scorer,
    both: Any,
    about: dict[str, Any],
    work: Path,
    check: Check,
) -> Floats:
    """The mean score of each line over the directions; −inf where a side is blank."""
    found = []
    for facet in text.directions():
        files = facet.files["train"]
        whole = replace(files, label=None, labels=None, keep=None, limit=None)
        header = {
            **about,
            "text": [identity(path, check) for path in (files.source, files.target)],
            "facet": [facet.name, facet.source_language, facet.target_language],
            "invalid bytes": model.recipe.data.errors,
        }
        shards = Shards(work / "scores" / facet.name, header, text.lines)

        def score(rows: list[tuple[int, Line, Line]], facet: Facet = facet) -> NDArray[Any]:
            return score_rows(rows, facet, model.codec, scorer, both, model.recipe.data.errors, check)

        with progress(f"scoring {facet.name}", "pairs", text.lines) as pace:
            found.append(shards.scores(read_rows(whole, Counter()), score, scorer.portion, pace))
    mean: Floats = np.mean(found, axis=0, dtype=np.float32)
    return mean


def score_rows(
    rows: Sequence[tuple[int, Line, Line]],
    facet: Facet,
    codec: Codec,
    scorer: Scorer,
    both: Any,
    errors: str,
    check: Check,
) -> NDArray[np.float64]:
    """The scores of some lines of a text in one direction."""
    check()
    files, numbers = facet.files["train"], [number for number, _, _ in rows]
    sources = decode([source or b"" for _, source, _ in rows], files.source, numbers, errors)
    targets = decode([target or b"" for _, _, target in rows], files.target, numbers, errors)
    there = np.array([bool(s.strip() and t.strip()) for s, t in zip(sources, targets, strict=True)])
    pairs = [
        pair for pair, is_there in zip(zip(sources, targets, strict=True), there, strict=True) if is_there
    ]
    values = np.full(len(rows), -np.inf)
    if pairs:
        tokens = encode_pairs(codec, facet.name, *map(list, zip(*pairs, strict=True)))
        values[there] = scorer(both, tokens, check)
    return values


def lines_of(files: Files) -> NDArray[np.int64]:
    """The lines of a training text, from 0, that have the label of `files`."""
    rows = read_rows(replace(files, keep=None, limit=None), Counter())
    return np.fromiter((number - 1 for number, _, _ in rows), np.int64)
