"""The one schema of a recipe: YAML to frozen dataclasses, overlays, dotted overrides, errors with a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import yaml
from pydantic import TypeAdapter, ValidationError

from facetmt.bandit.config import ScheduleConfig
from facetmt.data.config import BatchConfig, DataConfig
from facetmt.errors import UserError
from facetmt.model.config import ModelConfig
from facetmt.recipe_errors import Faults, Key, Sources, complaint, faults_of, places, yaml_complaint
from facetmt.train.config import OptimiserConfig, TrainConfig
from facetmt.translate.config import DecodeConfig, EvaluateConfig

EXTENDS = "extends"
MOST_KEYS, DEEPEST = 100_000, 20  # aliases can make a small file spell out any number of keys
LOCATIONS: tuple[Key, ...] = (("prepared",), ("data", "root"))  # relative to the file that names them

# What may differ when a run is resumed: it affects neither the updates nor the draws nor dev BLEU.
HARMLESS: tuple[str, ...] = (
    "prepared",
    "data.root",
    "train.steps",
    "train.log_every",
    "train.keep",
    "train.keep_best",
    "train.patience",
    "train.tensorboard",
    "train.split_state",
    "train.agree_every",
    "decode.beam",  # validation has its own
    "decode.max_source",  # no dev pair is longer than data.max_length
    "decode.batch",
    "decode.average",
    "evaluate.groups",
    "evaluate.size_groups",
    "evaluate.sets",
    "evaluate.tag",
)
# What may differ when a trained model translates or is scored.
SCORING: tuple[str, ...] = (*HARMLESS, "decode", "evaluate")


@dataclass(frozen=True)
class Recipe:
    """Everything that a run depends on."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    data: DataConfig
    prepared: str = "prepared"  # folder of the token stores, relative to the recipe
    seed: int = 1  # of parameters, dropout, data order and pulls
    batch: BatchConfig = field(default_factory=BatchConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)


@dataclass(frozen=True)
class Overlay:
    """Keys that another file lays over a recipe, as one that `extends` it would."""

    path: Path  # folders in it are relative to this file
    tree: Mapping[str, Any]
    places: Mapping[Key, str]  # "file, line n" of each key


class _Loader(yaml.SafeLoader):
    """The safe loader, without YAML 1.1's surprise that `no` (Norwegian), `on` and `y` are booleans."""


_Loader.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in rows if tag != "tag:yaml.org,2002:bool" or key in "tTfF"]
    for key, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# YAML 1.2's 1e-3, which YAML 1.1 takes for a word
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def read_value(text: str, where: str) -> Any:
    """A value from the command line, read as in a recipe; an error starts with `where`."""
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        reason = getattr(error, "problem", None) or "it cannot be read"
        raise UserError(f"{where}: the value is not valid YAML ({reason}); fix or quote it") from None
    for key, one in value.items() if isinstance(value, dict) else ():
        if one is None and ":" in str(key):  # YAML reads {a:1} as the key `a:1` without a value
            spaced = str(key).replace(":", ": ", 1)
            raise UserError(f"{where}: {key} has no value; put a space after the colon: {{{spaced}}}")
    return value


def split_setting(word: str, where: str, example: str) -> tuple[str, Any]:
    """Key and value of `key=value`; an error starts with `where`."""
    key, separator, text = word.partition("=")
    if not separator or not key:
        raise UserError(f"{where}: write it as key=value, such as {example}")
    return key, read_value(text, where)


def load_recipe(
    path: Path,
    overrides: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    overlay: Overlay | None = None,
) -> Recipe:
    """Read a recipe and what it extends, apply overlay, `key.key=value` overrides, `values`; check it all."""
    tree, lines = _read(path, ())
    if overlay is not None:
        above = deepcopy(dict(overlay.tree))
        for location in LOCATIONS:
            _anchor(above, location, overlay.path)
        tree, lines = _merged(tree, above), {**lines, **overlay.places}
    written = deepcopy(tree)
    given: dict[Key, str] = {}  # the option that set each key
    for override in overrides:
        where = f"--set {override}"
        _set(tree, given, *split_setting(override, where, "--set train.steps=1000"), where)
    for name, value in (values or {}).items():
        _set(tree, given, name, value, f"{name}={value}")
    try:
        return _validated(tree, path)
    except ValidationError as error:
        sources = Sources(path, lines, given, _faults(written, path))
        raise UserError(complaint(error, tree, sources, Recipe)) from None


def check_settings(recipe: Recipe) -> None:
    """Refuse settings that contradict each other; not on loading, as earlier runs have them.

    Rows must hold the longest pair that is kept, and the learning rate must not be 0 before the last step.
    """
    longest, shortest = recipe.data.longest, min(recipe.batch.width)
    if longest > shortest:
        name = "length" if shortest == recipe.batch.length else "target_length"
        raise UserError(
            f"data.max_length is {longest}, but a row of a batch holds batch.{name} = {shortest} tokens; "
            f"lower data.max_length or leave it out, or raise batch.{name}"
        )
    steps, last = recipe.train.steps, recipe.optimiser.decay_until
    if last is not None and steps > last:
        raise UserError(
            f"train.steps is {steps}, but the learning rate is 0 after optimiser.decay_until = {last}; "
            "raise optimiser.decay_until or lower train.steps"
        )


