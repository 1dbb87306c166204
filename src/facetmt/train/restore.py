"""What a run has learned: its best checkpoint by dev BLEU, or the mean of several for translating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from facetmt.data.codec import Codec
from facetmt.model import transformer
from facetmt.recipe import Recipe
from facetmt.train import checkpoint
from facetmt.train.best import BestOfRun, open_best
from facetmt.train.session import vocabulary_sizes
from facetmt.train.state import TrainState, create_state
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
    return read_arrays(open_best(directory, overrides))


def read_arrays(best: BestOfRun) -> TrainedModel:
    """The parameters of the chosen checkpoints, averaged."""
    sizes = vocabulary_sizes(best.codec.vocabulary)
    like = abstract_state(best.recipe, sizes)
    params, *others = (one.arrays(like).params for one in best.chosen)
    for other in others:
        params = jax.tree.map(jnp.add, params, other)
    params = jax.tree.map(lambda leaf: leaf / len(best.chosen), params) if others else params
    return TrainedModel(
        recipe=best.recipe,
        codec=best.codec,
        graph=transformer.graph_of(best.recipe.model, *sizes),
        params=params,
        steps=best.steps,
        bleu=best.bleu,
        trained_steps=best.trained_steps,
        fingerprint=best.fingerprint,
        notes=best.notes,
    )


@dataclass(frozen=True)
class TrainedState:
    """What measuring at a checkpoint needs: the optimiser's state beside the parameters."""

    recipe: Recipe
    codec: Codec
    graph: transformer.Graph  # in float32, for small differences that bfloat16 would round away
    state: TrainState
    saved: checkpoint.Checkpoint
    trained_steps: int  # of the newest checkpoint, whole or not
    fingerprint: dict[str, str]  # of the prepared corpus that it was trained on
    notes: tuple[str, ...]  # as of `TrainedModel`


def load_state(directory: Path) -> TrainedState:
    """The state of the run's best checkpoint, the first that `load_model` takes its parameters from."""
    best = open_best(directory, ["decode.average=1"])
    sizes = vocabulary_sizes(best.codec.vocabulary)
    (saved,) = best.chosen
    return TrainedState(
        recipe=best.recipe,
        codec=best.codec,
        graph=transformer.graph_of(replace(best.recipe.model, compute="float32"), *sizes),
        state=saved.arrays(abstract_state(best.recipe, sizes)),
        saved=saved,
        trained_steps=best.trained_steps,
        fingerprint=best.fingerprint,
        notes=best.notes,
    )


def abstract_state(recipe: Recipe, sizes: tuple[int, int | None]) -> Any:
    """The structure that a checkpoint of the run is read into."""

    def state() -> Any:
        model = transformer.create(recipe.model, *sizes, seed=0)
        return create_state(model.params)

    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return jax.tree.map(lambda leaf: leaf.update(sharding=device), jax.eval_shape(state))
