"""The verbs that use a trained model on text: evaluate and translate."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from facetmt.data.names import check_name
from facetmt.data.prepared import Prepared, open_prepared
from facetmt.runlog import SCORES, Run, outcome_path
from facetmt.train.display import work_progress
from facetmt.train.place import Placement
from facetmt.train.restore import TrainedModel, load_model
from facetmt.translate.evaluate import Scores
from facetmt.translate.sets import ScoredText, check_scoring, row_sizes, scored_texts
from facetmt.translate.stream import choose_facet, translate_stream
from facetmt.translate.testsets import differing, evaluate_tests
from facetmt.translate.translate import Translator


def evaluate_run(run: Path, overrides: Sequence[str], name: str = "", *, quiet: bool = False) -> Scores:
    """Translate and score every test set, and print the table; `name` keeps the outcome apart from the plain one."""
    if name:
        check_name(name, "set of scores")
    model = load_model(run, overrides)
    config, codec = model.recipe.evaluate, model.codec
    prepared = open_prepared(Path(model.recipe.prepared))
    texts = scored_texts(prepared, codec, config, Path(model.recipe.data.root), run)
    check_scoring(config, codec, [text.name for text in texts])
    about = {
        "steps": list(model.steps),
        "trained_steps": model.trained_steps,
        "decode": asdict(model.decode),
        "tag": config.tag,
        "preprocessed_references": config.preprocessed_references,
        "tokenisers": config.tokenisers,
    }

    def say(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr, flush=True)

    print_notes(model)
    for line in evaluation_notes(model, prepared, Run(run), name, about, texts):
        say(line)
    placement = Placement()
    params = placement.replicated(model.params)
    translator = Translator(model.graph, codec, model.decode, placement)
    with work_progress("translating", "sentences") as worked:
        scores = evaluate_tests(
            lambda lines, facet, tell: translator.translate(params, lines, facet, tag=config.tag, tell=tell),
            texts,
            row_sizes(texts, prepared.reports),
            codec.cleaner,
            config,
            run / outcome_path(name),
            about=about,
            tell=lambda row, values: say(f"{row}: BLEU {values['bleu']:.2f}, chrF {values['chrf']:.2f}"),
            progress=lambda done, total: worked(done, done / total),
        )
    if not quiet:
        print_scores(scores, run)
        print(run / outcome_path(name) / SCORES)
    return scores


def evaluation_notes(
    model: TrainedModel,
    prepared: Prepared,
    run: Run,
    name: str,
    about: dict[str, Any],
    texts: list[ScoredText],
) -> list[str]:
    """What is about to be scored, and what changed since the training and since the last scores."""
    steps = " and ".join(f"{step:,}" for step in model.steps)
    validated = {row["step"] for row in run.validation}
    why = "best by dev BLEU" if validated >= set(model.steps) else "no validation yet"
    notes = [f"scoring the checkpoint of step {steps} ({why}; trained to step {model.trained_steps:,})"]
    facets = {f"facet {facet.name}" for facet in model.codec.facets}
    if changed := sorted(
        key for key in facets if model.fingerprint.get(key) != prepared.fingerprint.get(key)
    ):
        notes.append(
            f"{prepared.directory} was prepared again since the run was trained ({', '.join(changed)} changed); "
            "the test text is that which is there now"
        )
    before = run.outcomes().get(name)
    if before is not None and (other := differing(before, about, texts)):
        notes.append(
            f"{run.directory / outcome_path(name) / SCORES} is replaced by scores that differ from it in more than "
            f"value ({'; '.join(other)}); use --name NAME to keep several"
        )
    return notes


def print_notes(model: TrainedModel) -> None:
    for note in model.notes:
        print(f"{note}; using step {model.steps[0]:,}", file=sys.stderr)


def print_scores(scores: Scores, run: Path) -> None:
    table = Table(title=f"Test scores of {run}")
    for column in ("facet", "BLEU", "chrF"):
        table.add_column(column, justify="left" if column == "facet" else "right")
    rows = {**scores["facets"], **{f"group {name}": row for name, row in scores["groups"].items()}}
    for name, row in {**rows, "average": scores["average"]}.items():
        table.add_row(
            name, f"{row['bleu']:.2f}", f"{row['chrf']:.2f}", style="bold" if name == "average" else None
        )
    console = Console(markup=False)  # a facet may be called [bold]
    console.print(table)
    console.print(f"BLEU {scores['signature']['bleu']}", highlight=False)
    for name, signature in scores.get("signature_of", {}).items():
        console.print(f"BLEU of {name} {signature['bleu']}", highlight=False)


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
    print_notes(model)
    name = choose_facet(model.codec, facet, to, tag)
    decode = replace(model.decode, beam=max(model.decode.beam, n_best))
    placement = Placement()
    params = placement.replicated(model.params)
    translator = Translator(model.graph, model.codec, decode, placement)
    size = regular_size(sys.stdin.fileno())
    with work_progress("translating", "lines", bar=False) as worked:
        translate_stream(
            lambda lines: translator.n_best(params, lines, name, n_best, tag=tag),
            sys.stdin.buffer,
            sys.stdout,
            chunk=1 if sys.stdin.isatty() else 8 * decode.batch,
            keep=n_best,
            scores=scores,
            errors=errors,
            # on a terminal the translations themselves show how far it is
            tell=lambda done: (
                None
                if sys.stdout.isatty()
                else worked(done, sys.stdin.buffer.tell() / size if size else None)
            ),
        )


def regular_size(descriptor: int) -> int | None:
    """Bytes of an open file; None where it is a pipe or a terminal."""
    status = os.fstat(descriptor)
    return status.st_size if stat.S_ISREG(status.st_mode) else None
