"""Search over keys of a recipe (the paper's grid over μ and γ): one run per setting, bad ones stop early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

from facetmt.console import Tell
from facetmt.errors import UserError
from facetmt.files import claimed
from facetmt.recipe import Recipe, check_settings, load_recipe
from facetmt.runlog import RECIPE
from facetmt.train.display import Row
from facetmt.train.run import train
from facetmt.train.trials import Grid, Settings, Trial, describe, lock_of, machine_and_folder, run_name

JOURNAL = "study.journal"
PREPARED = ("data.", "batch.")  # keys that change what is prepared; rows bound the longest pair
AGAIN = ("interrupted", "failed")  # states of a setting that the next call tries again


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
    tell: Tell = lambda line: None,
) -> tuple[list[Trial], bool]:
    """Try settings until the grid is done, or `trials` of them; several workers may do so at once.

    Returns every setting, best first, and False if a signal stopped the search.
    """
    optuna = import_optuna()
    if sampler == "tpe" and trials is None:
        raise UserError(
            "--sampler tpe: this search never ends; say how many settings to try, such as --trials 20"
        )
    out.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        study_name="facetmt",
        direction="maximize",
        storage=open_storage(optuna, out, storage),
        load_if_exists=True,
        pruner=optuna.pruners.SuccessiveHalvingPruner(),
    )
    search = Search(optuna, study, recipe, out, grid, overrides, whole=sampler == "grid")
    search.check()
    tried: set[str] = set()
    while trials is None or len(tried) < trials:
        settings = search.next(tried)
        if settings is None and search.whole:
            break
        fresh = seed + len(study.get_trials(deepcopy=False))  # a new sampler must not repeat the draws
        study.sampler = (
            point_sampler(optuna, settings) if settings else optuna.samplers.TPESampler(seed=fresh)
        )
        if not search.run(tried, tell):
            return search.trials(), False
    return search.trials(), True


@dataclass(frozen=True)
class Search:
    """A study, the settings that it may try, and where their runs are."""

    optuna: Any
    study: Any
    recipe: Path
    out: Path
    grid: Grid
    overrides: Sequence[str]
    whole: bool  # every point of the grid, not only those that a sampler picks

    def load(self, settings: Settings) -> Recipe:
        """The recipe with a setting; text that is prepared differently gets a folder of its own."""
        values = dict(settings)
        if data := {key: value for key, value in settings.items() if key.startswith(PREPARED)}:
            values["prepared"] = str((self.out / f"prepared-{run_name(data)}").absolute())
        chosen = load_recipe(self.recipe, self.overrides, values)
        check_settings(chosen)
        return chosen

    def points(self) -> list[Settings]:
        """Every point of the grid."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

    def check(self) -> None:
        """Refuse a misspelt key or an impossible value at once, and values that differ from the study's."""
        first = {key: values[0] for key, values in self.grid.items()}
        variants = ({**first, key: value} for key, values in self.grid.items() for value in values)
        schedules = [self.load(settings).schedule for settings in variants]
        for rate in ("learning_rate", "exploration"):
            if f"schedule.{rate}" in self.grid and not any(rate in one.row.rates for one in schedules):
                raise UserError(
                    f"--grid: policy {schedules[0].policy} has no schedule.{rate} to tune; "
                    "give other keys, or --set schedule.policy=exp3"
                )
        for trial in self.study.get_trials(deepcopy=False):
            for key, known in trial.distributions.items():
                if key in self.grid and tuple(self.grid[key]) != tuple(known.choices):
                    before = ",".join(map(str, known.choices))
                    raise UserError(
                        f"{self.out}: the study there tries {key}={before}; "
                        "give the same --grid or another --out"
                    )

    def next(self, tried: set[str]) -> Settings | None:
        """A setting that was interrupted; else, of the whole grid, one that was never tried."""
        known = {trial.run: trial for trial in self.trials()}
        left = [trial.settings for trial in known.values() if trial.state in AGAIN]
        new = [point for point in self.points() if run_name(point) not in known] if self.whole else []
        return next((one for one in (*left, *new) if run_name(one) not in tried), None)

    def run(self, tried: set[str], tell: Tell) -> bool:
        """Train the sampler's setting, from the start or a checkpoint; False if a signal stopped it."""
        trial = self.study.ask()
        settings = {key: trial.suggest_categorical(key, values) for key, values in self.grid.items()}
        run = self.out / run_name(settings)
        tried.add(run.name)
        with claimed(lock_of(run)) as free:
            if not free:  # another worker was quicker
                self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
                return True
            trial.set_user_attr("run", run.name)
            trial.set_user_attr("place", machine_and_folder(run))
            resume = (run / RECIPE).is_file()
            number = (
                f"{self.points().index(settings) + 1} of {len(self.points())}" if self.whole else len(tried)
            )
            tell(f"setting {number}, {describe(settings)}: {'continued' if resume else 'new'}, {run}")
            return self._train(trial, run, settings, resume)

    def _train(self, trial: Any, run: Path, settings: Settings, resume: bool) -> bool:
        states, finished = self.optuna.trial.TrialState, True
        try:
            watcher = Pruner(self.optuna, trial)
            outcome = train(self.load(settings), run, resume=resume, watchers=[watcher])
            finished = outcome.finished
            if finished:
                self.study.tell(trial, outcome.best[0] if outcome.best else 0.0)
            else:
                self.study.tell(trial, state=states.FAIL)
        except self.optuna.TrialPruned:
            self.study.tell(trial, state=states.PRUNED)
        except UserError as error:
            trial.set_user_attr("error", str(error))
            self.study.tell(trial, state=states.FAIL)
        except BaseException:
            self.study.tell(trial, state=states.FAIL)
            raise
        return finished

    def trials(self) -> list[Trial]:
        """Every setting that was tried, once, best first."""
        found: dict[str, list[Any]] = {}
        for trial in self.study.get_trials(deepcopy=False):
            if trial.params.keys() == self.grid.keys():
                found.setdefault(trial.user_attrs.get("run") or run_name(trial.params), []).append(trial)
        merged = [self._merged(name, tries) for name, tries in found.items()]
        return sorted(merged, key=lambda trial: (trial.score is None, -(trial.score or 0.0)))

    def _merged(self, name: str, tries: Sequence[Any]) -> Trial:
        """The trials of one setting, which has several if it was interrupted and resumed, as one."""
        states = [self._state(trial) for trial in tries]
        state = next((one for one in ("complete", "pruned", "running") if one in states), states[-1])
        scores = [score for trial in tries for score in (trial.value, *trial.intermediate_values.values())]
        best = max((score for score in scores if score is not None), default=None)
        settings = {key: tries[-1].params[key] for key in self.grid}
        return Trial(settings, best, state, name, tries[-1].user_attrs.get("error"))

    def _state(self, trial: Any) -> str:
        name: str = trial.state.name.lower()
        if name == "fail":
            return "failed" if "error" in trial.user_attrs else "interrupted"
        return "interrupted" if name == "running" and self._is_dead(trial) else name

    def _is_dead(self, trial: Any) -> bool:
        """Whether the worker of a running trial is gone; known only if its lock is on this machine."""
        run = self.out / str(trial.user_attrs.get("run"))
        if trial.user_attrs.get("place") != machine_and_folder(run):
            return False
        with claimed(lock_of(run)) as free:
            return free


def import_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise UserError("tune: the package optuna is missing; pip install 'facetmt[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def point_sampler(optuna: Any, settings: Settings) -> Any:
    """Draws these settings; optuna's own grid counts an interrupted trial as done."""

    class Point(optuna.samplers.BaseSampler):  # type: ignore[misc]
        def infer_relative_search_space(self, study: Any, trial: Any) -> Settings:
            return {}

        def sample_relative(self, study: Any, trial: Any, search_space: Any) -> Settings:
            return {}

        def sample_independent(self, study: Any, trial: Any, param_name: str, distribution: Any) -> Any:
            return settings[param_name]

    return Point()


def open_storage(optuna: Any, out: Path, address: str | None) -> Any:
    """A journal file in the output folder, or a database that many machines share."""
    if address is not None:
        return address
    backend = optuna.storages.journal.JournalFileBackend(str(out / JOURNAL))
    return optuna.storages.JournalStorage(backend)


class Pruner:
    """Reports each dev BLEU to the study, and leaves the training when the study prunes it."""

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
