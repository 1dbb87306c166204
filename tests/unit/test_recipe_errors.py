"""Where a fault of a recipe is, and which key it is about."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from facetmt.errors import UserError
from facetmt.recipe_errors import Sources, keys_at, mentioned_key, places, written_key, yaml_complaint

PATH = Path("r.yaml")


def lines(text):
    return {
        ".".join(key): place.removeprefix("r.yaml, line ")
        for key, place in places(yaml.compose(text, yaml.SafeLoader), PATH, ())
    }


def test_every_key_has_its_line():
    found = lines("a:\n  b: 1\n  c: [x,\n    {d: 2}]\n")
    assert found == {"a": "1", "a.b": "2", "a.c": "3", "a.c.0": "3", "a.c.1": "4", "a.c.1.d": "4"}


def test_a_key_that_is_written_twice_is_refused_at_the_second_place():
    assert lines("a: {x: 1}\nb: {x: 1}\n")["b.x"] == "2"
    with pytest.raises(UserError, match=r"^r\.yaml, line 3: the key a\.x is written twice; keep one$"):
        lines("a:\n  x: 1\n  x: 2\n")


def test_broken_yaml_is_named_by_its_line_where_that_is_known():
    with pytest.raises(yaml.YAMLError) as caught:
        yaml.compose("a: 1\nb: [1\n", yaml.SafeLoader)
    assert yaml_complaint(PATH, caught.value).startswith("r.yaml, line 3: not a valid recipe (")
    assert yaml_complaint(PATH, yaml.YAMLError("odd")) == (
        "r.yaml: not a valid recipe (odd); fix the YAML there"
    )


FAULT = (("train", "steps"), "too few")


def test_a_fault_is_placed_at_the_nearest_key_that_was_written():
    sources = Sources(PATH, {("train",): "line 1", ("train", "steps"): "line 2"}, {}, [FAULT])
    assert sources.of(("train",), ("train", "steps"), FAULT) == (("train", "steps"), "line 2")
    assert sources.of(("train",), ("train", "keep"), FAULT) == (("train", "keep"), "line 1")
    assert sources.of(("model",), ("model",), FAULT) == (("model",), "r.yaml")


def test_what_the_command_line_broke_is_placed_there():
    given = {("train", "keep"): "--set train.keep=0"}
    written = {("train", "steps"): "line 2"}
    together = Sources(PATH, written, given, [])
    assert together.of(("train",), ("train", "steps"), FAULT) == (("train",), "--set train.keep=0")
    assert together.of(("train",), ("train", "keep"), FAULT)[1] == "--set train.keep=0"
    alone = Sources(PATH, written, given, [FAULT])  # the files have it without the command line too
    assert alone.of(("train",), ("train", "steps"), FAULT) == (("train", "steps"), "line 2")


def test_names_that_pydantic_inserts_are_left_out():
    tree = {"facets": {"it": {"limit": 0}}, "sets": [["a"]]}
    assert written_key(("facets", "dict[str,FacetConfig]", "it", "limit"), tree) == ("facets", "it", "limit")
    assert written_key(("sets", 0, "tuple", 0), tree) == ("sets", "0", "0")
    assert written_key(("facets", "it", "missing"), tree) == ("facets", "it", "missing")


def test_a_reason_may_name_the_key_that_it_is_about():
    tree = {"data": {"limit": 0, "clean": {"max_words": 0}}}
    assert mentioned_key(("data",), "limit is 0; give 1", tree) == ("data", "limit")
    assert mentioned_key(("data",), "clean.max_words must be", tree) == ("data", "clean", "max_words")
    assert mentioned_key(("data",), "root: missing", tree) == ("data",)  # not written there
    assert mentioned_key(("data",), "", tree) == ("data",)


@dataclass(frozen=True)
class Inner:
    depth: int = 1


@dataclass(frozen=True)
class Schema:
    inner: Inner | None = None
    named: dict[str, Inner] = field(default_factory=dict)


def test_the_keys_below_a_key_are_known_for_hints():
    assert keys_at(Schema, ()) == ["inner", "named"]
    assert keys_at(Schema, ("inner",)) == ["depth"]
    assert keys_at(Schema, ("named", "any")) == ["depth"]
    assert keys_at(Schema, ("inner", "depth")) == keys_at(Schema, ("wrong",)) == []
