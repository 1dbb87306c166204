import json
import os
import subprocess
import sys

import numpy as np
import pytest

from facetmt.data.store import StoreWriter, open_store
from facetmt.errors import UserError

PAIRS = [([5, 6, 3], [9, 3]), ([7, 3], [8, 8, 8, 3]), ([3], [3])]


def write(path, pairs=PAIRS, dtype=np.uint16, chunk=2):
    with StoreWriter(path, "it", "train", "vocabulary", np.dtype(dtype)) as store:
        for start in range(0, len(pairs), chunk):
            part = pairs[start : start + chunk]
            ids = np.array([i for source, target in part for i in (*source, *target)])
            store.append(ids, np.array([[len(source), len(target)] for source, target in part]))
    return open_store(path)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_pairs_come_back_in_any_order(tmp_path, dtype):
    store = write(tmp_path / "s", dtype=dtype)
    assert len(store) == 3
    assert [store.pair(i) for i in range(3)] == PAIRS
    assert store.pair(-1) == PAIRS[-1]
    with pytest.raises(IndexError):
        store.pair(3)
    source, target = store.tokens(np.array([2, 0]))
    assert source.tolist() == [3, 5, 6, 3] and target.tolist() == [3, 9, 3]
    lengths = store.lengths(np.array([1, 1, 0]))
    assert [side.tolist() for side in lengths] == [[2, 2, 3], [4, 4, 2]]
    assert store.header.dtype == np.dtype(dtype).name
    assert (store.header.source_tokens, store.header.longest_target) == (6, 4)


def test_the_fingerprint_is_of_the_content_and_not_of_the_chunks(tmp_path):
    first = write(tmp_path / "a", chunk=1).header.sha256
    assert write(tmp_path / "b", chunk=3).header.sha256 == first
    other = [([5, 6, 3], [9, 3]), ([7, 3], [8, 8, 9, 3]), ([3], [3])]
    assert write(tmp_path / "c", other).header.sha256 != first
    moved = [([5, 6], [3, 9, 3]), *PAIRS[1:]]  # the same ids, other borders
    assert write(tmp_path / "d", moved).header.sha256 != first


def test_verify_finds_a_flipped_bit(tmp_path):
    store = write(tmp_path / "s", PAIRS * 60_000, chunk=180_000)
    store.verify()
    with open(store.path / "ids.bin", "r+b") as file:
        file.seek(1_200_001)
        byte = file.read(1)
        file.seek(1_200_001)
        file.write(bytes([byte[0] ^ 4]))
    with pytest.raises(UserError, match="does not match its own hash"):
        store.verify()


def test_an_empty_store_opens(tmp_path):
    store = write(tmp_path / "s", [])
    assert len(store) == 0 and store.tokens(np.zeros(0, np.int64))[0].tolist() == []


@pytest.mark.parametrize("name", ["ids.bin", "offsets.bin"])
def test_a_truncated_or_missing_file_is_refused(tmp_path, name):
    path = write(tmp_path / "s").path
    os.truncate(path / name, 4)
    with pytest.raises(UserError, match=f"{name}: 4 bytes"):
        open_store(path)
    (path / name).unlink()
    with pytest.raises(UserError, match=f"{name}: 0 bytes"):
        open_store(path)


def test_offsets_that_do_not_end_where_the_ids_do_are_refused(tmp_path):
    store = write(tmp_path / "s")
    with open(store.path / "offsets.bin", "r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(np.int64(1).tobytes())
    with pytest.raises(UserError, match="damaged"):
        open_store(store.path).pair(0)


def test_header_faults_are_named(tmp_path):
    path = write(tmp_path / "s").path
    header = json.loads((path / "header.json").read_text())
    (path / "header.json").write_text(json.dumps({**header, "version": 99}))
    with pytest.raises(UserError, match="another version"):
        open_store(path)
    (path / "header.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        open_store(path)
    with pytest.raises(UserError, match="no token store"):
        open_store(tmp_path / "nowhere")


def test_a_failed_write_leaves_the_former_store_and_no_litter(tmp_path):
    write(tmp_path / "s")
    with pytest.raises(OSError, match="disk full"):  # noqa: SIM117
        with StoreWriter(tmp_path / "s", "it", "train", "v", np.dtype(np.uint16)) as store:
            store.append(np.array([1, 2]), np.array([[1, 1]]))
            raise OSError("disk full")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    assert len(open_store(tmp_path / "s")) == 3


def test_a_killed_writer_leaves_nothing_that_opens(tmp_path):
    script = f"""
import os, numpy as np
from pathlib import Path
from facetmt.data.store import StoreWriter
with StoreWriter(Path({str(tmp_path / "s")!r}), "it", "train", "v", np.dtype(np.uint16)) as store:
    store.append(np.array([1, 2]), np.array([[1, 1]]))
    os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    with pytest.raises(UserError, match="no token store"):
        open_store(tmp_path / "s")


def test_rewriting_replaces(tmp_path):
    write(tmp_path / "s")
    assert len(write(tmp_path / "s", PAIRS[:1])) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize(
    "field",
    [
        {"dtype": "object"},
        {"dtype": "V9223372036854775807"},
        {"dtype": ["uint16"]},
        {"dtype": "uint8"},
        {"pairs": -1},
        {"pairs": 10**30},
        {"pairs": 3.0},
        {"pairs": True},
        {"source_tokens": 10**15, "target_tokens": 13 - 10**15},
        {"longest_source": "3"},
        {"sha256": None},
        {"name": ["it"]},
    ],
    ids=str,
)
def test_a_hostile_header_is_refused_before_anything_is_mapped(tmp_path, field):
    path = write(tmp_path / "s").path
    header = json.loads((path / "header.json").read_text())
    assert header["source_tokens"] + header["target_tokens"] == 13
    (path / "header.json").write_text(json.dumps({**header, **field}))
    with pytest.raises(UserError, match=r"header\.json: damaged|bytes instead of"):
        open_store(path)


def test_headers_that_are_no_header_are_refused(tmp_path):
    path = write(tmp_path / "s").path
    for text in ("[" * 100_000, "[1]", '{"version": 1}', "9" * 5_000):
        (path / "header.json").write_text(text)
        with pytest.raises(UserError, match="prepare again"):
            open_store(path)


@pytest.mark.parametrize("value", [-1, 12, 1 << 62], ids=["negative", "backwards", "far ahead"])
def test_hostile_offsets_neither_read_elsewhere_nor_ask_for_memory(tmp_path, value):
    path = write(tmp_path / "s").path
    with open(path / "offsets.bin", "r+b") as file:
        file.seek(8 * 2)  # where the second pair begins
        file.write(np.int64(value).tobytes())
    store = open_store(path)
    for read in (store.lengths, store.tokens):
        with pytest.raises(UserError, match=r"offsets\.bin: damaged"):
            read(np.array([0, 1]))
    assert store.pair(2) == PAIRS[2]


def test_a_link_in_a_store_is_refused(tmp_path):
    path = write(tmp_path / "s").path
    (path / "ids.bin").rename(tmp_path / "elsewhere")
    (path / "ids.bin").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="symbolic link"):
        open_store(path)
