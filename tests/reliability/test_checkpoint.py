"""Partial, damaged, moved and malicious checkpoints; malicious archives."""

import errno
import json
import logging
import os
import shutil
import stat
import sys
import tarfile
import zipfile

import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest

from facetmt import files
from facetmt.errors import UserError
from facetmt.fetch.unpack import unpack
from facetmt.runlog import RunLog
from facetmt.train import checkpoint

ARRAYS = {"params": {"w": jnp.arange(2000, dtype=jnp.float32).reshape(40, 50) / 7}, "step": jnp.int32(3)}
HOST = {"tally": {"step": 3}, "big": 2**100, "float": 0.1 + 0.2}


def saved(directory, *steps):
    return [checkpoint.save(directory, step, {**ARRAYS, "step": jnp.int32(step)}, HOST) for step in steps]


def test_row_02_a_partial_save_is_ignored_and_the_one_before_is_used(tmp_path):
    saved(tmp_path, 1, 20, 3)
    shutil.copytree(tmp_path / "step-000000020", tmp_path / ".partial-000000030")
    (tmp_path / ".partial-000000030" / "manifest.json").unlink()
    newest, complaints = checkpoint.newest_whole(tmp_path)
    assert newest is not None and newest.step == 20 and complaints == []
    saved(tmp_path, 30)  # the partial save does not block the next one
    newest, complaints = checkpoint.newest_whole(tmp_path)
    assert newest is not None and newest.step == 30 and complaints == []


def test_row_03_a_save_that_fails_is_an_error_and_leaves_the_earlier_one(tmp_path, monkeypatch):
    saved(tmp_path, 1)

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "flush_tree", full)
    with pytest.raises(UserError) as caught:
        saved(tmp_path, 2)
    assert f"could not save the checkpoint of step 2 in {tmp_path}" in str(caught.value)
    assert "No space left" in str(caught.value) and "make room" in str(caught.value)
    newest, complaints = checkpoint.newest_whole(tmp_path)
    assert newest is not None and newest.step == 1 and complaints == []


@pytest.mark.skipif(sys.platform != "linux", reason="space is claimed on Linux only; run it there")
@pytest.mark.parametrize(
    ("number", "refused"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EOPNOTSUPP, False)]
)
def test_row_03_room_is_claimed_where_the_file_system_can_be_asked(tmp_path, monkeypatch, number, refused):
    def answer(*_):
        raise OSError(number, "what the system says")

    monkeypatch.setattr(os, "posix_fallocate", answer)
    if refused:
        with pytest.raises(UserError, match=r"of step 1 in .* \(it needs 0\.\d MB: what the system says\)"):
            saved(tmp_path, 1)
        assert checkpoint.newest_whole(tmp_path) == (None, [])
    else:
        assert saved(tmp_path, 1) == checkpoint.finished(tmp_path)


def test_row_03_a_failure_in_the_writers_threads_is_reported_once(tmp_path, monkeypatch, caplog):
    def fails(*_):
        logging.getLogger("absl").error("a traceback of a hundred lines")
        raise ValueError("OUT_OF_RANGE: no space left")

    monkeypatch.setattr(ocp.StandardCheckpointer, "save", fails)
    with pytest.raises(UserError, match=r"could not save .* \(OUT_OF_RANGE: no space left\)"):
        saved(tmp_path, 1)
    assert caplog.records == []
    logging.getLogger("absl").error("of something else")
    assert [record.message for record in caplog.records] == ["of something else"]


