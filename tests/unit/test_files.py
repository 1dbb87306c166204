"""Files that are whole or absent, whatever goes wrong on the way."""

import hashlib
import os
import subprocess
import sys

import pytest

from facetmt import files
from facetmt.errors import UserError
from facetmt.files import claimed, move_whole, replace_directory, sha256, sha256_of, sole_user, write_whole


@pytest.fixture
def flushed(monkeypatch):
    """What was flushed, in order."""
    found = []
    monkeypatch.setattr(files, "flush", found.append)
    return found


def full(*_):
    raise OSError(28, "No space left on device")


def test_hashes_are_those_of_the_content_and_of_the_value(tmp_path):
    content = b"x" * (files.BLOCK + 1)
    (tmp_path / "a").write_bytes(content)
    blocks = []
    assert sha256(tmp_path / "a", lambda: blocks.append(1)) == hashlib.sha256(content).hexdigest()
    assert len(blocks) == 2
    assert sha256_of({"b": 1, "a": [2]}) == sha256_of({"a": [2], "b": 1}) != sha256_of({"a": [2], "b": 2})


@pytest.mark.parametrize("content", ["schön\n", "schön\n".encode()])
def test_a_file_is_flushed_before_it_gets_its_name(tmp_path, flushed, content):
    path = tmp_path / "a.json"
    write_whole(path, content)
    assert path.read_bytes() == "schön\n".encode() and os.listdir(tmp_path) == ["a.json"]
    assert flushed[0].name.endswith(".partial") and flushed[1] == tmp_path


def test_a_failed_write_keeps_the_old_content_and_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    write_whole(path, "old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.json"]


def folder(path, text):
    (path / "inner").mkdir(parents=True)
    (path / "inner" / "a").write_text(text)
    return path


def test_a_moved_folder_is_flushed_with_everything_in_it(tmp_path, flushed):
    new = folder(tmp_path / "new", "1")
    move_whole(new, tmp_path / "final")
    assert set(flushed) == {new, new / "inner", new / "inner" / "a", tmp_path}
    assert (tmp_path / "final" / "inner" / "a").read_text() == "1"


def test_a_folder_replaces_another_of_its_name(tmp_path):
    final = tmp_path / "final"
    for text in "12":
        replace_directory(folder(tmp_path / "new", text), final)
        assert (final / "inner" / "a").read_text() == text and os.listdir(tmp_path) == ["final"]


def test_a_folder_that_cannot_be_flushed_replaces_nothing(tmp_path, monkeypatch):
    final, new = folder(tmp_path / "final", "old"), folder(tmp_path / "new", "new")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_directory(new, final)
    assert (final / "inner" / "a").read_text() == "old"


def test_a_replaced_folder_has_the_name_that_was_asked_for_until_the_new_one_is_there(tmp_path, monkeypatch):
    final, former = folder(tmp_path / "final", "old"), tmp_path / "former"
    monkeypatch.setattr(files.shutil, "rmtree", lambda *_, **__: None)
    replace_directory(folder(tmp_path / "new", "new"), final, former)
    assert (former / "inner" / "a").read_text() == "old" and (final / "inner" / "a").read_text() == "new"


def test_a_lock_is_one_process_s_until_it_ends(tmp_path):
    code = f"""
from pathlib import Path
from facetmt.files import claimed, sole_user
with claimed(Path({str(tmp_path)!r}) / "lock") as free, sole_user(Path({str(tmp_path)!r}), "training"):
    print(free, flush=True)
    input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "True\n"
        with claimed(tmp_path / "lock") as free:
            assert not free
        with (
            pytest.raises(UserError, match="another process is training there; wait"),
            sole_user(tmp_path, "training"),
        ):
            pass
        other.communicate("\n")
    with claimed(tmp_path / "lock") as free, sole_user(tmp_path, "training"):
        assert free
