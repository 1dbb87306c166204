"""The model of a run, for translating: the best checkpoint by dev BLEU, or the mean of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from facetmt.data.codec import Codec, open_codec
from facetmt.errors import UserError
from facetmt.model import transformer
from facetmt.recipe import SCORING, Recipe, differences, load_recipe
from facetmt.runlog import CHECKPOINTS, RECIPE, Run
from facetmt.train import checkpoint
from facetmt.train.session import VOCABULARY, vocabulary_sizes
from facetmt.train.state import create_state
from facetmt.translate.config import DecodeConfig


@dataclass(frozen=True)
class TrainedModel:
    """What translating needs of a run."""

    recipe: Recipe
    codec: Codec
    graph: transformer.Graph
    params: transformer.Params
    steps: tuple[int, ...]  # of the checkpoints that the parameters come from
    bleu: float | None  # dev BLEU at the first of them; None if it was never validated
    trained_steps: int  # of the newest checkpoint, whole or not
    fingerprint: dict[str, str]  # of the prepared corpus that it was trained on
    notes: tuple[str, ...]  # what is wrong with newer checkpoints, and which one is used

    @property
    def decode(self) -> DecodeConfig:
        """How to search, with what the recipe leaves to the length of the training text."""
        return self.recipe.decode.for_training(self.recipe.data.longest)


def load_model(directory: Path, overrides: Sequence[str] = ()) -> TrainedModel:
    """The run's best parameters, or the mean over its `decode.average` best checkpoints."""
    Run(directory)  # says so if it is none
    recipe = load_recipe(directory / RECIPE, overrides)
    if changed := differences(load_recipe(directory / RECIPE), recipe, SCORING):
        raise UserError(f"--set may not change what the model was trained with ({'; '.join(changed)})")
    codec = open_codec(directory / VOCABULARY)
    sizes = vocabulary_sizes(codec.vocabulary)
    graph = transformer.graph_of(recipe.model, *sizes)
    chosen, notes = choose(directory / CHECKPOINTS, recipe.decode.average)
    check_vocabulary(chosen[0], codec, directory)
    host, like = chosen[0].host(), abstract_state(recipe, sizes)
    params = chosen[0].arrays(like).params
    for other in chosen[1:]:
        params = jax.tree.map(jnp.add, params, other.arrays(like).params)
    params = jax.tree.map(lambda leaf: leaf / len(chosen), params) if len(chosen) > 1 else params
    return TrainedModel(
        recipe=recipe,
        codec=codec,
        graph=graph,
        params=params,
        steps=tuple(one.step for one in chosen),
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


def abstract_state(recipe: Recipe, sizes: tuple[int, int | None]) -> Any:
    """The structure that a checkpoint of the run is read into."""

    def state() -> Any:
        model = transformer.create(recipe.model, *sizes, seed=0)
        return create_state(model.params)

    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return jax.tree.map(lambda leaf: leaf.update(sharding=device), jax.eval_shape(state))
