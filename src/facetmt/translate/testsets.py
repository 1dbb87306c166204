"""The test set of every facet, translated and scored; hypotheses and scores.json are written to the run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from facetmt.data.prepare import Prepared
from facetmt.errors import UserError
from facetmt.translate.config import DecodeConfig, EvaluateConfig
from facetmt.translate.evaluate import Scores, collect, corpus_scores
from facetmt.translate.sets import row_sizes, scored_texts

TRANSLATIONS, SCORES = "translations", "scores.json"
Translate = Callable[[Sequence[str], str], list[str]]  # (source lines, facet name) -> hypotheses


def evaluate_tests(
    translate: Translate,
    prepared: Prepared,
    config: EvaluateConfig,
    decode: DecodeConfig,
    directory: Path,
    *,
    root: Path,
    steps: Sequence[int],
    tell: Callable[[str, dict[str, float]], None] = lambda facet, values: None,
) -> Scores:
    """Score the test text of each facet and of `evaluate.sets`; `steps` are those of the checkpoints behind it."""
    facets: dict[str, dict[str, float]] = {}
    signatures: dict[str, dict[str, str]] = {}
    texts = list(scored_texts(prepared, config, root))
    for name, facet, sources, given in texts:
        references = (
            preprocessed(given, facet.target_language, prepared) if config.preprocessed_references else given
        )
        hypotheses = translate(sources, facet.name)
        facets[name], signatures[name] = corpus_scores(hypotheses, references, facet.target_language)
        write_translations(directory / TRANSLATIONS / f"{name}.jsonl", sources, references, hypotheses)
        tell(name, facets[name])
    if not facets:
        raise UserError("no facet has a test set; add test files beside the training text and prepare again")
    scores = collect(facets, signatures, config.members(row_sizes(texts, prepared)))
    scores = {**scores, "steps": list(steps), "decode": asdict(decode), "tag": config.tag}
    write_whole(directory / SCORES, json.dumps(scores, indent=1, ensure_ascii=False) + "\n")
    return scores


def preprocessed(references: Sequence[str], language: str, prepared: Prepared) -> list[str]:
    """References through the same cleaning, and back (the paper's "similarly preprocessed references")."""
    cleaner = prepared.cleaner
    return [cleaner.backward(cleaner.forward(line, language), language) for line in references]


def write_translations(
    path: Path, sources: Sequence[str], references: Sequence[str], hypotheses: Sequence[str]
) -> None:
    """One JSON object a sentence: source, reference, hypothesis."""
    rows: list[dict[str, Any]] = [
        {"source": source, "reference": reference, "hypothesis": hypothesis}
        for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_whole(path: Path, text: str) -> None:
    """The whole file or none of it."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