def dump_recipe(recipe: Recipe) -> str:
    """The resolved recipe as YAML; load_recipe reads it back to an equal recipe."""
    return yaml.safe_dump(_plain(asdict(recipe)), sort_keys=False, allow_unicode=True)


def differences(old: Recipe, new: Recipe, harmless: Sequence[str] = HARMLESS) -> list[str]:
    """`key: old -> new` for each key that must not change between the two."""
    before, after = dict(_leaves(asdict(_effective(old)))), dict(_leaves(asdict(_effective(new))))
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    strict = [key for key in keys if not any(key == h or key.startswith(f"{h}.") for h in harmless)]
    return [f"{key}: {before.get(key)} -> {after.get(key)}" for key in strict]


def _effective(recipe: Recipe) -> Recipe:
    """The recipe with `max_length` lowered to what its rows can hold."""
    longest = min(recipe.data.longest, *recipe.batch.width)
    return replace(recipe, data=replace(recipe.data, max_length=longest))


def _read(path: Path, seen: tuple[Path, ...]) -> tuple[dict[str, Any], dict[Key, str]]:
    """The merged tree of a file and what it extends, and "file, line n" of each key."""
    if path.resolve() in seen:
        raise UserError(
            f"{path}: the recipe extends itself through {' -> '.join(str(p) for p in seen)}; break the circle"
        )
    tree, lines = read_tree(path, "recipe", "docs/recipes.md", "data")
    for location in LOCATIONS:
        _anchor(tree, location, path)
    base = tree.pop(EXTENDS, None)
    if base is None:
        return tree, lines
    if not isinstance(base, str):
        raise UserError(f"{lines[(EXTENDS,)]}: extends is not a path; give the path of another recipe")
    below, below_lines = _read(path.parent / base, (*seen, path.resolve()))
    return _merged(below, tree), {**below_lines, **lines}


def read_tree(path: Path, kind: str, manual: str, example: str) -> tuple[dict[str, Any], dict[Key, str]]:
    """The keys and values of a YAML file, and "file, line n" of each key; errors call the file a `kind`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such {kind}; check the path") from None
    except IsADirectoryError:
        inside = f", such as {path / 'recipe.yaml'}" if (path / "recipe.yaml").is_file() else ""
        raise UserError(f"{path}: this is a folder, not a {kind}; give a YAML file{inside}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({error}); convert the file") from error
    try:
        node = yaml.compose(text, Loader=_Loader)
        tree = yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        raise UserError(yaml_complaint(path, error, kind)) from None
    except RecursionError:
        raise UserError(f"{path}: nested too deeply for a {kind}; see {manual}") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path}: not keys and values, such as `{example}:`; see {manual}")
    return tree, _bounded_places(node, path, kind)


def _bounded_places(node: yaml.Node, path: Path, kind: str) -> dict[Key, str]:
    """Where each key was written; refuses what aliases blow up."""
    lines = {}
    for key, place in places(node, path, ()):
        lines[key] = place
        if len(lines) > MOST_KEYS or len(key) > DEEPEST:
            raise UserError(
                f"{place}: the {kind} is nested too deeply or repeats itself without end; write it out"
            )
    return lines


def _anchor(tree: dict[str, Any], location: Key, path: Path) -> None:
    """Make a folder absolute that is relative to the recipe that names it."""
    *parents, last = location
    branch: Any = tree
    for parent in parents:
        branch = branch.get(parent) if isinstance(branch, dict) else None
    if isinstance(branch, dict) and isinstance(branch.get(last), str):
        branch[last] = str((path.parent / branch[last]).absolute())


def _merged(below: Any, above: Any) -> Any:
    """Mappings are merged key by key; anything else above replaces what is below."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}
    return above


def _set(tree: dict[str, Any], given: dict[Key, str], name: str, value: Any, where: str) -> None:
    """Put a value from the command line into the tree."""
    *parents, last = key = tuple(name.split("."))
    branch = tree
    for parent in parents:
        branch = branch.setdefault(parent, {})
        if not isinstance(branch, dict):
            raise UserError(f"{where}: {parent} has a value, so it has no keys; see docs/recipes.md")
    branch[last] = value
    given[key] = where
    if key in LOCATIONS:
        _anchor(tree, key, Path("recipe"))  # relative to the current folder, like any path on a command line


def _validated(tree: dict[str, Any], path: Path) -> Recipe:
    recipe = TypeAdapter(Recipe).validate_python(
        {"prepared": str((path.parent / "prepared").absolute()), **tree}
    )
    if recipe.data.max_length is not None:
        return recipe
    return _effective(recipe)


def _faults(tree: dict[str, Any], path: Path) -> Faults:
    """Whatever is wrong with a tree."""
    try:
        _validated(tree, path)
        return []
    except ValidationError as error:
        return faults_of(error)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _leaves(tree: Mapping[str, Any], key: Key = ()) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*key, str(name)))
        else:
            yield ".".join((*key, str(name))), value
