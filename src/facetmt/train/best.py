"""Which checkpoints of a run to translate with: the best by dev BLEU. Reads no array and loads no JAX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from facetmt.data.codec import Codec, open_codec
from facetmt.errors import UserError
from facetmt.recipe import SCORING, Recipe, differences, load_recipe
from facetmt.runlog import CHECKPOINTS, RECIPE, Run
from facetmt.train import checkpoint
from facetmt.translate.config import DecodeConfig

VOCABULARY = "vocabulary"  # the run's own copy of what translating needs


@dataclass(frozen=True)
class BestOfRun:
    """The checkpoints that `decode.average` asks for, verified, and what goes with them."""

    directory: Path
    recipe: Recipe
    codec: Codec
    chosen: tuple[checkpoint.Checkpoint, ...]  # the best first
    bleu: float | None  # dev BLEU at the first of them; None if it was never validated
    trained_steps: int  # of the newest checkpoint, whole or not
    fingerprint: dict[str, str]  # of the prepared corpus that it was trained on
    notes: tuple[str, ...]  # what is wrong with newer checkpoints, and which one is used

    @property
    def steps(self) -> tuple[int, ...]:
        """Of the chosen checkpoints."""
        return tuple(one.step for one in self.chosen)

    @property
    def decode(self) -> DecodeConfig:
        """How to search, with what the recipe leaves to the length of the training text."""
        return self.recipe.decode.for_training(self.recipe.data.longest)


def open_best(directory: Path, overrides: Sequence[str] = ()) -> BestOfRun:
    """The run's best checkpoint, or its `decode.average` best ones."""
    Run(directory)  # says so if it is none
    recipe = load_recipe(directory / RECIPE, overrides)
    if changed := differences(load_recipe(directory / RECIPE), recipe, SCORING):
        raise UserError(f"--set may not change what the model was trained with ({'; '.join(changed)})")
    chosen, notes = choose(directory / CHECKPOINTS, recipe.decode.average)
    codec = open_codec(directory / VOCABULARY)
    check_vocabulary(chosen[0], codec, directory)
    host = chosen[0].host()
    return BestOfRun(
        directory=directory,
        recipe=recipe,
        codec=codec,
        chosen=tuple(chosen),
        bleu=next((bleu for bleu, step in host["tally"]["best"] if step == chosen[0].step), None),
        trained_steps=max(one.step for one in checkpoint.finished(directory / CHECKPOINTS)),
        fingerprint=host["fingerprint"],
        notes=tuple(f"{note}; using step {chosen[0].step:,}" for note in notes),
    )


def choose(directory: Path, count: int) -> tuple[list[checkpoint.Checkpoint], list[str]]:
    """Whole checkpoints, the best by dev BLEU first; before the first validation, the newest."""
    newest, complaints = checkpoint.newest_whole(directory)
    if newest is None:
        reason = "; ".join(complaints) or "train it first"
        raise UserError(f"{directory} holds no whole checkpoint: {reason}")
    here = {one.step: one for one in checkpoint.finished(directory)}
    ranked = [here[step] for _, step in newest.host()["tally"]["best"] if step in here]
    ranked = ranked or [newest]
    if len(ranked) < count:
        raise UserError(
            f"{directory} keeps {len(ranked)} of the best checkpoints, too few to average {count}; "
            "train with a larger train.keep_best, or lower decode.average"
        )
    for one in ranked[:count]:
        try:
            checkpoint.verify(one)
        except checkpoint.DamagedCheckpoint as damage:
            raise UserError(
                f"{damage}; restore it from a copy, or delete {one.path} to use the next best checkpoint"
            ) from None
    return ranked[:count], complaints


def check_vocabulary(saved: checkpoint.Checkpoint, codec: Codec, directory: Path) -> None:
    """A vocabulary may be whole, and yet not the one whose ids the parameters are for."""
    if saved.host()["fingerprint"]["vocabulary"] != codec.vocabulary.fingerprint:
        raise UserError(
            f"{directory / VOCABULARY} is not the vocabulary that the run was trained with; put back the "
            "folder of the run, or of the prepared corpus that it came from"
        )
