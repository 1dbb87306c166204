"""Errors in a recipe: one sentence that names the file, the line, the key, and the nearest valid key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import yaml
from pydantic import ValidationError

from facetmt.errors import UserError

Key = tuple[str, ...]  # a dotted key, split
Faults = list[tuple[Any, str]]  # location and message of each


def yaml_complaint(path: Path, error: yaml.YAMLError, kind: str = "recipe") -> str:
    """A file that is not valid YAML."""
    mark = getattr(error, "problem_mark", None)
    where = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
    return f"{where}: not a valid {kind} ({getattr(error, 'problem', None) or error}); fix the YAML there"


def places(node: yaml.Node, path: Path, key: Key) -> Iterator[tuple[Key, str]]:
    """(key, "file, line n") for every key below a node; a key that is written twice is an error."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for name, value in node.value:
            place = f"{path}, line {name.start_mark.line + 1}"
            if name.value in seen:
                raise UserError(f"{place}: the key {'.'.join((*key, name.value))} is written twice; keep one")
            seen.add(name.value)
            yield (*key, name.value), place
            yield from places(value, path, (*key, name.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*key, str(index)), f"{path}, line {value.start_mark.line + 1}"
            yield from places(value, path, (*key, str(index)))


@dataclass(frozen=True)
class Sources:
    """Where the keys of a recipe come from."""

    path: Path
    places: Mapping[Key, str]  # "file, line n" of every key that a file has
    given: Mapping[Key, str]  # what the command line set, by key
    file_faults: Faults  # what is wrong with the files alone

    def of(self, section: Key, key: Key, fault: tuple[Any, str]) -> tuple[Key, str]:
        """Key and place to name for a fault that was found in a section and is about `key`."""
        inside = [place for one, place in self.given.items() if one[: len(section)] == section]
        if inside and fault not in self.file_faults and key not in self.given:
            return section, ", ".join(inside)  # only together with the command line is it wrong
        known = {**self.places, **self.given}
        near = next((key[:n] for n in range(len(key), 0, -1) if key[:n] in known), None)
        return key, str(self.path) if near is None else known[near]


def faults_of(error: ValidationError) -> Faults:
    return [(fault["loc"], fault["msg"]) for fault in error.errors()]


def complaint(error: ValidationError, tree: dict[str, Any], sources: Sources, schema: type) -> str:
    """One sentence on the most specific fault: where it is, what is wrong, what to do."""
    faults = [(written_key(fault["loc"], tree), fault) for fault in error.errors()]
    section, fault = max(faults, key=lambda item: len(item[0]))
    reason = str(fault["msg"]).removeprefix("Value error, ")
    key, where = sources.of(section, mentioned_key(section, reason, tree), (fault["loc"], fault["msg"]))
    name = ".".join(key)
    if fault["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        near = difflib.get_close_matches(key[-1], keys_at(schema, key[:-1]), n=1)
        hint = (
            f"did you mean {'.'.join((*key[:-1], near[0]))}?" if near else "see docs/recipes.md for the keys"
        )
        return f"{where}: there is no key {name}; {hint}"
    if fault["type"] in ("missing", "missing_argument"):
        return f"{where}: the key {name} is missing; add it (docs/recipes.md)"
    given = "" if isinstance(fault["input"], dict) else f", not {fault['input']!r}"
    return f"{where}: {name}: {reason}{given if 'not' not in reason else ''}"


def written_key(location: Sequence[str | int], tree: Any) -> Key:
    """pydantic's location without the names of union members that it inserts."""
    key: Key = ()
    for index, part in enumerate(location):
        inside = part in tree if isinstance(tree, dict) else isinstance(tree, list) and isinstance(part, int)
        if inside:
            tree = tree[part]
        elif index < len(location) - 1 or not isinstance(tree, dict):
            continue
        key = (*key, str(part))
    return key


def mentioned_key(section: Key, reason: str, tree: Any) -> Key:
    """The key that a reason starts with ("tau must be ..."), if it was written in the section; else that."""
    for part in section:
        tree = tree.get(part) if isinstance(tree, dict) else None
    key = section
    for part in (reason.split() or [""])[0].rstrip(",:;").split("."):
        if not isinstance(tree, dict) or part not in tree:
            return section
        key, tree = (*key, part), tree[part]
    return key


def keys_at(schema: type, key: Key) -> list[str]:
    """The keys that the schema knows below a key."""
    kind: Any = schema
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
