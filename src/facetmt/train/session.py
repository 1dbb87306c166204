"""A run, opened: everything that the loop works on, made new or restored from the newest whole checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facetmt.bandit import FacetScheduler
from facetmt.bandit.config import build_scheduler
from facetmt.data.batch import BatchConfig
from facetmt.data.prepare import Prepared
from facetmt.data.sampler import DevSampler, FacetSampler, MixedSampler, Sampler
from facetmt.data.vocab import Vocabulary
from facetmt.errors import UserError
from facetmt.model import transformer
from facetmt.recipe import Recipe, differences, dump_recipe, load_recipe
from facetmt.runlog import CHECKPOINTS, RECIPE, RunLog, SilentLog
from facetmt.train import checkpoint
from facetmt.train.place import Placement, Share
from facetmt.train.processes import is_lead, lead
from facetmt.train.state import TrainState, create_state
from facetmt.train.tally import Tally

VOCABULARY = "vocabulary"  # the run's own copy of what translating needs


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
    dev_sampler: DevSampler | None
    log: RunLog
    tally: Tally
    placement: Placement
    share: Share  # this process's part of the training batches
    notes: list[str]  # what the user should know about how it was opened

    def host(self) -> dict[str, Any]:
        """All that a checkpoint holds besides the arrays."""
        return {
            "tally": self.tally.state(),
            "scheduler": self.scheduler.state(),
            "sampler": self.sampler.state(),
            "dev_sampler": self.dev_sampler.state() if self.dev_sampler else None,
            "log": self.log.position(),
            "fingerprint": self.prepared.fingerprint,
        }


def open_session(recipe: Recipe, directory: Path, prepared: Prepared, resume: bool) -> Session:
    """A new run in an empty directory, or the continuation of one."""
    step, notes = lead(lambda: newest_step(recipe, directory, resume))
    saved = None if step is None else checkpoint.of_step(directory / CHECKPOINTS, step)
    if saved is None:
        lead(lambda: describe(recipe, directory, prepared))
    session = new_session(recipe, directory, prepared, fresh=saved is None)
    if saved is not None:
        try:
            restore(session, saved)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{saved.path / checkpoint.HOST} is not the state of such a run ({type(error).__name__}: {error}); "
                f"delete {saved.path} to resume from an older checkpoint"
            ) from error
        session.notes = [
            *(f"{note}; using an older checkpoint" for note in notes),
            f"resumed at step {saved.step:,}",
        ]
    return session


def newest_step(recipe: Recipe, directory: Path, resume: bool) -> tuple[int | None, list[str]]:
    """The step to continue from, and what is wrong with newer checkpoints."""
    check_directory(recipe, directory, resume)
    directory.mkdir(parents=True, exist_ok=True)
    saved, notes = checkpoint.newest_whole(directory / CHECKPOINTS) if resume else (None, [])
    if saved is None and notes:
        raise UserError(
            f"no checkpoint of {directory} is whole: {'; '.join(notes)}; restore one from a copy, or start a new run"
        )
    return None if saved is None else saved.step, notes


def describe(recipe: Recipe, directory: Path, prepared: Prepared) -> None:
    """Write down what the run is, first of all and at once: from then on it can be resumed."""
    partial = directory / f".{RECIPE}"
    partial.write_text(dump_recipe(recipe), encoding="utf-8")
    partial.rename(directory / RECIPE)
    prepared.copy_vocabulary(directory / VOCABULARY)


def check_directory(recipe: Recipe, directory: Path, resume: bool) -> None:
    """Refuse to overwrite a run, and to continue one with another recipe."""
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory} is a file; give another --run")
    if not directory.exists() or all(path.name == f".{RECIPE}" for path in directory.iterdir()):
        if resume:
            raise UserError(f"{directory} holds no run to resume; leave out --resume to start one")
        return
    if not (directory / RECIPE).is_file():
        raise UserError(f"{directory} is not empty and not a run directory; give another --run")
    if not resume:
        raise UserError(f"{directory} already holds a run; continue it with --resume or give another --run")
    changed = differences(load_recipe(directory / RECIPE), recipe)
    if changed:
        raise UserError(
            f"the recipe differs from that of the run in {directory} ({'; '.join(changed)}); "
            "undo the change, or start a new run"
        )


def new_session(recipe: Recipe, directory: Path, prepared: Prepared, *, fresh: bool) -> Session:
    """Step 0 of a run; `fresh` begins its logs anew."""
    model = transformer.create(recipe.model, *vocabulary_sizes(prepared.vocabulary), seed=recipe.seed)
    placement = Placement(split=recipe.train.split_state)
    share = placement.training_share(recipe.batch.rows)
    stores = prepared.stores("train")
    mixed = recipe.schedule.policy == "mixed"
    sampler = (MixedSampler if mixed else FacetSampler)(stores, recipe.batch, recipe.seed, share.rows)
    names = [facet.name for facet in prepared.facets]
    scheduler = build_scheduler(recipe.schedule, names, [len(store) for store in stores], recipe.seed)
    log = RunLog(directory, scheduler.facets, fresh=fresh) if is_lead() else SilentLog()
    return Session(
        recipe=recipe,
        directory=directory,
        prepared=prepared,
        graph=model.graph,
        state=placement.state(create_state(model.params)),
        scheduler=scheduler,
        sampler=sampler,
        dev_sampler=dev_sampler(recipe, prepared, placement),
        log=log,
        tally=Tally(),
        placement=placement,
        share=share,
        notes=[f"{transformer.count_parameters(model.params):,} parameters"],
    )


def vocabulary_sizes(vocabulary: Vocabulary) -> tuple[int, int | None]:
    """Target and source ids of the embeddings; None where both sides share one."""
    return vocabulary.target_size, None if vocabulary.joint else vocabulary.source_size


def dev_rows(recipe: Recipe) -> int:
    """Rows of a dev batch."""
    return recipe.train.dev_rows or max(1, recipe.batch.rows // 8)


def dev_sampler(recipe: Recipe, prepared: Prepared, placement: Placement) -> DevSampler | None:
    """Random dev batches where the reward needs them."""
    if not (recipe.schedule.learns and recipe.schedule.reward.startswith("dev-")):
        return None
    rows = dev_rows(recipe)
    shape = BatchConfig(rows=rows, length=recipe.batch.length, target_length=recipe.batch.target_length)
    return DevSampler(
        prepared.stores("dev"), prepared.dev_chosen, shape, recipe.seed, placement.share(rows).rows
    )


def restore(session: Session, saved: checkpoint.Checkpoint) -> None:
    """Bring a new session to where the checkpoint was taken."""
    host = saved.host()
    check_fingerprint(host["fingerprint"], session.prepared.fingerprint)
    session.state = saved.arrays(session.state)
    session.scheduler.restore(host["scheduler"])
    session.sampler.restore(host["sampler"])
    if session.dev_sampler is not None:
        session.dev_sampler.restore(host["dev_sampler"])
    session.tally = Tally.restored(host["tally"])
    session.log.cut(host["log"])


def check_fingerprint(saved: dict[str, str], found: dict[str, str]) -> None:
    changed = sorted(name for name in {**saved, **found} if saved.get(name) != found.get(name))
    if changed:
        raise UserError(
            f"the prepared data changed since the checkpoint was saved ({', '.join(changed)}); "
            "restore the former text, or start a new run"
        )
