"""Durable files: whole or not there at all, hashed, and a folder that only one process works in."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from facetmt.errors import UserError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


def sha256(path: Path) -> str:
    """Of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def flush(path: Path) -> None:
    """Force a file's content, or a folder's entries, onto the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(root: Path) -> None:
    """Force a folder and all that is in it onto the disk."""
    for path in [*root.rglob("*"), root]:
        flush(path)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write beside, flush, rename: a reader finds the old file or the new one, also after a power cut."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    flush(path.parent)


@contextmanager
def sole_user(directory: Path, work: str) -> Iterator[None]:
    """Inside, no other process does this work in the folder; the system lets go of the lock if this one dies."""
    if fcntl is None:
        yield
        return
    with (directory / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(
                f"{directory}: another process is {work} there; wait until it ends, or give another folder"
            ) from None
        yield
