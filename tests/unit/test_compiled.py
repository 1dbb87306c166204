"""Compiled code is kept whole, shared, bounded, and only where the user allows it."""

import os
import subprocess
import sys

import pytest

from facetmt import compiled
from facetmt.compiled import JAX_FOLDER, folder, kept


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.setenv("FACETMT_CACHE", str(tmp_path))
    monkeypatch.delenv(JAX_FOLDER, raising=False)
    return folder()


def own():
    return compiled.Path(os.environ[JAX_FOLDER])


def test_what_one_process_compiles_the_next_one_finds(shared):
    with kept():
        (own() / "jit_step-abc-cache").write_bytes(b"code")
        assert not list(shared.glob("*-cache"))  # not before it is whole
    assert JAX_FOLDER not in os.environ
    with kept():
        assert (own() / "jit_step-abc-cache").read_bytes() == b"code"
    assert [path.name for path in shared.iterdir()] == ["jit_step-abc-cache"]


def test_two_processes_may_compile_the_same(shared):
    with kept():
        (own() / "x-cache").write_bytes(b"first")
        with_other = {key: value for key, value in os.environ.items() if key != JAX_FOLDER}
        code = (
            "from facetmt.compiled import kept; import os, pathlib\n"
            "with kept(): (pathlib.Path(os.environ['JAX_COMPILATION_CACHE_DIR']) / 'x-cache').write_text('2')"
        )
        subprocess.run([sys.executable, "-c", code], env=with_other, check=True)
        assert own().is_dir()  # the other one cleared up, but not here
    assert (shared / "x-cache").read_bytes() == b"2"


def test_what_a_killed_process_left_is_removed_and_never_used(shared):
    left = shared / ".process-killed"
    left.mkdir(parents=True)
    (left / "half-cache").write_bytes(b"ha")
    with kept():
        assert not list(own().glob("*-cache"))
    assert not left.exists()


def test_the_oldest_go_beyond_the_limit(shared, monkeypatch):
    monkeypatch.setattr(compiled, "LIMIT", 25)
    with kept():
        for age, name in enumerate("abc"):
            path = own() / f"{name}-cache"
            path.write_bytes(b"0123456789")
            os.utime(path, (1000 - age, 1000 - age))
    assert sorted(path.name for path in shared.iterdir()) == ["a-cache", "b-cache"]


@pytest.mark.parametrize(("name", "value"), [("FACETMT_CACHE", "off"), (JAX_FOLDER, "/elsewhere")])
def test_it_can_be_turned_off_and_gives_way_to_the_users_own_setting(shared, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with kept():
        assert dict(os.environ) == before
    assert not shared.exists()


def test_without_a_place_to_write_everything_is_compiled_as_ever(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("FACETMT_CACHE", str(tmp_path / "file"))
    monkeypatch.delenv(JAX_FOLDER, raising=False)
    with kept():
        assert JAX_FOLDER not in os.environ


def test_the_folder_is_the_users_cache_and_names_the_processor(tmp_path, monkeypatch):
    monkeypatch.delenv("FACETMT_CACHE")
    monkeypatch.delenv(JAX_FOLDER, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder() == tmp_path / "facetmt" / "compiled" / compiled.processor()
