"""The folder of a study: which cells it has, where they are, and which of them are finished."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.report.digest import finished
from facetmt.runlog import RECIPE, SCORES, VALIDATION, Run

STUDY, SUMMARY, RECIPES, CELLS, LOGS = "study.json", "summary.json", "recipes", "cells", "logs"
VERSION = 1


@dataclass(frozen=True)
class Cell:
    """One run of a study: a system and a seed."""

    system: str
    seed: int

    def __str__(self) -> str:
        return f"{self.system},{self.seed}"

    def run(self, folder: Path) -> Path:
        """Its run directory."""
        return folder / CELLS / self.system / str(self.seed)

    def about(self, folder: Path) -> Path:
        """Beside the run directory: the versions that it was run with."""
        return self.run(folder).with_suffix(".json")

    def log(self, folder: Path) -> Path:
        """What its processes said."""
        return folder / LOGS / self.system / f"{self.seed}.log"


@dataclass(frozen=True)
class System:
    """A row of the study's tables."""

    overrides: str  # what it changes in the base recipe, as YAML on one line
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Folder:
    """What study.json says."""

    path: Path
    recipe: str  # the base recipe, resolved
    baseline: str
    systems: Mapping[str, System]  # by name, in the order of the study file

    @property
    def cells(self) -> list[Cell]:
        """All cells, the baseline's first, then system by system."""
        names = [self.baseline, *(name for name in self.systems if name != self.baseline)]
        return [Cell(name, seed) for name in names for seed in self.systems[name].seeds]

    def finished(self) -> list[Cell]:
        return [cell for cell in self.cells if is_finished(cell.run(self.path))]


def study_json(recipe: str, baseline: str, systems: Mapping[str, System]) -> str:
    """The content of study.json."""
    table = {name: {"overrides": one.overrides, "seeds": list(one.seeds)} for name, one in systems.items()}
    content = {"version": VERSION, "recipe": recipe, "baseline": baseline, "systems": table}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def open_folder(path: Path) -> Folder:
    """A folder that `facetmt study` made; an error says if it is none."""
    try:
        content: dict[str, Any] = json.loads((path / STUDY).read_text(encoding="utf-8"))
        systems = {
            name: System(row["overrides"], tuple(row["seeds"])) for name, row in content["systems"].items()
        }
        version, folder = content["version"], Folder(path, content["recipe"], content["baseline"], systems)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(
            f"{path}: not the folder of a study; give one that `facetmt study STUDY.yaml --out` made"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{path / STUDY}: damaged; run the study again to write it anew") from None
    if version != VERSION:
        raise UserError(f"{path / STUDY}: written by another version of facetmt; use that one")
    return folder


def is_finished(run: Path) -> bool:
    """Whether a cell is trained to its end and validated there, and its scores are of that training."""
    if not all((run / name).is_file() for name in (RECIPE, SCORES, VALIDATION)):
        return False
    try:
        logs, recipe = Run(run), load_recipe(run / RECIPE)
        last, validation, scores = logs.last_step, logs.validation, logs.scores or {}
    except UserError:  # damaged: whoever goes on with the cell says so
        return False
    return (
        finished(recipe, last, validation)
        and bool(validation)
        and validation[-1]["step"] == last
        and scores.get("trained_steps") == last
    )


def one_cell(cells: Sequence[Cell], word: str) -> Cell:
    """The cell that `NAME,SEED` names."""
    found = next((cell for cell in cells if str(cell) == word), None)
    if found is None:
        listed = "; ".join(map(str, cells[:6])) + ("; ..." if len(cells) > 6 else "")
        raise UserError(f"--cell {word}: the study has no such cell; `--cells` lists them: {listed}")
    return found
