"""The one schema of a recipe: YAML to frozen dataclasses, overlays, dotted overrides, errors with a line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

from facetmt.bandit.config import ScheduleConfig
from facetmt.data.config import BatchConfig, DataConfig
from facetmt.errors import UserError
from facetmt.model.config import ModelConfig
from facetmt.train.config import OptimiserConfig, TrainConfig
from facetmt.translate.config import DecodeConfig, EvaluateConfig

Key = tuple[str, ...]  # a dotted key, split
EXTENDS = "extends"
MOST_KEYS, DEEPEST = 100_000, 20  # aliases can make a small file spell out any number of keys
LOCATIONS: tuple[Key, ...] = (("prepared",), ("data", "root"))  # taken relative to the file that names them

# What may differ when a run is resumed: it changes neither the updates nor the draws nor dev BLEU.
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
    """A value of the command line, read as a recipe's values are; `where` begins the complaint."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        reason = getattr(error, "problem", None) or "it cannot be read"
        raise UserError(f"{where}: the value is not valid YAML ({reason}); fix or quote it") from None


def split_setting(word: str, where: str, example: str) -> tuple[str, Any]:
    """Key and value of `key=value`."""
    key, separator, text = word.partition("=")
    if not separator or not key:
        raise UserError(f"{where}: write it as key=value, such as {example}")
    return key, read_value(text, where)


def load_recipe(path: Path, overrides: Sequence[str] = (), values: Mapping[str, Any] | None = None) -> Recipe:
    """Read a recipe with what it extends, apply `key.key=value` overrides, then `values`, check everything."""
    tree, places = _read(path, ())
    written = deepcopy(tree)
    given: dict[Key, str] = {}  # what the command line set, and where
    for override in overrides:
        where = f"--set {override}"
        _set(tree, given, *split_setting(override, where, "--set train.steps=1000"), where)
    for name, value in (values or {}).items():
        _set(tree, given, name, value, f"{name}={value}")
    try:
        return _validated(tree, path)
    except ValidationError as error:
        blamed = {**places, **given, **_blamed(error, tree, _faults(written, path), given)}
        raise UserError(_complaint(error, tree, blamed, path)) from None


def check_lengths(recipe: Recipe) -> None:
    """Refuse rows that are too short for the longest pair that is kept; runs of old that went well still load."""
    longest, shortest = recipe.data.longest, min(recipe.batch.width)
    if longest > shortest:
        name = "length" if shortest == recipe.batch.length else "target_length"
        raise UserError(
            f"data.max_length is {longest}, but a row of a batch holds batch.{name} = {shortest} tokens; "
            "lower data.max_length or leave it out, or lengthen the rows"
        )


def dump_recipe(recipe: Recipe) -> str:
    """The resolved recipe as YAML that load_recipe reads back to an equal recipe."""
    return yaml.safe_dump(_plain(asdict(recipe)), sort_keys=False, allow_unicode=True)


def differences(old: Recipe, new: Recipe, harmless: Sequence[str] = HARMLESS) -> list[str]:
    """`key: old -> new` for each key that must not change between the two."""
    before, after = dict(_leaves(asdict(_effective(old)))), dict(_leaves(asdict(_effective(new))))
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    strict = [key for key in keys if not any(key == h or key.startswith(f"{h}.") for h in harmless)]
    return [f"{key}: {before.get(key)} -> {after.get(key)}" for key in strict]


def _effective(recipe: Recipe) -> Recipe:
    """The recipe with the longest pair that its rows can hold, whatever more `max_length` allows."""
    longest = min(recipe.data.longest, *recipe.batch.width)
    return replace(recipe, data=replace(recipe.data, max_length=longest))


def _read(path: Path, seen: tuple[Path, ...]) -> tuple[dict[str, Any], dict[Key, str]]:
    """The merged tree of a file and what it extends, and where each key was written."""
    if path.resolve() in seen:
        raise UserError(
            f"{path} extends itself through {' -> '.join(str(p) for p in seen)}; break the circle"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"there is no recipe {path}; check the path") from None
    except IsADirectoryError:
        inside = f", such as {path / 'recipe.yaml'}" if (path / "recipe.yaml").is_file() else ""
        raise UserError(f"{path} is a folder, not a recipe; give a YAML file{inside}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as UTF-8 text: {error}") from error
    try:
        node = yaml.compose(text, Loader=_Loader)
        tree = yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        raise UserError(_yaml_complaint(path, error)) from None
    except RecursionError:
        raise UserError(f"{path} is nested too deeply to be a recipe; see docs/recipes.md") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path} must hold keys and values, such as `data:`; see docs/recipes.md")
    places = {}
    for key, place in _places(node, path, ()):
        places[key] = place
        if len(places) > MOST_KEYS or len(key) > DEEPEST:
            raise UserError(
                f"{place}: the recipe is nested too deeply or repeats itself without end; write it out"
            )
    for location in LOCATIONS:
        _anchor(tree, location, path)
    base = tree.pop(EXTENDS, None)
    if base is None:
        return tree, places
    if not isinstance(base, str):
        raise UserError(f"{places[(EXTENDS,)]}: extends must be the path of another recipe")
    below, below_places = _read(path.parent / base, (*seen, path.resolve()))
    return _merged(below, tree), {**below_places, **places}


