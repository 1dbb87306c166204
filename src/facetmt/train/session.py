"""An open run: everything the loop works on, new or restored from the newest intact checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, cast

from facetmt.bandit import FacetScheduler
from facetmt.bandit.config import build_scheduler
from facetmt.bandit.schedules import Corpus, Draws
from facetmt.data.prepared import Prepared
from facetmt.data.sampler import FacetSampler, MixedSampler, RowSampler, Sampler
from facetmt.data.vocab import Vocabulary
from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.model import transformer
from facetmt.recipe import Recipe, differences, dump_recipe, load_recipe
from facetmt.runlog import CHECKPOINTS, PULLS, RECIPE, RunLog, SilentLog
from facetmt.train import checkpoint
from facetmt.train.best import VOCABULARY
from facetmt.train.place import Placement, Share
from facetmt.train.processes import is_first_process, on_first_process
from facetmt.train.signals import Opened, Signal, make_signal
from facetmt.train.state import TrainState, create_state
from facetmt.train.tally import Tally

SAMPLERS: dict[Draws, type[FacetSampler] | type[MixedSampler] | type[RowSampler]] = {
    "facet": FacetSampler,
    "whole": MixedSampler,
    "composition": RowSampler,
}
# typical share of a batch that is not padding, to estimate the length of the training in tokens
FILLED = 0.93


class HostState(TypedDict):
    """What a run's checkpoint holds besides the arrays: the `state()` of each owner."""

    tally: dict[str, Any]
    scheduler: dict[str, Any]
    sampler: dict[str, Any]
    dev_sampler: dict[str, Any] | None  # of the signal: where its own streams stand
    log: dict[str, int]  # length of each log in bytes
    fingerprint: dict[str, str]  # of what was prepared


@dataclass
class Session:
    """The live parts of a run; `state` and `tally` move with each step."""

    recipe: Recipe
    directory: Path
    prepared: Prepared
    graph: transformer.Graph
    state: TrainState
    scheduler: FacetScheduler
    sampler: Sampler
    signal: Signal
    log: RunLog
    tally: Tally
    placement: Placement
    share: Share  # this process's part of the training batches
    notes: list[str]  # what the user should know about how it was opened

    def host(self) -> HostState:
        """All that a checkpoint holds besides the arrays."""
        return {
            "tally": self.tally.state(),
            "scheduler": self.scheduler.state(),
            "sampler": self.sampler.state(),
            "dev_sampler": self.signal.state(),
            "log": self.log.position(),
            "fingerprint": self.prepared.fingerprint,
        }


def open_session(recipe: Recipe, directory: Path, prepared: Prepared, resume: bool) -> Session:
    """A new run in an empty directory, or the continuation of one."""
    step, notes = on_first_process(lambda: newest_step(recipe, directory, resume))
    saved = None if step is None else checkpoint.of_step(directory / CHECKPOINTS, step)
    on_first_process(lambda: describe(recipe, directory, prepared, copy=saved is None))
    session = new_session(recipe, directory, prepared, fresh=saved is None)
    if saved is not None:
        try:
            restore(session, saved)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{saved.path / checkpoint.HOST}: not the state of this run "
                f"({type(error).__name__}: {error}); delete {saved.path} to resume from an older checkpoint"
            ) from error
        session.notes = [
            *(f"{note}; using an older checkpoint" for note in notes),
            f"resumed at step {saved.step:,}",
        ]
    return session


def newest_step(recipe: Recipe, directory: Path, resume: bool) -> tuple[int | None, list[str]]:
    """The step to continue from, and what is wrong with newer checkpoints."""
    check_directory(recipe, directory, resume)
    saved, notes = checkpoint.newest_whole(directory / CHECKPOINTS) if resume else (None, [])
    if saved is None and notes:
        raise UserError(
            f"{directory}: no checkpoint is whole ({'; '.join(notes)}); restore one from a copy, "
            "or start a new run"
        )
    return None if saved is None else saved.step, notes


def describe(recipe: Recipe, directory: Path, prepared: Prepared, *, copy: bool) -> None:
    """Write down what the run is before anything else: from then on it can be resumed.

    A resumed run may have been given more steps; its recipe says so too.
    """
    write_whole(directory / RECIPE, dump_recipe(recipe))
    if not copy:
        return
    prepared.copy_vocabulary(directory / VOCABULARY)


def check_directory(recipe: Recipe, directory: Path, resume: bool) -> None:
    """Refuse to overwrite a run, and to continue one with another recipe."""
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory} is a file; give another --run")
    content = [path.name for path in directory.iterdir()] if directory.exists() else []
    if all(name.startswith(".") for name in content):
        if resume:
            raise UserError(f"{directory} holds no run to resume; leave out --resume to start one")
        return
    if not (directory / RECIPE).is_file():
        raise UserError(f"{directory} is not empty and not a run directory; give another --run")
    if not resume:
        if began(directory):
            raise UserError(
                f"{directory} already holds a run; continue it with --resume or give another --run"
            )
        return
    changed = differences(load_recipe(directory / RECIPE), recipe)
    if changed:
        raise UserError(
            f"the recipe differs from that of the run in {directory} ({'; '.join(changed)}); "
            "undo the change, or start a new run"
        )


