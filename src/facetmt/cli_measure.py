"""The verbs that look into a trained run: `transfer` and `diagnose`. Everything heavy is imported inside."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from facetmt.cli_data import RunPath


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
