"""The verbs. Everything heavy is imported inside its verb, so that `facetmt --help` is instant."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from facetmt.errors import UserError

app = typer.Typer(
    help="Machine translation training in which a bandit decides what to train on next.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
demo_app = typer.Typer(help="See it work on data that facetmt makes itself.")
data_app = typer.Typer(help="Look at corpora.", no_args_is_help=True)
app.add_typer(demo_app, name="demo")
app.add_typer(data_app, name="data")


class Sampler(StrEnum):
    GRID = "grid"
    TPE = "tpe"


class TableFormat(StrEnum):
    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"


class Metric(StrEnum):
    BLEU = "bleu"
    CHRF = "chrf"


class Rank(StrEnum):
    ACROSS = "across"
    WITHIN = "within"


class Utf8Errors(StrEnum):
    STRICT = "strict"
    REPLACE = "replace"


def _version(asked: bool) -> None:
    if asked:
        from facetmt import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def facetmt(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


@demo_app.callback(invoke_without_command=True)
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for corpus, runs and report.")] = Path("demo"),
    steps: Annotated[int | None, typer.Option(min=6, help="Updates of each system.")] = None,
) -> None:
    """Train the mixed baseline and the bandit on a generated German-English corpus; ends with a report."""
    if context.invoked_subcommand is None:
        from facetmt.demo.run import translation_demo

        translation_demo(out, steps=steps)


@demo_app.command("bandit")
def demo_bandit(
    out: Annotated[Path, typer.Option(help="Folder for the plot.")] = Path("demo-bandit"),
    steps: Annotated[int, typer.Option(min=1, help="Batches to train on.")] = 4000,
    seed: Annotated[int, typer.Option(help="Seed of data and draws.")] = 1,
) -> None:
    """The bandit alone, teaching a linear classifier from four facets, one of them noise."""
    from facetmt.demo.run import bandit_demo

    bandit_demo(out, steps=steps, seed=seed)


RecipePath = Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe (YAML); see docs/recipes.md.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, as `train --run` made it.")]
RunPaths = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Run directories, the baseline first.")
]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key: --set train.steps=1000")
]


@app.command()
def prepare(
    recipe: RecipePath,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what was prepared with other settings.")
    ] = False,
    overrides: Overrides = None,
) -> None:
    """Read, clean and encode the corpus; a second call does only what changed."""
    from facetmt.commands import prepare_recipe

    prepare_recipe(recipe, overrides or [], overwrite=overwrite)


@data_app.command("stats")
def data_stats(recipe: RecipePath, overrides: Overrides = None) -> None:
    """Sizes, tokens and imbalance of the facets, and what was dropped and why."""
    from facetmt.commands import prepare_recipe

    prepare_recipe(recipe, overrides or [])


@data_app.command("verify")
def data_verify(recipe: RecipePath, overrides: Overrides = None) -> None:
    """Read all that was prepared and compare it with its hashes: after a copy, or a doubtful disk."""
    from facetmt.commands import verify_recipe

    verify_recipe(recipe, overrides or [])


@data_app.command("get")
def data_get(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="multidomain, ted, opus100, wmt, wmt14 or newscrawl.")
    ],
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the text.")],
) -> None:
    """Fetch the public text of one of the paper's tasks."""
    from facetmt.commands import get_data

    get_data(task, out)


@app.command()
def train(
    recipe: RecipePath,
    run: Annotated[Path, typer.Option("--run", help="Directory for logs and checkpoints.")],
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that directory.")] = False,
    overrides: Overrides = None,
    distributed: Annotated[
        bool, typer.Option("--distributed", help="One of many processes, under Slurm, MPI, Kubernetes, TPU.")
    ] = False,
    coordinator: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Elsewhere: where process 0 awaits the others.")
    ] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="Their number.")] = None,
    process: Annotated[int | None, typer.Option(min=0, help="Which one this is, from 0.")] = None,
) -> None:
    """Train a model; the recipe's schedule decides what each batch is made of."""
    from facetmt.commands import train_recipe
    from facetmt.train.processes import Cluster

    several = distributed or (coordinator, processes, process) != (None, None, None)
    cluster = Cluster(coordinator, processes, process) if several else None
    raise typer.Exit(train_recipe(recipe, run, resume, overrides or [], cluster))


@app.command()
def evaluate(
    run: RunPath,
    name: Annotated[
        str, typer.Option(help="Keep these scores apart, in RUN/outcomes/NAME, beside the plain ones.")
    ] = "",
    overrides: Overrides = None,
) -> None:
    """Translate and score the test set of every facet; writes scores.json."""
    from facetmt.scoring import evaluate_run

    evaluate_run(run, overrides or [], name)


@app.command()
def translate(
    run: RunPath,
    facet: Annotated[str | None, typer.Option(help="Facet whose languages and tags to use.")] = None,
    to: Annotated[str | None, typer.Option(help="Target language, where there are several.")] = None,
    tag: Annotated[str | None, typer.Option(help="Facet whose tag to put on every line instead.")] = None,
    n_best: Annotated[int, typer.Option(min=1, help="Hypotheses a line, separated by tabs.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Put its score before each hypothesis.")] = False,
    errors: Annotated[Utf8Errors, typer.Option(help="What to do with invalid UTF-8.")] = Utf8Errors.STRICT,
    overrides: Overrides = None,
) -> None:
    """Translate standard input to standard output, one line out for each line in."""
    from facetmt.scoring import translate_text

    translate_text(run, facet, to, tag, n_best, scores, errors.value, overrides or [])


