"""Durable files: whole or absent, hashed, and locks that end with the process that holds them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from facetmt.errors import UserError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
BLOCK = 1 << 20  # bytes hashed at once


def sha256(path: Path, check: Callable[[], None] = lambda: None) -> str:
    """Hash of a file's content, in hexadecimal; `check` is called for each block and may raise."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            check()
            digest.update(block)
    return digest.hexdigest()


def sha256_of(value: object) -> str:
    """Hash of a value written as JSON, in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def flush(path: Path) -> None:
    """Force a file's content, or a folder's entries, onto the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(root: Path) -> None:
    """Force a folder and everything in it onto the disk."""
    for path in [*root.rglob("*"), root]:
        flush(path)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write beside, flush, rename: a reader finds the old file or the new one, even after a power cut."""
    # two processes that write the same file do not write the same partial file
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        move_whole(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def move_whole(partial: Path, final: Path) -> None:
    """Flush a file or folder that was written under another name, then give it its final name."""
    if partial.is_dir():
        flush_tree(partial)
    else:
        flush(partial)
    partial.replace(final)
    flush(final.parent)


def replace_directory(new: Path, final: Path, former: Path | None = None) -> None:
    """Flush the folder `new` and give it its final name; one that has it becomes `former`, then goes."""
    former = former or final.with_name(f".{final.name}-{os.getpid()}-replaced")
    flush_tree(new)
    if final.exists():
        shutil.rmtree(former, ignore_errors=True)
        final.rename(former)
    new.rename(final)
    flush(final.parent)
    shutil.rmtree(former, ignore_errors=True)


@contextmanager
def claimed(lock: Path) -> Iterator[bool]:
    """Whether this process now holds the lock, or another one does; the system frees it with the process."""
    with lock.open("a") as file:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


@contextmanager
def sole_user(directory: Path, work: str) -> Iterator[None]:
    """Inside, no other process does this work in the folder; an error says so if one does."""
    with claimed(directory / LOCK) as free:
        if not free:
            raise UserError(
                f"{directory}: another process is {work} there; wait until it ends, or give another folder"
            )
        yield
