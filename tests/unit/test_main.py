"""The guard around the command line: what is not installed is one sentence, what is broken a traceback."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from facetmt.__main__ import EXTRAS, main

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IMPORTED_AS = {"orbax-checkpoint": "orbax", "pyyaml": "yaml"}


def names(requirements):
    """Import names of the third-party packages of an extra."""
    found = (re.split(r"[\[<>=;]", text)[0] for text in requirements)
    return {IMPORTED_AS.get(name, name) for name in found if name != "facetmt"}


def test_the_base_needs_numpy_alone():
    assert names(PROJECT["dependencies"]) == {"numpy"}


def test_every_package_is_listed_with_its_extra():
    extras = {extra: rows for extra, rows in PROJECT["optional-dependencies"].items() if extra != "dev"}
    assert {name: extra for extra, rows in extras.items() for name in names(rows)} == EXTRAS


def leave(monkeypatch, missing: str, statement: str) -> SystemExit | ModuleNotFoundError:
    """What `facetmt` ends with where the verb runs `statement`."""

    def verb() -> None:
        raise ModuleNotFoundError(f"No module named {statement!r}", name=statement)

    monkeypatch.setattr("facetmt.cli.main", verb)
    if missing:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else object())
    with pytest.raises((SystemExit, ModuleNotFoundError)) as left:
        main()
    return left.value


def test_a_missing_package_is_one_sentence(monkeypatch, capsys):
    left = leave(monkeypatch, "optuna", "optuna.samplers")
    assert isinstance(left, SystemExit) and left.code == 2
    assert capsys.readouterr().err == (
        "facetmt: this needs the package optuna, which is not installed; pip install 'facetmt[tune]'\n"
    )


@pytest.mark.parametrize("name", ["jax.missing", "facetmt.missing", "some_plugin"])
def test_a_fault_is_not_taken_for_a_missing_package(monkeypatch, name):
    assert isinstance(leave(monkeypatch, "", name), ModuleNotFoundError)


def test_a_missing_command_line_is_told_too(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.split(".")[0] in ("typer", "facetmt")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert capsys.readouterr().err.endswith(
        "package typer, which is not installed; pip install 'facetmt[mt]'\n"
    )