@app.command()
def label(
    models: Annotated[Path, typer.Option(help="Folder of the two language models.")],
    natural: Annotated[
        Path | None, typer.Option(help="Text written in the language; trains the models.")
    ] = None,
    translated: Annotated[Path | None, typer.Option(help="Text translated into it.")] = None,
    text: Annotated[
        list[Path] | None, typer.Option(help="Text to label, one sentence per line; may be repeated.")
    ] = None,
    out: Annotated[
        list[Path] | None, typer.Option(help="Label file of each text, such as train.facet.")
    ] = None,
    gold: Annotated[Path | None, typer.Option(help="Known labels of the text, to compare with.")] = None,
    steps: Annotated[int, typer.Option(min=1, help="Updates of each model.")] = 2000,
    vocab: Annotated[
        int, typer.Option(min=100, help="Subwords of the models, fewer where the text has fewer.")
    ] = 8000,
) -> None:
    """Label each sentence natural or translationese, by two language models of the target language."""
    from facetmt.select.verbs import label_text

    raise typer.Exit(label_text(models, natural, translated, text or [], out or [], gold, steps, vocab))


@app.command("filter")
def filter_(
    run: RunPath,
    trusted: Annotated[tuple[Path, Path], typer.Option(help="Trusted text: source and target file.")],
    out: Annotated[Path, typer.Option(help="Folder for the keep files, such as the corpus itself.")],
    facet: Annotated[
        str | None,
        typer.Option(help="Facet whose languages and tags the trusted text has; default the first."),
    ] = None,
    keep: Annotated[float, typer.Option(help="Share of the pairs to keep.")] = 0.7,
    rank: Annotated[
        Rank, typer.Option(help="One ranking across all facets, or one within each.")
    ] = Rank.ACROSS,
    stages: Annotated[int, typer.Option(min=1, help="Stages of fine-tuning at most.")] = 5,
    steps: Annotated[int, typer.Option(min=1, help="Updates per stage.")] = 50,
) -> None:
    """Contrastive data selection: keep the pairs that a model fine-tuned on trusted text likes better."""
    from facetmt.commands import filter_text

    raise typer.Exit(filter_text(run, trusted, out, facet, keep, rank.value, stages, steps))


@app.command()
def tune(
    recipe: RecipePath,
    out: Annotated[Path, typer.Option(help="Folder for the study and its runs.")],
    grid: Annotated[list[str] | None, typer.Option(metavar="KEY=A,B,C", help="Values to try.")] = None,
    sampler: Annotated[Sampler, typer.Option(help="Every point, or guided.")] = Sampler.GRID,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials of this worker at most.")] = None,
    storage: Annotated[str | None, typer.Option(help="Database address, for many machines.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 1,
    overrides: Overrides = None,
) -> None:
    """Search keys of a recipe, by default the paper's grid over μ and γ; call it again to go on."""
    from facetmt.commands import tune_recipe

    code = tune_recipe(recipe, out, grid or [], sampler.value, trials, storage, seed, overrides or [])
    raise typer.Exit(code)


@app.command()
def compare(
    runs: RunPaths,
    format_: Annotated[TableFormat, typer.Option("--format", help="Layout.")] = TableFormat.TERMINAL,
    metric: Annotated[Metric, typer.Option(help="Score to compare.")] = Metric.BLEU,
) -> None:
    """Test scores side by side, with significance against the first run; seeds are grouped."""
    from facetmt.report.tables import compare as compare_runs

    typer.echo(compare_runs(runs, format_.value, metric.value))


@app.command()
def report(
    runs: RunPaths,
    out: Annotated[Path | None, typer.Option(help="Page to write; default RUN/report.html.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Serve a page that follows a running run.")] = False,
    port: Annotated[int, typer.Option(help="Port of --watch on this machine.")] = 8765,
    figures: Annotated[Path | None, typer.Option(help="Folder for SVG figures as well.")] = None,
) -> None:
    """One self-contained page: what the bandit did, whether it helped, what it cost."""
    from facetmt.commands import report_runs

    report_runs(runs, out, watch, port, figures)


@app.command()
def card(
    run: RunPath, out: Annotated[Path | None, typer.Option(help="File; default standard output.")] = None
) -> None:
    """A model card: data use by facet, scores, recipe."""
    from facetmt.commands import write_card

    write_card(run, out)


@app.command()
def replay(
    run: RunPath,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A key of `schedule`: --set policy=exp3s"),
    ] = None,
) -> None:
    """What another policy, reward or setting would have sampled, given the logged rewards."""
    from facetmt.commands import replay_run

    replay_run(run, settings or [])


def main() -> None:
    """Entry point: a user's mistake is one sentence and exit code 2, never a traceback."""
    try:
        app()
    except UserError as error:
        sys.stderr.write(f"facetmt: {error}\n")  # in one piece, whatever other threads may print
        sys.exit(2)
