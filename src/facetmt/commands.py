"""What the verbs do: the parts put together, and the words that people read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import yaml
from rich.console import Console
from rich.table import Table

from facetmt.data.prepare import Prepared, open_prepared
from facetmt.data.prepare import prepare as prepare_corpus
from facetmt.data.stats import stats
from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.runlog import REPORT, Run
from facetmt.train.display import prepare_progress
from facetmt.train.interrupt import EXIT_CODE
from facetmt.train.processes import Cluster, is_lead, joined
from facetmt.train.restore import load_model
from facetmt.train.run import train
from facetmt.translate.sets import check_groups


def prepare_recipe(path: Path, overrides: Sequence[str]) -> None:
    """Prepare, then say what the corpus is."""
    recipe = load_recipe(path, overrides)
    if recipe.data.facets is not None:  # otherwise they are known once they are found
        check_groups(recipe.evaluate, [*recipe.data.facets, *recipe.evaluate.sets])
    with prepare_progress() as progress:
        prepared = prepare_corpus(
            recipe.data, Path(recipe.data.root), Path(recipe.prepared), progress=progress
        )
    print_stats(prepared)


def verify_recipe(path: Path, overrides: Sequence[str]) -> None:
    """Compare what was prepared for the recipe with its hashes."""
    prepared = open_prepared(Path(load_recipe(path, overrides).prepared))
    size = prepared.verify()
    print(f"{len(prepared.facets)} facets, {size / 1e6:,.1f} MB: all as they were written")


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
    console = Console(markup=False)  # a facet may be called [bold]
    console.print(table)
    console.print(
        f"{whole.facets} facets, {whole.language_pairs} language pairs, {whole.pairs:,} training pairs, "
        f"entropy of the facet sizes {whole.entropy:.1f} % of its maximum"
    )


def train_recipe(
    path: Path, run: Path, resume: bool, overrides: Sequence[str], cluster: Cluster | None = None
) -> int:
    """Train; the exit code says whether it came to the end."""
    recipe = load_recipe(path, overrides)
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
) -> None:
    """Search, then show the trials as a table and a plot."""
    from facetmt.report.plots import trials_figure, write_figure
    from facetmt.train.tune import parse_grid, tune

    keys = parse_grid(grid)
    found = tune(recipe, out, keys, overrides, sampler=sampler, trials=trials, storage=storage, seed=seed)
    table = Table(title="Trials, best first")
    for column in (*keys, "dev BLEU", "state", "run"):
        table.add_column(column, justify="right" if column == "dev BLEU" else "left")
    for trial in found:
        score = "–" if trial.score is None else f"{trial.score:.2f}"
        table.add_row(*(str(trial.settings.get(key, "–")) for key in keys), score, trial.state, trial.run)
    Console(markup=False).print(table)
    rows = [(trial.settings, trial.score) for trial in found if trial.score is not None]
    write_figure(trials_figure(list(keys), rows), out / "trials.html")
    print(f"Plot: {out / 'trials.html'}")


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
        key, separator, value = word.partition("=")
        if not separator:
            raise UserError(f"--set {word}: write it as key=value, such as --set policy=exp3s")
        changes[key.removeprefix("schedule.")] = yaml.safe_load(value)
    print(replay_text(replay(run, **changes)))
