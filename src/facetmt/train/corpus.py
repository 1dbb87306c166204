"""The corpus of a recipe: prepared while people watch, and described. Loads no JAX."""

from __future__ import annotations

from pathlib import Path

from facetmt.console import print_line, print_table, say, stages
from facetmt.data.prepare import prepare as prepare_data
from facetmt.data.prepared import Prepared
from facetmt.data.stats import losses, stats
from facetmt.recipe import Recipe, check_settings
from facetmt.train.interrupt import Check
from facetmt.translate.testsets import check_groups


def prepare(recipe: Recipe, *, overwrite: bool = False, check: Check = lambda: None) -> Prepared:
    """Prepare what is not prepared yet, with progress; `check` is called on the way and may raise."""
    with stages() as tell:

        def told(stage: str, done: int, total: int) -> None:
            check()
            tell(stage, done, total)

        return prepare_data(
            recipe.data,
            Path(recipe.data.root),
            Path(recipe.prepared),
            progress=told,
            overwrite=overwrite,
        )


def check_recipe(recipe: Recipe) -> None:
    """Refuse settings that contradict each other, as far as that is known before the text is read."""
    if recipe.data.facets is not None:  # otherwise the facets are known once they are found
        check_groups(recipe.evaluate, [*recipe.data.facets, *recipe.evaluate.sets])
    check_settings(recipe)


def print_corpus(prepared: Prepared) -> None:
    """The paper's table of corpora, one row per facet; below it what was dropped, and why."""
    whole, facets = stats(prepared)
    rows = [
        (
            one.name,
            f"{one.source_language}-{one.target_language}",
            *(
                f"{n:,}"
                for n in (one.pairs, one.source_tokens, one.target_tokens, one.dev_pairs, one.test_pairs)
            ),
        )
        for one in facets
    ]
    columns = ("facet", "pair", "train", "source tokens", "target tokens", "dev", "test")
    print_table(columns, rows, left=("facet", "pair"))
    for one in facets:
        for split, reasons in one.dropped.items():
            counts = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
            print_line(f"dropped from {one.name}, {split}: {counts}")
    print_line(
        f"{whole.facets} facets, {whole.language_pairs} language pairs, {whole.pairs:,} training pairs, "
        f"entropy of the facet sizes {whole.entropy:.1f} % of its maximum"
    )
    for warning in losses(prepared):
        say(f"warning: {warning}")
