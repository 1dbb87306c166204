"""The generator of run directories, for every test of the report."""

import importlib.util
from pathlib import Path

import pytest

from facetmt.runlog import Run

_spec = importlib.util.spec_from_file_location("fake_runs", Path(__file__).with_name("fake_runs.py"))
fake_runs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fake_runs)


@pytest.fixture(scope="session")
def fake():
    """The module fake_runs: write_run(directory, ...), many_facets(count), HOSTILE."""
    return fake_runs


@pytest.fixture(scope="session")
def bandit_dir(tmp_path_factory):
    return fake_runs.write_run(tmp_path_factory.mktemp("runs") / "bandit", steps=1500, sentences=20)


@pytest.fixture(scope="session")
def mixed_dir(tmp_path_factory):
    return fake_runs.write_run(
        tmp_path_factory.mktemp("runs") / "mixed", policy="mixed", steps=1500, sentences=20
    )


@pytest.fixture(scope="session")
def auto_dir(tmp_path_factory):
    """Batches of several facets, in shares that were changed for stated reasons."""
    return fake_runs.write_run(
        tmp_path_factory.mktemp("runs") / "auto", policy="auto", steps=1500, sentences=20
    )


@pytest.fixture(scope="session")
def blend_dir(tmp_path_factory):
    """A bandit whose batches have rows of several facets."""
    return fake_runs.write_run(
        tmp_path_factory.mktemp("runs") / "blend", batches="mixed", steps=1500, sentences=20
    )


@pytest.fixture(scope="session")
def static_dir(tmp_path_factory):
    return fake_runs.write_run(
        tmp_path_factory.mktemp("runs") / "tau5", policy="static", tau=5.0, steps=1500, sentences=20
    )


@pytest.fixture(scope="session")
def seeds(tmp_path_factory):
    """Three runs of one recipe."""
    folder = tmp_path_factory.mktemp("seeds")
    return [Run(fake_runs.write_run(folder / f"s{n}", steps=200, seed=n, sentences=40)) for n in (1, 2, 3)]