def test_row_03_a_place_that_cannot_be_written_to_is_an_error(tmp_path):
    (tmp_path / "checkpoints").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(UserError, match="fix the permissions, then continue with --resume"):
        saved(tmp_path / "checkpoints", 1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full; run it on Linux")
def test_row_03_logs_without_room_are_one_sentence(tmp_path):
    (tmp_path / "pulls.csv").symlink_to("/dev/full")
    log = RunLog(tmp_path, ["it"], fresh=True)
    sentence = rf"cannot write the logs in {tmp_path} \(No space left on device\); make room"
    with pytest.raises(UserError, match=sentence):
        log.flush()
    with pytest.raises(UserError, match=sentence):
        log.close()
    log.close()  # nothing is left open


def damaged(content: bytes, damage: str) -> bytes:
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    return {"flip": flipped, "truncate": content[:-1], "empty": b""}[damage]


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete", "empty"])
def test_row_04_any_damage_to_any_file_is_found_and_the_older_one_used(tmp_path, damage):
    clean = tmp_path / "clean"
    saved(clean, 1, 2)
    names = [path.relative_to(clean) for path in (clean / "step-000000002").rglob("*") if path.is_file()]
    assert len(names) > 4
    for name in names:
        directory = tmp_path / "broken"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(clean, directory)
        victim = directory / name
        if damage == "delete":
            victim.unlink()
        else:
            victim.write_bytes(damaged(victim.read_bytes(), damage))
        newest, complaints = checkpoint.newest_whole(directory)
        assert newest is not None and newest.step == 1, name
        # a flipped bit in the manifest looks like damage to the file it describes
        named = str(victim if victim.name != "manifest.json" else victim.parent)
        assert len(complaints) == 1 and named in complaints[0]


def test_row_05_a_moved_checkpoint_still_loads(tmp_path):
    saved(tmp_path / "here", 5)
    shutil.move(tmp_path / "here", tmp_path / "there")
    newest, _ = checkpoint.newest_whole(tmp_path / "there")
    arrays = newest.arrays(ARRAYS)
    assert int(arrays["step"]) == 5
    assert np.asarray(arrays["params"]["w"]).tobytes() == np.asarray(ARRAYS["params"]["w"]).tobytes()


@pytest.mark.parametrize("place", ["host.json", "arrays", "extra"])
def test_row_27_a_symbolic_link_in_a_checkpoint_is_refused(tmp_path, place):
    one, two = saved(tmp_path / "run", 1, 2)
    secret = tmp_path / "secret"
    secret.write_text("host file", encoding="utf-8")
    link = two.path / place
    if link.is_dir():
        link.rename(tmp_path / "arrays")
        secret = tmp_path / "arrays"
    link.unlink(missing_ok=True)
    link.symlink_to(secret)
    with pytest.raises(checkpoint.DamagedCheckpoint, match=f"{link} is a symbolic link"):
        checkpoint.verify(two)
    assert checkpoint.newest_whole(tmp_path / "run")[0] == one


KORAN = {"multi/koran/train.de": b"eins\nzwei\n", "multi/koran/train.en": b"one\ntwo\n"}
EVIL_NAMES = ["../out", "a/../../out", "/out", "..\\out", "c:out", "a\\..\\out", "x" * 500]


def link(kind, target) -> tarfile.TarInfo:
    info = tarfile.TarInfo("koran/link")
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("name", EVIL_NAMES)
@pytest.mark.parametrize("kind", ["data.zip", "data.tgz"])
def test_row_27_names_that_lead_out_of_an_archive_are_refused(tmp_path, name, kind, pack):
    archive, folder = tmp_path / kind, tmp_path / "in"
    archive.write_bytes(pack(kind, {name: b"evil"}))
    folder.mkdir()
    with pytest.raises(
        UserError, match=f"{archive}: refused, because the name .* could lead out of the folder"
    ):
        unpack(archive, folder, 10**6)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path != archive]


@pytest.mark.parametrize(
    "info", [link(tarfile.SYMTYPE, "/etc"), link(tarfile.LNKTYPE, "../x"), link(tarfile.FIFOTYPE, "")]
)
def test_row_27_links_and_devices_in_an_archive_are_refused(tmp_path, info, pack):
    archive = tmp_path / "data.tar.gz"
    archive.write_bytes(pack(archive.name, KORAN, [info]))
    with pytest.raises(UserError, match=r"koran/link' is not a plain file"):
        unpack(archive, tmp_path / "in", 10**6)


def test_row_27_a_link_in_a_zip_is_refused(tmp_path):
    info = zipfile.ZipInfo("koran/link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UserError, match="not a plain file"):
        unpack(tmp_path / "data.zip", tmp_path / "in", 10**6)


def test_row_27_a_manifest_that_names_a_file_elsewhere_is_refused(tmp_path):
    saved = checkpoint.save(tmp_path / "run", 1, {"w": jnp.ones(3)}, {})
    (tmp_path / "secret").write_text("mine", encoding="utf-8")
    path = saved.path / "manifest.json"
    for name in ("../../secret", str(tmp_path / "secret")):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        manifest["files"] = {name: "0" * 64, **manifest["files"]}
        path.write_text(json.dumps(manifest), encoding="utf-8")
        with pytest.raises(checkpoint.DamagedCheckpoint, match="lies outside the checkpoint"):
            checkpoint.verify(saved)
        path.write_text(json.dumps({**manifest, "files": {}}), encoding="utf-8")
