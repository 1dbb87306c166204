"""The verbs. Everything heavy is imported inside its verb, so that `facetmt --help` is instant."""

from __future__ import annotations

import sys
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
demo_app = typer.Typer(help="See it work on data that facetmt makes itself.", no_args_is_help=True)
app.add_typer(demo_app, name="demo")


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


@demo_app.command("bandit")
def demo_bandit(
    out: Annotated[Path, typer.Option(help="Folder for the plot.")] = Path("demo"),
    steps: Annotated[int, typer.Option(min=1, help="Batches to train on.")] = 4000,
    seed: Annotated[int, typer.Option(help="Seed of data and draws.")] = 1,
) -> None:
    """The bandit alone, teaching a linear classifier from four facets, one of them noise."""
    from facetmt.demo import bandit_demo

    bandit_demo(out, steps=steps, seed=seed)


def main() -> None:
    """Entry point: a user's mistake is one sentence and exit code 2, never a traceback."""
    try:
        app()
    except UserError as error:
        print(f"facetmt: {error}", file=sys.stderr)
        sys.exit(2)
