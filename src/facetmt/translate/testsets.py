"""The test sets: what they are, translated and scored; scores.json is written whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from facetmt.data.clean import Cleaner
from facetmt.data.codec import Codec
from facetmt.data.corpus import Facet
from facetmt.data.lines import MAX_LINE, decode, read_lines
from facetmt.data.prepared import Prepared
from facetmt.errors import UserError
from facetmt.files import replace_directory, sha256_of, write_whole
from facetmt.translate.config import EvaluateConfig, SetConfig
from facetmt.translate.evaluate import Scores, bleu_metric, collect, corpus_scores

TRANSLATIONS, SCORES = "translations", "scores.json"
Progress = Callable[[int, int], None]  # (done, total)


class ScoredText(NamedTuple):
    """One row of scores.json before it is translated."""

    name: str
    facet: Facet  # whose languages, cleaning and tags apply
    sources: list[str]
    references: list[str]

    def sha256(self) -> str:
        """Of the text as read, so that scores of different text can be told apart."""
        return sha256_of([self.sources, self.references])


def check_groups(config: EvaluateConfig, names: Collection[str]) -> None:
    """Every member of every group must be the name of a facet or set, or a pattern that matches some."""
    for group, member in config.unmatched(names).items():
        known = ", ".join(list(names)[:12]) + (", ..." if len(names) > 12 else "")
        raise UserError(
            f"evaluate.groups.{group}: {member} is not a facet or set that can be scored; choose from {known}"
        )


def check_scoring(config: EvaluateConfig, codec: Codec, names: Collection[str]) -> None:
    """Refuse what `evaluate` names but does not exist, before anything long starts; `names` are scored."""
    check_groups(config, names)
    facets = {facet.name for facet in codec.facets}
    for name, one in config.sets.items():
        if name in facets:
            raise UserError(f"evaluate.sets.{name}: a facet has this name; rename the set")
        codec.facet(one.facet)
    if config.tag is not None:
        codec.prefix(codec.facets[0].name, config.tag)
    languages = {facet.target_language for facet in codec.facets}
    for language in config.tokenisers:
        if not any(
            target == language or target.startswith((f"{language}-", f"{language}_")) for target in languages
        ):
            raise UserError(
                f"evaluate.tokenisers.{language}: the model translates only to "
                f"{', '.join(sorted(languages))}; remove this key"
            )
    for language in sorted(languages):
        bleu_metric(language, config.tokenisers)


def scored_texts(
    prepared: Prepared, codec: Codec, config: EvaluateConfig, root: Path, run: Path
) -> list[ScoredText]:
    """The model's facets that have test text, in order, then `evaluate.sets`; `root` is data.root."""
    if missing := [facet.name for facet in codec.facets if facet not in prepared.facets]:
        raise UserError(
            f"{run} was trained on {', '.join(missing)}, which {prepared.directory} no longer holds in the "
            "same form; prepare the run's text in another folder with "
            f"`facetmt prepare {run / 'recipe.yaml'} --set prepared=FOLDER`, "
            f"then score with `facetmt evaluate {run} --set prepared=FOLDER`"
        )
    own = [
        ScoredText(facet.name, facet, *prepared.text(facet.name, "test"))
        for facet in prepared.facets
        if facet in codec.facets
    ]
    further = [
        ScoredText(name, codec.facet(one.facet), *read_set(name, one, root))
        for name, one in config.sets.items()
    ]
    if texts := [text for text in (*own, *further) if text.sources]:
        return texts
    raise UserError(
        f"{run}: no facet has a test set; add test files beside the training text and prepare again"
    )


def read_set(name: str, one: SetConfig, root: Path) -> tuple[list[str], list[str]]:
    """Source and reference lines of a set; both files must have the same number of lines."""
    sources, references = read_text(root / one.source), read_text(root / one.target)
    if not sources or len(sources) != len(references):
        raise UserError(
            f"evaluate.sets.{name}: {root / one.source} has {len(sources)} lines and {root / one.target}"
            f" {len(references)}; they need the same number of lines, at least 1"
        )
    return sources, references


def read_text(path: Path) -> list[str]:
    lines = []
    for number, line in enumerate(read_lines(path), 1):
        if line is None:
            raise UserError(f"{path}, line {number} has more than {MAX_LINE:,} bytes; is it a sentence?")
        lines.append(line)
    return decode(lines, path, range(1, len(lines) + 1), "strict")


def scored_references(
    lines: Sequence[str], language: str, cleaner: Cleaner, config: EvaluateConfig
) -> list[str]:
    """What output is compared with: the references as they are, or cleaned and restored like the output."""
    if not config.preprocessed_references:
        return list(lines)
    return [cleaner.backward(cleaner.forward(line, language), language) for line in lines]


def row_sizes(
    texts: Sequence[ScoredText], reports: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> dict[str, int]:
    """Training pairs behind every row, before any were dropped (`Prepared.reports`)."""
    return {text.name: reports[text.facet.name]["train"]["read"] for text in texts}


class Translate(Protocol):
    """Source lines of a facet -> hypotheses; `tell` is called with the progress."""

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
    objective: Mapping[str, float] | None = None,
    tell: Callable[[str, dict[str, Any]], None] = lambda facet, values: None,
    progress: Progress = lambda done, total: None,
) -> Scores:
    """Score the texts into `directory`; `about`, the settings of the translations, goes into scores.json."""
    partial = directory / f".{TRANSLATIONS}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        facets, signatures = translate_texts(translate, texts, cleaner, config, partial, tell, progress)
        scores = collect(facets, signatures, config.members(sizes), objective)
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
    """What has changed since the earlier scores were made; fields that they do not have are not compared."""
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
    said += [f"{', '.join(gone)} was scored too"] if gone else []
    return said + ([f"the test text of {', '.join(other)} was different"] if other else [])


def parts(*values: Any) -> list[dict[str, Any]]:
    """Settings by name; a plain value has the name ''."""
    return [value if isinstance(value, dict) else {"": value} for value in values]


def write_translations(
    path: Path, sources: Sequence[str], references: Sequence[str], hypotheses: Sequence[str]
) -> None:
    """One JSON object per sentence: source, reference, hypothesis."""
    rows: list[dict[str, Any]] = [
        {"source": source, "reference": reference, "hypothesis": hypothesis}
        for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True)
    ]
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
