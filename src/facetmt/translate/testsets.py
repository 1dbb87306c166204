"""Every test set, translated and scored; hypotheses and scores.json are written together, or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from facetmt.data.clean import Cleaner
from facetmt.files import replace_directory, write_whole
from facetmt.translate.config import EvaluateConfig
from facetmt.translate.evaluate import Scores, collect, corpus_scores
from facetmt.translate.sets import ScoredText, scored_references

TRANSLATIONS, SCORES = "translations", "scores.json"
Progress = Callable[[int, int], None]  # (done, total)


class Translate(Protocol):
    """Source lines of a facet -> hypotheses; `tell` is told how far it is."""

    def __call__(self, lines: Sequence[str], facet: str, tell: Progress) -> list[str]: ...


def evaluate_tests(
    translate: Translate,
    texts: Sequence[ScoredText],
    sizes: Mapping[str, int],
    cleaner: Cleaner,
    config: EvaluateConfig,
    directory: Path,
    *,
    about: Mapping[str, Any],
    tell: Callable[[str, dict[str, Any]], None] = lambda facet, values: None,
    progress: Progress = lambda done, total: None,
) -> Scores:
    """Score the texts into `directory`; `about` says what made the translations, and goes into scores.json."""
    partial = directory / f".{TRANSLATIONS}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        facets, signatures = translate_texts(translate, texts, cleaner, config, partial, tell, progress)
        scores = collect(facets, signatures, config.members(sizes))
        scores = {**scores, **about, "time": datetime.now(UTC).isoformat(timespec="seconds")}
        (directory / SCORES).unlink(missing_ok=True)  # never old scores beside new translations
        replace_directory(partial, directory / TRANSLATIONS)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    write_whole(directory / SCORES, json.dumps(scores, indent=1, ensure_ascii=False) + "\n")
    return scores


def translate_texts(
    translate: Translate,
    texts: Sequence[ScoredText],
    cleaner: Cleaner,
    config: EvaluateConfig,
    folder: Path,
    tell: Callable[[str, dict[str, Any]], None],
    progress: Progress,
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, str]]]:
    """Row and signatures of each text; its translations are written to the folder."""
    facets: dict[str, dict[str, Any]] = {}
    signatures: dict[str, dict[str, str]] = {}
    done, total = 0, sum(len(text.sources) for text in texts)
    for text in texts:
        language = text.facet.target_language
        references = scored_references(text.references, language, cleaner, config)
        told = partial_progress(progress, done, len(text.sources), total)
        hypotheses = translate(text.sources, text.facet.name, told)
        values, signatures[text.name] = corpus_scores(hypotheses, references, language, config.tokenisers)
        facets[text.name] = {**values, "sentences": len(text.sources), "text": text.sha256()}
        write_translations(folder / f"{text.name}.jsonl", text.sources, references, hypotheses)
        tell(text.name, facets[text.name])
        done += len(text.sources)
    return facets, signatures


def partial_progress(progress: Progress, before: int, lines: int, total: int) -> Progress:
    """Progress through one of several texts as progress through all of them."""
    return lambda done, of: progress(before + lines * done // of, total)


def differing(before: Scores, about: Mapping[str, Any], texts: Sequence[ScoredText]) -> list[str]:
    """What is not as it was when the former scores were made; a field that they do not have is not compared."""
    said = [
        f"{key}.{name} was {old[name]}" if name else f"{key} was {old[name]}"
        for key, value in about.items()
        if key in before
        for old, new in [parts(before[key], value)]
        for name in old
        if name in new and old[name] != new[name]
    ]
    rows, now = before.get("facets", {}), {text.name: text for text in texts}
    gone = [name for name in rows if name not in now]
    other = [
        name for name, text in now.items() if rows.get(name, {}).get("text") not in (None, text.sha256())
    ]
    said += [f"they had {', '.join(gone)} as well"] if gone else []
    return said + ([f"the test text of {', '.join(other)} was another"] if other else [])


def parts(*values: Any) -> list[dict[str, Any]]:
    """Settings by name; a plain value has no name."""
    return [value if isinstance(value, dict) else {"": value} for value in values]


def write_translations(
    path: Path, sources: Sequence[str], references: Sequence[str], hypotheses: Sequence[str]
) -> None:
    """One JSON object a sentence: source, reference, hypothesis."""
    rows: list[dict[str, Any]] = [
        {"source": source, "reference": reference, "hypothesis": hypothesis}
        for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True)
    ]
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
