"""The verbs. Everything heavy is imported inside its verb, so that `facetmt --help` is instant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from facetmt.cli_data import Overrides, RecipePath, RunPath, data_app, prepare
from facetmt.cli_runs import card, compare, diagnose, replay, report, transfer
from facetmt.cli_study import study
from facetmt.errors import UserError

app = typer.Typer(
    help="Machine translation training in which a bandit decides what to train on next.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
demo_app = typer.Typer(help="See it work on generated data.")
app.add_typer(demo_app, name="demo")
app.command()(prepare)
app.command()(study)
app.add_typer(data_app, name="data")


def _version(asked: bool) -> None:
    if asked:
        from facetmt import __version__

        typer.echo(__version__)
        raise typer.Exit


COMPILES = ("train", "evaluate", "translate", "export", "label", "filter", "tune", "demo")


@app.callback()
def facetmt(
    context: typer.Context,
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand in COMPILES:
        from facetmt.compiled import kept

        context.with_resource(kept())


@demo_app.callback(invoke_without_command=True)
def demo(
    context: typer.Context,
    out: Annotated[Path, Option(help="Folder for corpus, runs and report.")] = Path("demo"),
    steps: Annotated[int | None, Option(min=6, help="Updates per system.")] = None,
) -> None:
    """Train the mixed baseline and the bandit on a generated German-English corpus, and report on both."""
    if context.invoked_subcommand is None:
        from facetmt.demo.run import translation_demo

        translation_demo(out, steps=steps)


@demo_app.command("bandit")
def demo_bandit(
    out: Annotated[Path, Option(help="Folder for the plot.")] = Path("demo-bandit"),
    steps: Annotated[int, Option(min=1, help="Number of batches to train on.")] = 4000,
    seed: Annotated[int, Option(help="Seed of the data and of the draws.")] = 1,
) -> None:
    """The bandit alone teaches a linear classifier from four facets, one of them noise."""
    from facetmt.demo.run import bandit_demo

    bandit_demo(out, steps=steps, seed=seed)


@app.command()
def train(
    recipe: RecipePath,
    run: Annotated[Path, Option("--run", help="Directory for logs and checkpoints.")],
    resume: Annotated[bool, Option("--resume", help="Continue the run in that directory.")] = False,
    overrides: Overrides = None,
    distributed: Annotated[
        bool, Option("--distributed", help="One of many processes under Slurm, MPI, Kubernetes, TPU.")
    ] = False,
    coordinator: Annotated[
        str | None, Option(metavar="HOST:PORT", help="Elsewhere: address where process 0 listens.")
    ] = None,
    processes: Annotated[int | None, Option(min=1, help="Number of processes.")] = None,
    process: Annotated[int | None, Option(min=0, help="Number of this process, from 0.")] = None,
) -> None:
    """Train a model; the recipe's schedule decides what each batch is made of."""
    from facetmt.console import say
    from facetmt.recipe import check_settings, load_recipe
    from facetmt.train.interrupt import EXIT_CODE
    from facetmt.train.processes import Cluster, is_first_process, one_of_many
    from facetmt.train.run import train as train_model

    several = distributed or (coordinator, processes, process) != (None, None, None)
    cluster = Cluster(coordinator, processes, process) if several else None
    loaded = load_recipe(recipe, overrides or [])
    check_settings(loaded)
    with one_of_many(cluster):
        outcome = train_model(loaded, run, resume=resume)
        first = is_first_process()
    if not outcome.finished:
        say(f"stopped at step {outcome.step:,}; everything is saved: continue with --resume")
        raise typer.Exit(EXIT_CODE)
    if outcome.best is not None and first:
        bleu, step = outcome.best
        typer.echo(f"best dev BLEU {bleu:.2f} at step {step:,}; next: facetmt evaluate {run}")


@app.command()
def evaluate(
    run: RunPath,
    name: Annotated[str, Option(help="Keep these scores apart, in RUN/outcomes/NAME.")] = "",
    overrides: Overrides = None,
) -> None:
    """Translate and score the test set of every facet; writes scores.json."""
    from facetmt.train.apply import evaluate_run

    evaluate_run(run, overrides or [], name)


@app.command()
def translate(
    run: RunPath,
    facet: Annotated[str | None, Option(help="Facet whose languages and tags to use.")] = None,
    to: Annotated[str | None, Option(help="Target language, if there are several.")] = None,
    tag: Annotated[str | None, Option(help="Facet whose tag to put on every line instead.")] = None,
    n_best: Annotated[int, Option(min=1, help="Hypotheses per line, separated by tabs.")] = 1,
    scores: Annotated[bool, Option("--scores", help="Put its score before each hypothesis.")] = False,
    errors: Annotated[
        Literal["strict", "replace"], Option(help="Refuse or replace invalid UTF-8.")
    ] = "strict",
    engine: Annotated[
        Literal["facetmt", "ctranslate2"], Option(help="What searches; RUN may also be an export.")
    ] = "facetmt",
    quantization: Annotated[str, Option(help="Type of the weights, with --engine ctranslate2.")] = "float32",
    overrides: Overrides = None,
) -> None:
    """Translate standard input to standard output, one line out for each line in."""
    if engine == "ctranslate2":
        from facetmt.export import serve

        serve.translate_text(run, facet, to, tag, n_best, scores, errors, quantization, overrides or [])
        return
    from facetmt.export.folder import is_export

    if is_export(run):
        raise UserError(f"{run} is an export; add --engine ctranslate2, or name a run")
    if quantization != "float32":
        raise UserError("--quantization is for --engine ctranslate2; leave it out")
    from facetmt.train.apply import translate_text

    translate_text(run, facet, to, tag, n_best, scores, errors, overrides or [])


