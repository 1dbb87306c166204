"""The verb `study`: run one, summarise one, make tables of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from facetmt.errors import UserError


def study(
    target: Annotated[
        Path,
        Argument(
            metavar="STUDY",
            help="Study file; with --summary the folder of a study, with --tables a folder of summaries.",
        ),
    ],
    out: Annotated[
        Path | None, Option(help="Folder for the cells; with --tables the page without `.md`.")
    ] = None,
    jobs: Annotated[
        int | None, Option(min=1, help="Cells to run side by side; default: the number of cores.")
    ] = None,
    cell: Annotated[str | None, Option(metavar="NAME,SEED", help="Run this cell alone.")] = None,
    cells: Annotated[bool, Option("--cells", help="List the cells, one per line, and run nothing.")] = False,
    summary: Annotated[
        bool, Option("--summary", help="Write STUDY/summary.json, which tables are made from.")
    ] = False,
    add: Annotated[
        list[Path] | None,
        Option(metavar="SUMMARY", help="With --summary: also the cells of this one, of the same study."),
    ] = None,
    tables: Annotated[
        bool, Option("--tables", help="Make tables and plots from STUDY/*/summary.json.")
    ] = False,
    parent: Annotated[
        int | None, Option(hidden=True, help="Process that started this one: end if it is gone.")
    ] = None,
) -> None:
    """Train and score systems by seeds from one recipe, side by side; call it again to continue."""
    if sum((summary, tables, cells, cell is not None)) > 1:
        raise UserError("study: --summary, --tables, --cells and --cell exclude each other; give one of them")
    if add and not summary:
        raise UserError("study: --add goes with --summary; give both")
    if summary:
        from facetmt.report.studies.kept import write_summary

        typer.echo(write_summary(target, add or []))
        return
    if out is None and not cells:
        raise UserError("study: --out is missing; say where to write")
    if tables:
        from facetmt.report.studies.results import write_results

        for path in write_results(target, out or target):
            typer.echo(path)
        return
    from facetmt.study.plan import load_study

    loaded = load_study(target, out or target.parent)
    if cells or out is None:
        for one in loaded.cells:
            typer.echo(str(one))
        return
    from facetmt.report.studies.folder import one_cell
    from facetmt.study.folder import enter

    chosen = None if cell is None else one_cell(loaded.cells, cell)
    enter(loaded, out)
    if chosen is not None:
        from facetmt.study.cell import run_cell

        raise typer.Exit(run_cell(loaded, out, chosen, parent))
    from facetmt.study.ending import finish
    from facetmt.study.run import run_study

    raise typer.Exit(finish(run_study(loaded, out, jobs), out))
