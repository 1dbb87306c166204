"""What the verbs do: the parts put together, and the words that people read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from facetmt.data.prepare import prepare as prepare_corpus
from facetmt.data.prepared import Prepared, open_prepared
from facetmt.data.stats import losses, stats
from facetmt.errors import UserError
from facetmt.recipe import check_lengths, load_recipe, split_setting
from facetmt.runlog import REPORT, Run
from facetmt.train.display import prepare_progress
from facetmt.train.interrupt import EXIT_CODE, Interrupt
from facetmt.train.processes import Cluster, is_first_process, joined
from facetmt.train.restore import load_model
from facetmt.train.run import train
from facetmt.translate.sets import check_groups


def prepare_recipe(path: Path, overrides: Sequence[str], *, overwrite: bool = False) -> None:
    """Prepare, then say what the corpus is."""
    recipe = load_recipe(path, overrides)
    if recipe.data.facets is not None:  # otherwise they are known once they are found
        check_groups(recipe.evaluate, [*recipe.data.facets, *recipe.evaluate.sets])
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
        speaks = is_first_process()
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


def get_data(task: str, out: Path) -> None:
    """Fetch, and say what came."""
    from facetmt.fetch.get import get

    with prepare_progress() as progress:
        fetched = get(task, out, progress)
    for name, sha256 in fetched.items():
        print(f"{name}  sha256 {sha256}")


def filter_text(
    run: Path,
    trusted: tuple[Path, Path],
    out: Path,
    facet: str | None,
    keep: float,
    rank: Literal["across", "within"],
    stages: int,
    steps: int,
) -> int:
    """Choose training text by contrastive data selection; the exit code."""
    from facetmt.scoring import print_notes
    from facetmt.select.trusted import FilterConfig
    from facetmt.select.verbs import filter_run

    try:
        config = FilterConfig(keep=keep, rank=rank, stages=stages, steps=steps)
    except ValueError as error:
        raise UserError(str(error)) from None
    with Interrupt() as interrupt:
        model = load_model(run)
        print_notes(model)
        bleu = {row["step"]: row["bleu"]["average"] for row in Run(run).validation}.get(model.steps[0])
        return filter_run(run, model, bleu, trusted, facet, config, out, interrupt.check)


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
    """Write the page, serve it, or write the figures; say what the page warns of."""
    from facetmt.report.comparable import caveats, sentences
    from facetmt.report.figures import write_figures
    from facetmt.report.page import write_report
    from facetmt.report.page.serve import watch as serve
    from facetmt.runlog import Run

    if watch:
        serve(runs, port)
        return
    print(write_report(runs, out or runs[0] / REPORT))
    for line in sentences(caveats([Run(run) for run in runs])):
        print(f"careful: {line}", file=sys.stderr)
    if figures is not None:
        for path in write_figures(runs, figures):
            print(path)


def write_card(run: Path, out: Path | None) -> None:
    from facetmt.report.card import model_card

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
