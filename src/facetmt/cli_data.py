"""The verbs on corpora: `prepare` and `data`. As in cli.py, everything heavy is imported inside its verb."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

data_app = typer.Typer(help="Fetch, inspect and verify corpora.", no_args_is_help=True)

RecipePath = Annotated[Path, Argument(metavar="RECIPE", help="Recipe (YAML); see docs/recipes.md.")]
RunPath = Annotated[Path, Argument(metavar="RUN", help="Run directory, as made by `train --run`.")]
Overrides = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe: --set train.steps=1000"),
]


def prepare(
    recipe: RecipePath,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace text that was prepared with other settings.")
    ] = False,
    overrides: Overrides = None,
) -> None:
    """Read, clean and encode the corpus; a second call redoes only what changed."""
    from facetmt.recipe import load_recipe
    from facetmt.train import corpus

    loaded = load_recipe(recipe, overrides or [])
    corpus.check_recipe(loaded)
    corpus.print_corpus(corpus.prepare(loaded, overwrite=overwrite))


@data_app.command("stats")
def data_stats(recipe: RecipePath, overrides: Overrides = None) -> None:
    """Show size, tokens and imbalance of the facets, and what was dropped and why."""
    prepare(recipe, overrides=overrides)


@data_app.command("verify")
def data_verify(recipe: RecipePath, overrides: Overrides = None) -> None:
    """Compare everything that was prepared with its hashes, for example after copying it."""
    from facetmt.data.prepared import open_prepared
    from facetmt.recipe import load_recipe

    prepared = open_prepared(Path(load_recipe(recipe, overrides or []).prepared))
    size = prepared.verify()
    typer.echo(f"{len(prepared.facets)} facets, {size / 1e6:,.1f} MB: all as they were written")


@data_app.command("get")
def data_get(
    task: Annotated[
        str, Argument(metavar="TASK", help="multidomain, ted, opus100, wmt, wmt14 or newscrawl.")
    ],
    out: Annotated[Path, Argument(metavar="DIR", help="Folder for the text.")],
) -> None:
    """Fetch the public text of one of the paper's tasks."""
    from facetmt.console import stages
    from facetmt.fetch.get import get

    with stages() as tell:
        fetched = get(task, out, tell)
    for name, sha256 in fetched.items():
        typer.echo(f"{name}  sha256 {sha256}")
