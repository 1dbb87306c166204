"""What the verbs do: the parts put together, and the words that people read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from facetmt.data.prepare import Prepared, open_prepared
from facetmt.data.prepare import prepare as prepare_corpus
from facetmt.data.stats import losses, stats
from facetmt.errors import UserError
from facetmt.recipe import check_lengths, load_recipe, split_setting
from facetmt.runlog import REPORT
from facetmt.train.display import prepare_progress
from facetmt.train.interrupt import EXIT_CODE
from facetmt.train.place import Placement
from facetmt.train.processes import Cluster, is_lead, joined
from facetmt.train.restore import TrainedModel, load_model
from facetmt.train.run import train
from facetmt.translate.evaluate import Scores
from facetmt.translate.stream import choose_facet, translate_stream
from facetmt.translate.testsets import evaluate_tests
from facetmt.translate.translate import Translator


def prepare_recipe(path: Path, overrides: Sequence[str], *, overwrite: bool = False) -> None:
    """Prepare, then say what the corpus is."""
    recipe = load_recipe(path, overrides)
    check_lengths(recipe)
    with prepare_progress() as progress:
        prepared = prepare_corpus(
            recipe.data,
            Path(recipe.data.root),
            Path(recipe.prepared),
            progress=progress,
            overwrite=overwrite,
        )
    print_stats(prepared)
    for warning in losses(prepared):
        print(f"warning: {warning}", file=sys.stderr)


def verify_recipe(path: Path, overrides: Sequence[str]) -> None:
    """Compare what was prepared for the recipe with its hashes."""
    prepared = open_prepared(Path(load_recipe(path, overrides).prepared))
    size = prepared.verify()
    print(f"{len(prepared.facets)} facets, {size / 1e6:,.1f} MB: all as they were written")


def print_stats(prepared: Prepared) -> None:
    """The paper's table of corpora, with a row per facet, and below it what was dropped and why."""
    whole, rows = stats(prepared)
    table = Table()
    for column in ("facet", "pair", "train", "source tokens", "target tokens", "dev", "test"):
        table.add_column(column, justify="left" if column in ("facet", "pair") else "right")
    for row in rows:
        counts = (row.pairs, row.source_tokens, row.target_tokens, row.dev_pairs, row.test_pairs)
        pair = f"{row.source_language}-{row.target_language}"
        table.add_row(row.name, pair, *(f"{count:,}" for count in counts))
    console = Console(markup=False, highlight=False)  # a facet may be called [bold]
    console.print(table)
    for row in rows:
        for split, reasons in row.dropped.items():
            told = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
            console.print(f"dropped from {row.name}, {split}: {told}", soft_wrap=True)
    console.print(
        f"{whole.facets} facets, {whole.language_pairs} language pairs, {whole.pairs:,} training pairs, "
        f"entropy of the facet sizes {whole.entropy:.1f} % of its maximum",
        soft_wrap=True,
    )


def train_recipe(
    path: Path, run: Path, resume: bool, overrides: Sequence[str], cluster: Cluster | None = None
) -> int:
    """Train; the exit code says whether it came to the end."""
    recipe = load_recipe(path, overrides)
    check_lengths(recipe)
    with joined(cluster):
        outcome = train(recipe, run, resume=resume)
        speaks = is_lead()
    if not outcome.finished:
        print(
            f"stopped at step {outcome.step:,}; everything is saved: continue with --resume", file=sys.stderr
        )
        return EXIT_CODE
    if outcome.best is not None and speaks:
        print(
            f"best dev BLEU {outcome.best[0]:.2f} at step {outcome.best[1]:,}; next: facetmt evaluate {run}"
        )
    return 0


def evaluate_run(run: Path, overrides: Sequence[str], *, quiet: bool = False) -> Scores:
    """Translate and score every test set, and print the table."""
    model = load_model(run, overrides)
    print_notes(model)
    placement = Placement()
    params = placement.replicated(model.params)
    translator = Translator(model.graph, model.codec, model.recipe.decode, placement)
    config = model.recipe.evaluate

    def tell(facet: str, values: dict[str, float]) -> None:
        if not quiet:
            print(
                f"{facet}: BLEU {values['bleu']:.2f}, chrF {values['chrf']:.2f}", file=sys.stderr, flush=True
            )

    scores = evaluate_tests(
        lambda lines, facet: translator.translate(params, lines, facet, tag=config.tag),
        open_prepared(Path(model.recipe.prepared)),
        config,
        model.recipe.decode,
        run,
        root=Path(model.recipe.data.root),
        steps=model.steps,
        tell=tell,
    )
    if not quiet:
        print_scores(scores, run)
    return scores


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
    name = choose_facet(model.codec, facet, to)
    decode = replace(model.recipe.decode, beam=max(model.recipe.decode.beam, n_best))
    placement = Placement()
    params = placement.replicated(model.params)
    translator = Translator(model.graph, model.codec, decode, placement)
    translate_stream(
        lambda lines: translator.n_best(params, lines, name, n_best, tag=tag),
        sys.stdin.buffer,
        sys.stdout,
        chunk=1 if sys.stdin.isatty() else 8 * decode.batch,
        keep=n_best,
        scores=scores,
        errors=errors,
    )


