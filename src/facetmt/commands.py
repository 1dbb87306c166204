"""What the verbs do: the parts put together, and the words that people read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from facetmt.data.prepare import Prepared, open_prepared
from facetmt.data.prepare import prepare as prepare_corpus
from facetmt.data.stats import stats
from facetmt.recipe import load_recipe
from facetmt.train.display import prepare_progress
from facetmt.train.interrupt import EXIT_CODE
from facetmt.train.restore import load_model
from facetmt.train.run import train
from facetmt.translate.evaluate import Scores
from facetmt.translate.stream import choose_facet, translate_stream
from facetmt.translate.testsets import evaluate_tests
from facetmt.translate.translate import Translator


def prepare_recipe(path: Path, overrides: Sequence[str]) -> None:
    """Prepare, then say what the corpus is."""
    recipe = load_recipe(path, overrides)
    with prepare_progress() as progress:
        prepared = prepare_corpus(
            recipe.data, Path(recipe.data.root), Path(recipe.prepared), progress=progress
        )
    print_stats(prepared)


def print_stats(prepared: Prepared) -> None:
    """The paper's table of corpora, with a row a facet."""
    whole, rows = stats(prepared)
    table = Table()
    for column in ("facet", "pair", "train", "source tokens", "target tokens", "dev", "test", "dropped"):
        table.add_column(column, justify="left" if column in ("facet", "pair", "dropped") else "right")
    for row in rows:
        counts = (row.pairs, row.source_tokens, row.target_tokens, row.dev_pairs, row.test_pairs)
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in row.dropped.items() if count) or "–"
        pair = f"{row.source_language}-{row.target_language}"
        table.add_row(row.name, pair, *(f"{count:,}" for count in counts), dropped)
    console = Console()
    console.print(table)
    console.print(
        f"{whole.facets} facets, {whole.language_pairs} language pairs, {whole.pairs:,} training pairs, "
        f"entropy of the facet sizes {whole.entropy:.1f} % of its maximum"
    )


def train_recipe(path: Path, run: Path, resume: bool, overrides: Sequence[str]) -> int:
    """Train; the exit code says whether it came to the end."""
    outcome = train(load_recipe(path, overrides), run, resume=resume)
    if not outcome.finished:
        print(
            f"stopped at step {outcome.step:,}; everything is saved: continue with --resume", file=sys.stderr
        )
        return EXIT_CODE
    if outcome.best is not None:
        print(
            f"best dev BLEU {outcome.best[0]:.2f} at step {outcome.best[1]:,}; next: facetmt evaluate {run}"
        )
    return 0


def evaluate_run(run: Path, overrides: Sequence[str], *, quiet: bool = False) -> Scores:
    """Translate and score every test set, and print the table."""
    model = load_model(run, overrides)
    translator = Translator(model.graph, model.codec, model.recipe.decode)
    config = model.recipe.evaluate

    def tell(facet: str, values: dict[str, float]) -> None:
        if not quiet:
            print(
                f"{facet}: BLEU {values['bleu']:.2f}, chrF {values['chrf']:.2f}", file=sys.stderr, flush=True
            )

    scores = evaluate_tests(
        lambda lines, facet: translator.translate(model.params, lines, facet, tag=config.tag),
        open_prepared(Path(model.recipe.prepared)),
        config,
        model.recipe.decode,
        run,
        steps=model.steps,
        tell=tell,
    )
    if not quiet:
        print_scores(scores, run)
    return scores


def print_scores(scores: Scores, run: Path) -> None:
    table = Table(title=f"Test scores of {run}")
    for column in ("facet", "BLEU", "chrF"):
        table.add_column(column, justify="left" if column == "facet" else "right")
    rows = {**scores["facets"], **{f"group {name}": row for name, row in scores["groups"].items()}}
    for name, row in {**rows, "average": scores["average"]}.items():
        table.add_row(
            name, f"{row['bleu']:.2f}", f"{row['chrf']:.2f}", style="bold" if name == "average" else None
        )
    console = Console()
    console.print(table)
    console.print(f"BLEU {scores['signature']['bleu']}", highlight=False)


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
    name = choose_facet(model.codec, facet, to)
    decode = replace(model.recipe.decode, beam=max(model.recipe.decode.beam, n_best))
    translator = Translator(model.graph, model.codec, decode)
    translate_stream(
        lambda lines: translator.n_best(model.params, lines, name, tag=tag),
        sys.stdin.buffer,
        sys.stdout,
        chunk=1 if sys.stdin.isatty() else 8 * decode.batch,
        keep=n_best,
        scores=scores,
        errors=errors,
    )