def _yaml_complaint(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
    return f"{where}: not a valid recipe ({getattr(error, 'problem', None) or error}); fix the YAML there"


def _places(node: yaml.Node, path: Path, key: Key) -> Iterator[tuple[Key, str]]:
    """(key, "file, line n") for every key below a node; a key written twice is an error."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for name, value in node.value:
            place = f"{path}, line {name.start_mark.line + 1}"
            if name.value in seen:
                raise UserError(f"{place}: the key {'.'.join((*key, name.value))} is written twice; keep one")
            seen.add(name.value)
            yield (*key, name.value), place
            yield from _places(value, path, (*key, name.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*key, str(index)), f"{path}, line {value.start_mark.line + 1}"
            yield from _places(value, path, (*key, str(index)))


def _anchor(tree: dict[str, Any], location: Key, path: Path) -> None:
    """Make a folder that is relative to the recipe that names it absolute."""
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
            raise UserError(f"{where}: {parent} holds a value, not a section")
    branch[last] = value
    given[key] = where
    if key in LOCATIONS:
        _anchor(tree, key, Path("recipe"))  # relative to the current folder, as any path on a command line


def _validated(tree: dict[str, Any], path: Path) -> Recipe:
    recipe = TypeAdapter(Recipe).validate_python(
        {"prepared": str((path.parent / "prepared").absolute()), **tree}
    )
    if recipe.data.max_length is not None:
        return recipe
    return _effective(recipe)


def _faults(tree: dict[str, Any], path: Path) -> list[tuple[Any, str]]:
    """Place and message of whatever is wrong with a tree."""
    try:
        _validated(tree, path)
        return []
    except ValidationError as error:
        return [(fault["loc"], fault["msg"]) for fault in error.errors()]


def _blamed(
    error: ValidationError, tree: dict[str, Any], written: list[tuple[Any, str]], given: Mapping[Key, str]
) -> dict[Key, str]:
    """The sections that only the command line made wrong, and what it set in them."""
    blamed = {}
    for fault in error.errors():
        section = _written_key(fault["loc"], tree)
        inside = [place for key, place in given.items() if key[: len(section)] == section]
        if inside and (fault["loc"], fault["msg"]) not in written:
            blamed[section] = ", ".join(inside)
    return blamed


def _complaint(error: ValidationError, tree: dict[str, Any], places: Mapping[Key, str], path: Path) -> str:
    """One sentence on the most specific fault: where it stands, what is wrong, what to do."""
    faults = [(_written_key(fault["loc"], tree), fault) for fault in error.errors()]
    key, fault = max(faults, key=lambda item: len(item[0]))
    known = next((key[:n] for n in range(len(key), 0, -1) if key[:n] in places), ())
    where = places[known] if known else str(path)
    name = ".".join(key)
    if fault["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        near = difflib.get_close_matches(key[-1], _keys_at(key[:-1]), n=1)
        hint = (
            f"did you mean {'.'.join((*key[:-1], near[0]))}?" if near else "see docs/recipes.md for the keys"
        )
        return f"{where}: there is no key {name}; {hint}"
    if fault["type"] in ("missing", "missing_argument"):
        return f"{where}: the key {name} is missing; add it (docs/recipes.md)"
    reason = str(fault["msg"]).removeprefix("Value error, ")
    given = "" if isinstance(fault["input"], dict) else f", not {fault['input']!r}"
    return f"{where}: {name}: {reason}{given if 'not' not in reason else ''}"


def _written_key(location: Sequence[str | int], tree: Any) -> Key:
    """pydantic's location without the names of union members that it puts in between."""
    key: Key = ()
    for index, part in enumerate(location):
        inside = part in tree if isinstance(tree, dict) else isinstance(tree, list) and isinstance(part, int)
        if inside:
            tree = tree[part]
        elif index < len(location) - 1 or not isinstance(tree, dict):
            continue
        key = (*key, str(part))
    return key


def _keys_at(key: Key) -> list[str]:
    """The keys that the schema knows at a place."""
    kind: Any = Recipe
    for part in key:
        if is_dataclass(kind):
            kind = get_type_hints(kind).get(part)
            options = [
                option
                for option in (kind, *get_args(kind))
                if is_dataclass(option) or get_origin(option) is dict
            ]
            kind = options[0] if options else None
        else:  # the value of a mapping from names
            kind = get_args(kind)[1] if get_args(kind) else None
    return [item.name for item in fields(kind)] if is_dataclass(kind) else []


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
