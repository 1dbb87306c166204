"""From a recipe to a trained run: prepare what is not prepared, open the session, loop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from facetmt.data.prepared import Prepared, open_prepared
from facetmt.errors import UserError
from facetmt.files import sole_user, write_whole
from facetmt.recipe import Recipe
from facetmt.runlog import FACETS
from facetmt.train.corpus import prepare
from facetmt.train.display import Watcher, watch
from facetmt.train.interrupt import Interrupt
from facetmt.train.loop import Loop
from facetmt.train.processes import is_first_process, on_first_process
from facetmt.train.session import Session, check_directory, open_session
from facetmt.translate.testsets import check_scoring


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
    """Train to the last step, or to a signal; `watchers` follow it as well as the screen."""
    on_first_process(lambda: check_directory(recipe, directory, resume))
    prepared = prepare_once(recipe)
    names = [facet.name for facet in prepared.facets]
    check_scoring(recipe.evaluate, prepared.codec, [*names, *recipe.evaluate.sets])
    with ExitStack() as stack:
        on_first_process(lambda: stack.enter_context(claimed(directory)))
        return train_prepared(recipe, directory, prepared, resume, watchers)


@contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """The run directory, made if it is not there, for this training alone."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"--run {directory}: cannot make that folder ({error.strerror}); give another"
        ) from error
    with sole_user(directory, "training"):
        yield


def train_prepared(
    recipe: Recipe, directory: Path, prepared: Prepared, resume: bool, watchers: Sequence[Watcher]
) -> Outcome:
    """Open the session and loop."""
    session = open_session(recipe, directory, prepared, resume)
    on_first_process(lambda: write_facets(prepared, directory))
    done = session.tally.step
    own = watch(directory, recipe.train.steps, done, recipe.train.tensorboard) if is_first_process() else []
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
    on_first_process(lambda: made.append(prepare(recipe)))
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
    write_whole(directory / FACETS, json.dumps(table, indent=1, ensure_ascii=False))
