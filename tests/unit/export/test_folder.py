"""The folder of an export: all of it or nothing, and what is refused when it is opened."""

import json
import os

import pytest

from facetmt.errors import UserError
from facetmt.export.folder import is_export, new_folder, open_export, required


def test_a_folder_gets_its_name_when_it_is_whole(tmp_path):
    out = tmp_path / "a" / "model"
    with new_folder(out) as folder:
        (folder / "weights").write_bytes(b"1")
        assert not out.exists()
    assert os.listdir(out) == ["weights"] and os.listdir(tmp_path / "a") == ["model"]


def test_an_empty_folder_is_used_and_anything_else_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with new_folder(tmp_path / "empty") as folder:
        (folder / "weights").write_bytes(b"1")
    assert (tmp_path / "empty" / "weights").is_file()
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("empty", "file", "link"):
        with pytest.raises(UserError, match="already exists"), new_folder(tmp_path / name):
            pass
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_nothing_is_left_after_an_error_and_a_full_disk_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="cannot be written"), new_folder(tmp_path / "model") as folder:
        (folder / "weights").write_bytes(b"1")
        raise OSError(28, "No space left on device")
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "model"):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "missing or damaged"),
        ("[]", "missing or damaged"),
        ({"format": 2, "kind": "ctranslate2", "files": {}}, "has export format 2"),
        ({"format": 1, "kind": "safetensors", "files": {}}, "was exported for safetensors"),
        ({"format": 1, "kind": "ctranslate2", "files": {"../x": "0"}}, "lies outside the folder"),
        ({"format": 1, "kind": "ctranslate2", "files": {"model.bin": "0"}}, r"model\.bin: missing, or not"),
    ],
)
def test_what_is_not_an_export_of_this_kind_is_refused(tmp_path, content, message):
    assert not is_export(tmp_path)
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / "facetmt.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        open_export(tmp_path, "ctranslate2")


def test_a_library_that_is_not_there_is_named_with_its_extra():
    with pytest.raises(
        UserError, match=r"needs no_such_library; install it with: pip install 'facetmt\[x\]'"
    ):
        required("no_such_library", "x")