def get_data(task: str, out: Path) -> None:
    """Fetch, and say what came."""
    from facetmt.data.get import get

    with prepare_progress() as progress:
        fetched = get(task, out, progress)
    for name, sha256 in fetched.items():
        print(f"{name}  sha256 {sha256}")


def label_text(
    models: Path,
    natural: Path | None,
    translated: Path | None,
    text: Path | None,
    out: Path | None,
    gold: Path | None,
    steps: int,
    vocab: int,
) -> None:
    """Train the two language models where text for them is given; label where a text is given."""
    from facetmt.data.vocab import VocabConfig
    from facetmt.select.translationese import LabelConfig, agreement, label_file, load_labeller, train_models

    if (natural is None) != (translated is None) or (text is None) != (out is None):
        raise UserError("give --natural with --translated to train, and --text with --out to label")
    if natural is None and text is None:
        raise UserError("nothing to do: give --natural and --translated, or --text and --out, or all four")
    if natural is not None and translated is not None:
        config = LabelConfig(steps=steps, vocab=VocabConfig(size=vocab, exact=False))
        train_models((natural, translated), models, config, lambda line: print(line, file=sys.stderr))
    if text is not None and out is not None:
        shares = label_file(load_labeller(models), text, out)
        print(", ".join(f"{share:.1%} {name}" for name, share in shares.items()))
        if gold is not None:
            print(f"agreement with {gold}: {agreement(out, gold):.1%}")


def filter_text(
    run: Path, trusted: tuple[Path, Path], out: Path, keep: float, stages: int, steps: int
) -> None:
    """Fine-tune on the trusted text, score the training text, write the keep files."""
    from facetmt.select import cds

    def tell(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    model = load_model(run)
    try:
        config = cds.FilterConfig(keep=keep, stages=stages, steps=steps)
    except ValueError as error:
        raise UserError(str(error)) from None
    texts = cds.training_texts(model.recipe.data)
    sentences = cds.trusted_sentences(*trusted, model.codec, model.codec.facets[0].name)
    params = cds.fine_tuned(model, sentences, config, tell)
    for facet, share in cds.filter_corpus(model, texts, params, out, config, tell).items():
        print(f"{facet}: {share:.1%} kept")


def tune_recipe(
    recipe: Path,
    out: Path,
    grid: Sequence[str],
    sampler: Literal["grid", "tpe"],
    trials: int | None,
    storage: str | None,
    seed: int,
    overrides: Sequence[str],
) -> int:
    """Search, then show the settings as a table and a page; the exit code says whether a signal stopped it."""
    from facetmt.report.study import Tried, write_study
    from facetmt.train.tune import parse_grid, tune

    keys = parse_grid(grid)
    found, finished = tune(
        recipe,
        out,
        keys,
        overrides,
        sampler=sampler,
        trials=trials,
        storage=storage,
        seed=seed,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    table = Table(title="Settings, best first")
    for column in (*keys, "dev BLEU", "state", "run"):
        table.add_column(column, justify="right" if column == "dev BLEU" else "left")
    for trial in found:
        score = "–" if trial.score is None else f"{trial.score:.2f}"
        table.add_row(*(str(trial.settings[key]) for key in keys), score, trial.state, trial.run)
    Console(markup=False).print(table)
    rows = [Tried(trial.settings, trial.score, trial.state, out / trial.run) for trial in found]
    print(f"Page: {write_study(list(keys), rows, out / 'trials.html')}")
    if not finished:
        print("stopped; everything is saved: call it again to go on", file=sys.stderr)
        return EXIT_CODE
    if failed := [trial for trial in found if trial.error is not None]:
        raise UserError(f"{len(failed)} settings failed, the first, {failed[0].run}: {failed[0].error}")
    return 0


def report_runs(runs: Sequence[Path], out: Path | None, watch: bool, port: int, figures: Path | None) -> None:
    """Write the page, serve it, or write the figures."""
    from facetmt.report.figures import write_figures
    from facetmt.report.page import write_report
    from facetmt.report.serve import watch as serve

    if watch:
        serve(runs, port)
        return
    print(write_report(runs, out or runs[0] / REPORT))
    if figures is not None:
        for path in write_figures(runs, figures):
            print(path)


def write_card(run: Path, out: Path | None) -> None:
    from facetmt.report.card import model_card
    from facetmt.runlog import Run

    text = model_card(Run(run))
    if out is None:
        print(text)
    else:
        out.write_text(text, encoding="utf-8")
        print(out)


def replay_run(run: Path, settings: Sequence[str]) -> None:
    from facetmt.report.replay import replay, replay_text

    changes = {}
    for word in settings:
        key, value = split_setting(word, f"--set {word}", "--set policy=exp3s")
        changes[key.removeprefix("schedule.")] = value
    print(replay_text(replay(run, **changes)))
