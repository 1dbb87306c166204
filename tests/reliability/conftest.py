"""Undisturbed runs and the means to disturb others; a small corpus; error messages of the command."""

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from facetmt.data.config import DataConfig, VocabConfig
from facetmt.data.prepare import prepare

_spec = importlib.util.spec_from_file_location("lives", Path(__file__).with_name("lives.py"))
_lives = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_lives)


@pytest.fixture(scope="session")
def lives() -> ModuleType:
    """The module lives: start, kill_once, finish, differences, ..."""
    return _lives


@pytest.fixture(scope="session")
def undisturbed(project) -> Callable[[str], Path]:
    """Name of a schedule -> a complete run of it, trained once."""

    @cache
    def train(schedule: str) -> Path:
        run = project / f"undisturbed-{schedule}"
        _lives.finish(project, run, _lives.SCHEDULES[schedule])
        return run

    return train


CONFIG = DataConfig(
    root="corpus",
    source="de",
    target="en",
    dev_pairs=7,
    max_length=40,
    vocab=VocabConfig("bpe", 120, coverage=1.0),
)


@pytest.fixture
def prepare_corpus(tmp_path):
    """Prepare tmp_path/corpus into tmp_path/out, with changes to the settings of `data:`."""

    def go(**changes):
        return prepare(replace(CONFIG, **changes), tmp_path, tmp_path / "out", overwrite=bool(changes))

    return go


@pytest.fixture
def refusal(monkeypatch, capsys):
    """The command's answer to a user error: one sentence on stderr, exit code 2, no traceback."""
    from facetmt.cli import main

    def run(*arguments: object) -> str:
        monkeypatch.setattr("sys.argv", ["facetmt", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr().err
        assert left.value.code == 2 and "Traceback" not in said
        assert said.startswith("facetmt: ") and said.count("\n") == 1
        return said

    return run
