"""The verbs that look at runs: tables, pages, cards, measurements. Everything heavy is imported inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from facetmt.cli_data import RunPath

RunPaths = Annotated[list[Path], Argument(metavar="RUN...", help="Run directories, baseline first.")]


def compare(
    runs: RunPaths,
    format_: Annotated[
        Literal["terminal", "markdown", "latex", "csv"], Option("--format", help="Layout of the table.")
    ] = "terminal",
    metric: Annotated[Literal["bleu", "chrf"], Option(help="Score to compare.")] = "bleu",
) -> None:
    """Test scores side by side, with significance against the first run; seeds are grouped."""
    from facetmt.report.tables import compare as compare_runs

    typer.echo(compare_runs(runs, format_, metric))


def report(
    runs: RunPaths,
    out: Annotated[Path | None, Option(help="Page to write; default: RUN/report.html.")] = None,
    watch: Annotated[bool, Option("--watch", help="Serve a page that follows a running run.")] = False,
    port: Annotated[int, Option(help="Port of --watch on this machine.")] = 8765,
    figures: Annotated[Path | None, Option(help="Folder for SVG figures as well.")] = None,
) -> None:
    """One self-contained page: what the bandit did, whether it helped, what it cost."""
    from facetmt.report import comparable, page
    from facetmt.report.figures import write_figures
    from facetmt.report.page.serve import watch as serve
    from facetmt.runlog import REPORT, Run

    if watch:
        serve(runs, port)
        return
    typer.echo(page.write_report(runs, out or runs[0] / REPORT))
    for line in comparable.sentences(comparable.caveats([Run(run) for run in runs])):
        typer.echo(f"careful: {line}", err=True)
    for path in write_figures(runs, figures) if figures is not None else ():
        typer.echo(path)


def card(
    run: RunPath,
    out: Annotated[Path | None, Option(help="File to write; default: standard output.")] = None,
) -> None:
    """A model card: data use by facet, scores, recipe."""
    from facetmt.report.card import model_card
    from facetmt.runlog import Run

    text = model_card(Run(run))
    if out is None:
        typer.echo(text)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(out)


def replay(
    run: RunPath,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="Change a key of `schedule`: --set policy=exp3s"),
    ] = None,
) -> None:
    """What another policy, reward or setting would have sampled, given the logged rewards."""
    from facetmt.recipe import split_setting
    from facetmt.report.replay import replay as replay_run
    from facetmt.report.replay import replay_text

    changes = {}
    for word in settings or []:
        key, value = split_setting(word, f"--set {word}", "--set policy=exp3s")
        changes[key.removeprefix("schedule.")] = value
    typer.echo(replay_text(replay_run(run, **changes)))


def transfer(
    run: RunPath,
    facets: Annotated[
        str | None,
        Option(metavar="NAME,NAME", help="Facets whose dev loss to look at; default: all, or 16 of more."),
    ] = None,
    tokens: Annotated[
        int, Option(min=10, help="Tokens of dev and of training text to read, of each facet.")
    ] = 15_360,
    seed: Annotated[int, Option(help="Seed of the choice of text.")] = 1,
) -> None:
    """Which facet helps which: what training on each does for the dev loss of each; writes transfer.json."""
    from facetmt.report.transfer import read_transfer, transfer_text
    from facetmt.runlog import Run
    from facetmt.train.transfer import TransferConfig, transfer_run

    names = [name.strip() for name in (facets or "").split(",") if name.strip()]
    path = transfer_run(run, TransferConfig(names, tokens, seed))
    found = read_transfer(Run(run))
    if found is not None:
        typer.echo(transfer_text(Run(run), found))
    typer.echo(path)


def diagnose(run: RunPath) -> None:
    """Whether the rewards of a run could tell its facets apart: signal, noise, verdict, from its logs."""
    from facetmt.report.diagnose import diagnosis_text
    from facetmt.runlog import Run

    typer.echo(diagnosis_text(Run(run)))