@app.command()
def export(
    run: RunPath,
    to: Annotated[Literal["ctranslate2", "safetensors"], Option(help="Format.")],
    out: Annotated[Path, Option(help="Folder to write; it must not exist yet.")],
    quantization: Annotated[
        str, Option(help="Type of the weights: float32, float16, bfloat16, int16, int8.")
    ] = "float32",
    overrides: Overrides = None,
) -> None:
    """Write the best model of a run for another engine, with its vocabulary and a README."""
    from facetmt.console import say
    from facetmt.export.run import export_run

    for line in export_run(run, to, out, quantization, overrides or []):
        say(line)


@app.command()
def label(
    models: Annotated[Path, Option(help="Folder of the two language models.")],
    natural: Annotated[Path | None, Option(help="Text written in the language; trains the models.")] = None,
    translated: Annotated[Path | None, Option(help="Text translated into the language.")] = None,
    text: Annotated[
        list[Path] | None, Option(help="Text to label, one sentence per line; may be repeated.")
    ] = None,
    out: Annotated[list[Path] | None, Option(help="Label file for each --text, such as train.facet.")] = None,
    gold: Annotated[Path | None, Option(help="Known labels of the text, to compare with.")] = None,
    steps: Annotated[int, Option(min=1, help="Updates per model.")] = 2000,
    vocab: Annotated[
        int, Option(min=100, help="Number of subwords, fewer if the text does not support as many.")
    ] = 8000,
) -> None:
    """Label each sentence natural or translationese, by two language models of the target language."""
    from facetmt.data.config import VocabConfig
    from facetmt.select.language_models import LabelConfig
    from facetmt.select.translationese import label as label_texts

    config = LabelConfig(steps=steps, vocab=VocabConfig(size=vocab, exact=False))
    raise typer.Exit(label_texts(models, natural, translated, text or [], out or [], gold, config))


@app.command("filter")
def filter_(
    run: RunPath,
    out: Annotated[Path, Option(help="Folder for the keep files, such as the corpus itself.")],
    by: Annotated[
        Literal["cds", "source-use"],
        Option(help="Likelier after fine-tuning on trusted text, or dependent on its own source."),
    ] = "cds",
    keep: Annotated[
        str, Option(help="Share of the pairs to keep; auto: as estimated by source-use.")
    ] = "0.7",
    rank: Annotated[
        Literal["across", "within"], Option(help="Rank pairs across all facets, or within each.")
    ] = "across",
    trusted: Annotated[
        tuple[Path, Path] | None, Option(help="For cds: trusted text, source and target file.")
    ] = None,
    facet: Annotated[
        str | None, Option(help="For cds: facet whose languages and tags the trusted text has.")
    ] = None,
    stages: Annotated[
        int | None, Option(min=1, help="For cds: largest number of fine-tuning stages; default: 5.")
    ] = None,
    steps: Annotated[int | None, Option(min=1, help="For cds: updates per stage; default: 50.")] = None,
    others: Annotated[
        int | None, Option(min=2, help="For source-use: other sources to compare with; default: 6.")
    ] = None,
) -> None:
    """Find noise: keep the pairs that score best by contrastive data selection, or by source use."""
    from facetmt.select.filter import filter_corpus, way
    from facetmt.select.keep import KeepConfig, share_or_auto

    config = KeepConfig(share_or_auto(keep), rank)
    chosen = way(by, trusted, facet, stages, steps, others, config.keep)
    raise typer.Exit(filter_corpus(run, chosen, config, out))


@app.command()
def tune(
    recipe: RecipePath,
    out: Annotated[Path, Option(help="Folder for the study and its runs.")],
    grid: Annotated[
        list[str] | None, Option(metavar="KEY=A,B,C", help="Values to try for a key; may be repeated.")
    ] = None,
    sampler: Annotated[
        Literal["grid", "tpe"], Option(help="Try every point, or let a sampler choose.")
    ] = "grid",
    trials: Annotated[int | None, Option(min=1, help="Largest number of trials of this call.")] = None,
    storage: Annotated[str | None, Option(help="Database URL, for several machines.")] = None,
    seed: Annotated[int, Option(help="Seed of the sampler.")] = 1,
    overrides: Overrides = None,
) -> None:
    """Search keys of a recipe, by default the paper's grid over μ and γ; call it again to continue."""
    from facetmt.console import say
    from facetmt.report.trials import Tried, write_trials
    from facetmt.train.trials import exit_code, parse_grid, print_trials
    from facetmt.train.tune import tune as search

    keys, changes = parse_grid(grid or []), overrides or []
    found, finished = search(
        recipe, out, keys, changes, sampler=sampler, trials=trials, storage=storage, seed=seed, tell=say
    )
    print_trials(list(keys), found)
    rows = [Tried(trial.settings, trial.score, trial.state, out / trial.run) for trial in found]
    typer.echo(f"Page: {write_trials(list(keys), rows, out / 'trials.html')}")
    raise typer.Exit(exit_code(found, finished))


for verb in (compare, report, card, replay, transfer, diagnose):
    app.command()(verb)


def main() -> None:
    """Entry point: a user's mistake is one sentence and exit code 2, never a traceback."""
    try:
        app()
    except UserError as error:
        sys.stderr.write(f"facetmt: {error}\n")  # in one write, whatever other threads may print
        sys.exit(2)
