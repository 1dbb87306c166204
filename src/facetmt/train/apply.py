"""A run's model applied to text: every test set translated and scored, or standard input translated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from facetmt.console import print_line, print_table, progress, say
from facetmt.data.names import check_name
from facetmt.data.prepared import Prepared, open_prepared
from facetmt.runlog import SCORES, Run, outcome_path
from facetmt.train.interrupt import Check
from facetmt.train.place import Placement
from facetmt.train.restore import TrainedModel, load_model
from facetmt.train.standard_input import translate_standard_input
from facetmt.translate.evaluate import Scores
from facetmt.translate.pipe import choose_facet
from facetmt.translate.testsets import (
    ScoredText,
    check_scoring,
    differing,
    evaluate_tests,
    row_sizes,
    scored_texts,
)
from facetmt.translate.translate import Translator


def evaluate_run(
    run: Path,
    overrides: Sequence[str],
    name: str = "",
    *,
    quiet: bool = False,
    check: Check = lambda: None,
) -> Scores:
    """Translate and score every test set, and print the table; `name` keeps these scores apart.

    `check` is called between batches and may raise: then nothing is written.
    """
    if name:
        check_name(name, "set of scores")
    model = load_model(run, overrides)
    config, codec = model.recipe.evaluate, model.codec
    prepared = open_prepared(Path(model.recipe.prepared))
    texts = scored_texts(prepared, codec, config, Path(model.recipe.data.root), run)
    check_scoring(config, codec, [text.name for text in texts])
    about = settings_of(model)
    tell = (lambda line: None) if quiet else say
    for note in model.notes:
        say(note)
    for line in evaluation_notes(model, prepared, Run(run), name, about, texts):
        tell(line)
    placement = Placement()
    params = placement.replicated(model.params)
    translator = Translator(model.graph, codec, model.decode, placement)
    with progress("translating", "sentences", sum(len(text.sources) for text in texts)) as pace:

        def told(done: int, total: int) -> None:
            check()
            pace.reached(done)

        scores = evaluate_tests(
            lambda lines, facet, tell: translator.translate(params, lines, facet, tag=config.tag, tell=tell),
            texts,
            row_sizes(texts, prepared.reports),
            codec.cleaner,
            config,
            run / outcome_path(name),
            about=about,
            objective=model.recipe.schedule.objective,
            tell=lambda row, values: tell(f"{row}: BLEU {values['bleu']:.2f}, chrF {values['chrf']:.2f}"),
            progress=told,
        )
    if not quiet:
        print_scores(scores, run)
        print(run / outcome_path(name) / SCORES)
    return scores


def settings_of(model: TrainedModel) -> dict[str, Any]:
    """What makes the translations what they are; it goes into scores.json."""
    config = model.recipe.evaluate
    return {
        "steps": list(model.steps),
        "trained_steps": model.trained_steps,
        "decode": asdict(model.decode),
        "tag": config.tag,
        "preprocessed_references": config.preprocessed_references,
        "tokenisers": config.tokenisers,
    }


def evaluation_notes(
    model: TrainedModel,
    prepared: Prepared,
    run: Run,
    name: str,
    about: dict[str, Any],
    texts: list[ScoredText],
) -> list[str]:
    """What is about to be scored, and what has changed since the training and since the last scores."""
    steps = " and ".join(f"{step:,}" for step in model.steps)
    validated = {row["step"] for row in run.validation}
    why = "best by dev BLEU" if validated >= set(model.steps) else "no validation yet"
    notes = [f"scoring the checkpoint of step {steps} ({why}; trained to step {model.trained_steps:,})"]
    facets = {f"facet {facet.name}" for facet in model.codec.facets}
    if changed := sorted(
        key for key in facets if model.fingerprint.get(key) != prepared.fingerprint.get(key)
    ):
        notes.append(
            f"{prepared.directory} was prepared again after the run was trained "
            f"({', '.join(changed)} changed); the test text that is there now is scored"
        )
    before = run.outcomes().get(name)
    if before is not None and (other := differing(before, about, texts)):
        notes.append(
            f"{run.directory / outcome_path(name) / SCORES} is replaced by scores that are not comparable "
            f"with it ({'; '.join(other)}); use --name NAME to keep several"
        )
    return notes


def print_scores(scores: Scores, run: Path) -> None:
    """One row per facet and group, then the average; below, the signatures."""
    rows = {**scores["facets"], **{f"group {name}": row for name, row in scores["groups"].items()}}
    cells = [
        (name, f"{row['bleu']:.2f}", f"{row['chrf']:.2f}")
        for name, row in {**rows, "average": scores["average"]}.items()
    ]
    title = f"Test scores of {run}"
    print_table(("facet", "BLEU", "chrF"), cells, title=title, left=("facet",), bold=("average",))
    print_line(f"BLEU {scores['signature']['bleu']}")
    for name, signature in scores.get("signature_of", {}).items():
        print_line(f"BLEU of {name} {signature['bleu']}")


def translate_text(
    run: Path,
    facet: str | None,
    to: str | None,
    tag: str | None,
    n_best: int,
    scores: bool,
    errors: str,
    overrides: Sequence[str],
) -> None:
    """Standard input to standard output."""
    model = load_model(run, overrides)
    for note in model.notes:
        say(note)
    name = choose_facet(model.codec, facet, to, tag)
    decode = replace(model.decode, beam=max(model.decode.beam, n_best))
    placement = Placement()
    params = placement.replicated(model.params)
    translator = Translator(model.graph, model.codec, decode, placement)
    translate_standard_input(
        lambda lines: translator.n_best(params, lines, name, n_best, tag=tag),
        batch=decode.batch,
        keep=n_best,
        scores=scores,
        errors=errors,
    )
