"""The text of a study: prepared once, whatever the number of cells and processes that need it."""

from __future__ import annotations

import time
from pathlib import Path

from facetmt.console import say
from facetmt.errors import UserError
from facetmt.files import claimed
from facetmt.recipe import Recipe
from facetmt.study.plan import Study
from facetmt.train.corpus import prepare
from facetmt.train.interrupt import Check

LOCK, WAIT = ".prepare.lock", 0.5  # seconds between two looks at the lock


def prepare_text(recipe: Recipe, out: Path, check: Check) -> None:
    """Prepare what is not prepared yet, one process at a time; the others wait and find it done."""
    while True:
        with claimed(out / LOCK) as free:
            if free:
                prepare(recipe, check=check)
                return
        check()
        time.sleep(WAIT)


def prepare_all(study: Study, out: Path, check: Check) -> None:
    """Every folder that a cell needs; where one of several fails, its cells will say so."""
    recipes = {Path(one.recipe.prepared): one.recipe for one in study.systems}
    for recipe in recipes.values():
        check()
        try:
            prepare_text(recipe, out, check)
        except UserError as error:
            if len(recipes) == 1:
                raise
            say(f"cannot be prepared: {error}")
