"""Search over any keys of a recipe (the paper's grid over μ and γ): each trial is a run, bad ones stop early."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from facetmt.errors import UserError
from facetmt.recipe import Recipe, load_recipe
from facetmt.runlog import RECIPE
from facetmt.train.display import Row
from facetmt.train.run import train

JOURNAL = "study.journal"
Grid = dict[str, list[Any]]
PAPER_GRID: Grid = {"schedule.learning_rate": [0.001, 0.01, 0.1], "schedule.exploration": [0.1, 0.25, 0.5]}


@dataclass(frozen=True)
class Trial:
    """One setting and how it did."""

    number: int
    settings: dict[str, Any]
    score: float | None  # best dev BLEU; None if it failed
    state: str  # complete, pruned, fail, running
    run: str  # name of its run directory


def parse_grid(words: Sequence[str]) -> Grid:
    """`key=a,b,c` a word; without words the paper's grid."""
    grid: Grid = {}
    for word in words:
        key, separator, values = word.partition("=")
        if not separator or not values:
            raise UserError(
                f"--grid {word}: write it as key=value,value, such as schedule.exploration=0.1,0.25"
            )
        grid[key] = [yaml.safe_load(value) for value in values.split(",")]
    return grid or PAPER_GRID


def tune(
    recipe: Path,
    out: Path,
    grid: Grid,
    overrides: Sequence[str],
    *,
    sampler: Literal["grid", "tpe"],
    trials: int | None,
    storage: str | None,
    seed: int,
) -> list[Trial]:
    """Run trials until the grid is done (or `trials` of them); another worker may call this at the same time."""
    optuna = import_optuna()
    load_settings(
        recipe, overrides, {key: values[0] for key, values in grid.items()}
    )  # a misspelt key fails now
    out.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        study_name="facetmt",
        direction="maximize",
        storage=open_storage(optuna, out, storage),
        load_if_exists=True,
        sampler=optuna.samplers.GridSampler(grid, seed=seed)
        if sampler == "grid"
        else optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.SuccessiveHalvingPruner(),
    )

    def objective(trial: Any) -> float:
        settings = {key: trial.suggest_categorical(key, values) for key, values in grid.items()}
        name = run_name(settings)
        trial.set_user_attr("run", name)
        chosen = load_settings(recipe, overrides, settings)
        resume = (out / name / RECIPE).is_file()
        outcome = train(chosen, out / name, resume=resume, watchers=[Pruner(optuna, trial)])
        if not outcome.finished:
            study.stop()
            raise optuna.TrialPruned
        return outcome.best[0] if outcome.best else 0.0

    study.optimize(objective, n_trials=trials, catch=())
    return results(study)


def import_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise UserError("tune needs the package optuna: pip install 'facetmt[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def open_storage(optuna: Any, out: Path, address: str | None) -> Any:
    """A journal file in the output folder, or a database that many machines share."""
    if address is not None:
        return address
    backend = optuna.storages.journal.JournalFileBackend(str(out / JOURNAL))
    return optuna.storages.JournalStorage(backend)


def load_settings(recipe: Path, overrides: Sequence[str], settings: Mapping[str, Any]) -> Recipe:
    return load_recipe(recipe, [*overrides, *(f"{key}={value}" for key, value in settings.items())])


def run_name(settings: Mapping[str, Any]) -> str:
    """The same setting has the same folder, so that an interrupted trial is resumed."""
    words = ",".join(f"{key.rsplit('.', 1)[-1]}={value}" for key, value in settings.items())
    clean = "".join(letter if letter.isalnum() or letter in "=,.-_" else "_" for letter in words)[:80]
    return f"{clean}-{hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:6]}"


class Pruner:
    """Tells the study each dev BLEU, and leaves the training when the study gives it up."""

    def __init__(self, optuna: Any, trial: Any) -> None:
        self._optuna, self._trial = optuna, trial

    def metrics(self, row: Row, shares: Mapping[str, float]) -> None:
        """Only validations count."""

    def validation(self, row: Row, best: bool) -> None:
        self._trial.report(row["bleu"]["average"], row["step"])
        if self._trial.should_prune():
            raise self._optuna.TrialPruned

    def say(self, text: str) -> None:
        """Nothing to say."""

    def close(self) -> None:
        """Nothing is held open."""


def results(study: Any) -> list[Trial]:
    """All trials of the study, best first."""
    found = [
        Trial(
            number=trial.number,
            settings=dict(trial.params),
            score=max(
                [*trial.intermediate_values.values(), *([trial.value] if trial.value is not None else [])],
                default=None,
            ),
            state=trial.state.name.lower(),
            run=trial.user_attrs.get("run", ""),
        )
        for trial in study.get_trials(deepcopy=False)
    ]
    return sorted(found, key=lambda trial: (trial.score is None, -(trial.score or 0.0)))
