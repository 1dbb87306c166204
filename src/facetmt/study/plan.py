"""The study file: one base recipe, seeds, and systems that each change some of its keys."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

import yaml

from facetmt.data.manifest import settings_of
from facetmt.data.names import fault
from facetmt.errors import UserError
from facetmt.files import sha256_of
from facetmt.recipe import Overlay, Recipe, differences, load_recipe, read_tree
from facetmt.recipe_errors import Key
from facetmt.report.studies.folder import Cell
from facetmt.train.corpus import check_recipe

MANUAL = "docs/studies.md"
KEYS = ("recipe", "seeds", "baseline", "systems")
OF_SYSTEM = "seeds"  # a key of a system that is not one of the recipe
LOCATIONS = ("prepared", "data.root")  # where files are does not change a cell

Places = Mapping[Key, str]


@dataclass(frozen=True)
class System:
    """A name, what it changes in the base recipe, and its seeds."""

    name: str
    overrides: Mapping[str, Any]
    seeds: tuple[int, ...]
    recipe: Recipe  # the base recipe with the overrides

    def with_seed(self, seed: int) -> Recipe:
        return replace(self.recipe, seed=seed)

    @property
    def described(self) -> str:
        """The overrides as YAML on one line."""
        text = yaml.safe_dump(
            dict(self.overrides), sort_keys=False, allow_unicode=True, default_flow_style=True, width=1e9
        )
        return text.strip()


@dataclass(frozen=True)
class Study:
    """A study file, read and checked."""

    path: Path
    base: Recipe
    systems: tuple[System, ...]
    baseline: str

    @property
    def cells(self) -> list[Cell]:
        """In the order in which they are run: the first seed of every system, then the second, ..."""
        rows = zip_longest(*([Cell(one.name, seed) for seed in one.seeds] for one in self.systems))
        return [cell for row in rows for cell in row if cell is not None]

    def system(self, name: str) -> System:
        return next(one for one in self.systems if one.name == name)

    def recipe_of(self, cell: Cell) -> Recipe:
        return self.system(cell.system).with_seed(cell.seed)


def load_study(path: Path, out: Path) -> Study:
    """Read a study file; a system whose text is prepared differently gets a folder in `out` for it."""
    tree, places = read_tree(path, "study", MANUAL, "recipe")
    for key in tree:
        if key not in KEYS:
            near = difflib.get_close_matches(str(key), KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
            raise UserError(f"{places[(str(key),)]}: there is no key {key}; {hint}")
    for key in ("recipe", "systems"):
        if key not in tree:
            raise UserError(f"{path}: the key {key} is missing; add it ({MANUAL})")
    if not isinstance(tree["recipe"], str):
        raise UserError(f"{places[('recipe',)]}: recipe is not a path; give the path of a recipe")
    file = path.parent / tree["recipe"]
    if not file.is_file():
        raise UserError(f"{places[('recipe',)]}: there is no recipe {file}; the path is relative to {path}")
    base = load_recipe(file)
    check_recipe(base)
    seeds = read_seeds(tree.get("seeds", [base.seed]), places.get(("seeds",), str(path)))
    systems = read_systems(tree["systems"], path, file, seeds, places)
    baseline = tree.get("baseline", systems[0].name)
    if baseline not in [one.name for one in systems]:
        names = ", ".join(one.name for one in systems)
        raise UserError(
            f"{places[('baseline',)]}: there is no system {baseline}; choose the baseline among {names}"
        )
    return Study(path, base, tuple(own_text(one, base, out) for one in systems), baseline)


def read_systems(tree: Any, path: Path, recipe: Path, seeds: tuple[int, ...], places: Places) -> list[System]:
    where = places[("systems",)]
    if not isinstance(tree, dict) or not tree:
        raise UserError(
            f"{where}: systems is not a table of names; write each system as a name and its keys ({MANUAL})"
        )
    check_names(list(tree), where)
    systems = [
        read_system(name, {} if keys is None else keys, path, recipe, seeds, places)
        for name, keys in tree.items()
    ]
    for first, second in combinations(systems, 2):
        if not differences(first.recipe, second.recipe, ("prepared",)):
            raise UserError(
                f"{places[('systems', second.name)]}: {second.name} is the same as {first.name}; remove one"
            )
    return systems


def check_names(names: Sequence[Any], where: str) -> None:
    """Each name becomes a folder, and no two may be the same one on any file system."""
    seen: dict[str, str] = {}
    for name in names:
        if reason := fault(name):
            raise UserError(f"{where}: {name!r} cannot name a system {reason}; rename it")
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise UserError(f"{where}: the systems {other} and {name} differ in case alone; rename one")


def read_system(
    name: str, keys: Any, path: Path, recipe: Path, seeds: tuple[int, ...], places: Places
) -> System:
    where = places[("systems", name)]
    if not isinstance(keys, dict):
        raise UserError(f"{where}: {name} is not a table of keys; write the keys that it changes, or {{}}")
    own = {key[2:]: place for key, place in places.items() if key[:2] == ("systems", name) and key[2:]}
    if "seed" in keys:
        raise UserError(f"{own[('seed',)]}: a system has no seed of its own; write `seeds: [1, 2]`")
    overrides = {key: value for key, value in keys.items() if key != OF_SYSTEM}
    seeds = read_seeds(keys[OF_SYSTEM], own[(OF_SYSTEM,)]) if OF_SYSTEM in keys else seeds
    loaded = load_recipe(recipe, overlay=Overlay(path, overrides, own))
    try:
        check_recipe(loaded)
    except UserError as error:
        raise UserError(f"{where}: {name}: {error}") from None
    return System(name, overrides, seeds, loaded)


def read_seeds(value: Any, where: str) -> tuple[int, ...]:
    whole = isinstance(value, list) and all(isinstance(one, int) and one >= 0 for one in value)
    if not whole or not value or any(isinstance(one, bool) for one in value):
        raise UserError(f"{where}: seeds is not a list of whole numbers; write it as [1, 2, 3]")
    if len(set(value)) < len(value):
        raise UserError(f"{where}: a seed is listed twice in {value}; keep one")
    return tuple(value)


def own_text(system: System, base: Recipe, out: Path) -> System:
    """Text that is prepared differently needs another folder, unless the system names one itself."""
    data = system.recipe.data
    own = [data.root, settings_of(data)]
    if "prepared" in system.overrides or own == [base.data.root, settings_of(base.data)]:
        return system
    folder = (out / "prepared" / sha256_of(own)[:12]).absolute()
    return replace(system, recipe=replace(system.recipe, prepared=str(folder)))