def began(directory: Path) -> bool:
    """Whether a run has something to lose: a checkpoint, or a step in its log."""
    pulls = directory / PULLS
    steps = pulls.read_bytes().count(b"\n") > 1 if pulls.is_file() else False
    return steps or bool(checkpoint.finished(directory / CHECKPOINTS))


def new_session(recipe: Recipe, directory: Path, prepared: Prepared, *, fresh: bool) -> Session:
    """Step 0 of a run; `fresh` starts new logs."""
    sizes = vocabulary_sizes(prepared.vocabulary)
    model = transformer.create(recipe.model, *sizes, seed=recipe.seed)
    exact = transformer.graph_of(replace(recipe.model, compute="float32"), *sizes)
    placement = Placement(split=recipe.train.split_state)
    share = placement.training_share(recipe.batch.rows)
    stores = prepared.stores("train")
    sampler = SAMPLERS[recipe.schedule.draws](stores, recipe.batch, recipe.seed, share.rows)
    rows = recipe.batch.rows * recipe.optimiser.accumulate
    scheduler = build_scheduler(recipe.schedule, corpus(recipe, prepared), recipe.seed, rows)
    log = RunLog(directory, scheduler.facets, fresh=fresh) if is_first_process() else SilentLog()
    return Session(
        recipe=recipe,
        directory=directory,
        prepared=prepared,
        graph=model.graph,
        state=placement.state(create_state(model.params)),
        scheduler=scheduler,
        sampler=sampler,
        signal=make_signal(Opened(recipe, prepared, scheduler, sampler, model.graph, exact, placement)),
        log=log,
        tally=Tally(),
        placement=placement,
        share=share,
        notes=[f"{transformer.count_parameters(model.params):,} parameters", *schedule_notes(recipe)],
    )


def corpus(recipe: Recipe, prepared: Prepared) -> Corpus:
    """What the policy may know of the facets."""
    headers = [store.header for store in prepared.stores("train")]
    names = [facet.name for facet in prepared.facets]
    schedule = recipe.schedule
    for key, given in (("objective", schedule.objective), ("shares", schedule.shares)):
        if unknown := sorted(set(given) - set(names)):
            raise UserError(
                f"schedule.{key} names {', '.join(unknown)}, which is no facet of the corpus; "
                f"choose among {', '.join(names)}"
            )
    with_dev = [len(store) > 0 for store in prepared.stores("dev")]
    if blind := [
        name for name, dev in zip(names, with_dev, strict=True) if schedule.objective.get(name) and not dev
    ]:
        raise UserError(
            f"schedule.objective: {', '.join(blind)} cannot count without dev text; add some, or leave it out"
        )
    tokens = [header.target_tokens for header in headers]
    pairs = [header.pairs for header in headers]
    batch = FILLED * recipe.batch.rows * recipe.batch.width[1]
    if recipe.batch.sentences is not None:
        batch = min(batch, recipe.batch.sentences * sum(tokens) / sum(pairs))
    planned = batch * recipe.optimiser.accumulate * recipe.train.steps
    return Corpus(names, pairs, tokens, planned, with_dev)


def vocabulary_sizes(vocabulary: Vocabulary) -> tuple[int, int | None]:
    """Target and source ids of the embeddings; None where both sides share one."""
    return vocabulary.target_size, None if vocabulary.joint else vocabulary.source_size


def schedule_notes(recipe: Recipe) -> list[str]:
    """What the user should know about the schedule before training."""
    schedule = recipe.schedule
    if schedule.row.other_rewards or schedule.reward == schedule.row.reward:
        return []
    return [
        f"schedule.policy {schedule.policy} takes rewards as they are measured and was made for "
        f"{schedule.row.reward}; with {schedule.reward} it may learn nothing: "
        f"set schedule.reward={schedule.row.reward}"
    ]


def restore(session: Session, saved: checkpoint.Checkpoint) -> None:
    """Bring a new session to where the checkpoint was taken."""
    host = cast(HostState, saved.host())
    check_fingerprint(host["fingerprint"], session.prepared.fingerprint)
    session.state = saved.arrays(session.state)
    session.scheduler.restore(host["scheduler"])
    session.sampler.restore(host["sampler"])
    session.signal.restore(host["dev_sampler"])
    session.tally = Tally.restored(host["tally"])
    session.log.cut(host["log"])


def check_fingerprint(saved: dict[str, str], found: dict[str, str]) -> None:
    changed = sorted(name for name in {**saved, **found} if saved.get(name) != found.get(name))
    if changed:
        raise UserError(
            f"the prepared data changed since the checkpoint was saved ({', '.join(changed)}); "
            "restore the former text, or start a new run"
        )
