"""From a recipe to a trained run: prepare what is not prepared, open the session, loop."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from facetmt.data.prepare import Prepared, open_prepared, prepare
from facetmt.recipe import Recipe
from facetmt.train.display import Watcher, prepare_progress, watch
from facetmt.train.interrupt import Interrupt
from facetmt.train.loop import Loop
from facetmt.train.processes import is_lead, lead
from facetmt.train.session import Session, check_directory, open_session
from facetmt.translate.sets import check_scoring

FACETS = "facets.json"  # name -> languages and sizes, for reports


@dataclass(frozen=True)
class Outcome:
    """How a training ended."""

    finished: bool  # False: a signal stopped it, everything is saved
    step: int
    best: tuple[float, int] | None  # dev BLEU and its step
    seconds: float


def train(
    recipe: Recipe, directory: Path, *, resume: bool = False, watchers: Sequence[Watcher] = ()
) -> Outcome:
    """Train to the last step, or to a signal; `watchers` are told how it goes, besides the screen."""
    lead(lambda: check_directory(recipe, directory, resume))
    prepared = prepare_once(recipe)
    names = [facet.name for facet in prepared.facets]
    check_scoring(recipe.evaluate, prepared.codec, [*names, *recipe.evaluate.sets])
    session = open_session(recipe, directory, prepared, resume)
    lead(lambda: write_facets(prepared, directory))
    done = session.tally.step
    own = watch(directory, recipe.train.steps, done, recipe.train.tensorboard) if is_lead() else []
    try:
        for note in session.notes if own else ():
            own[0].say(note)
        with Interrupt() as interrupt:
            finished = Loop(session, [*own, *watchers], interrupt).run()
    finally:
        session.log.close()
        for watcher in own:
            watcher.close()
    return outcome(session, finished)


def prepare_once(recipe: Recipe) -> Prepared:
    """The first process prepares what is not prepared yet; the others open what it made."""
    made: list[Prepared] = []

    def work() -> None:
        with prepare_progress() as tell:
            made.append(prepare(recipe.data, Path(recipe.data.root), Path(recipe.prepared), progress=tell))

    lead(work)
    return made[0] if made else open_prepared(Path(recipe.prepared))


def outcome(session: Session, finished: bool) -> Outcome:
    tally = session.tally
    return Outcome(finished, tally.step, tally.best[0] if tally.best else None, tally.seconds)


def write_facets(prepared: Prepared, directory: Path) -> None:
    sizes = [len(store) for store in prepared.stores("train")]
    table = {
        facet.name: {"source": facet.source_language, "target": facet.target_language, "train": size}
        for facet, size in zip(prepared.facets, sizes, strict=True)
    }
    (directory / FACETS).write_text(json.dumps(table, indent=1, ensure_ascii=False), encoding="utf-8")
