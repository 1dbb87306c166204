"""What JAX has compiled, kept in the user's cache folder from one process to the next."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from facetmt.files import LOCK, claimed

SWITCH = "FACETMT_CACHE"  # "off", or a folder to use instead of the user's cache folder
JAX_FOLDER = "JAX_COMPILATION_CACHE_DIR"
JAX_SETTINGS = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",  # what takes less is not worth a file
    # a cache of XLA's own would put the name of the folder, which is new each time, into every key
    "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",
}
LIMIT = 256 << 20  # bytes kept; the oldest go first
ENTRIES, PROCESS = "*-cache", ".process-"


@contextmanager
def kept() -> Iterator[None]:
    """Inside, JAX finds what earlier processes compiled; at the end, what is new is added.

    JAX writes entries in place, where a kill or another reader would find half of one. So it works in a
    folder of its own, made of links to the shared entries; whole new ones are linked back at the end.
    """
    shared = folder()
    own = None if shared is None else borrowed(shared)
    if shared is None or own is None:
        yield
        return
    with claimed(own / LOCK):  # as long as the lock is held, `clear` leaves the folder alone
        os.environ.update({JAX_FOLDER: str(own), **JAX_SETTINGS})
        try:
            yield
        finally:
            for name in (JAX_FOLDER, *JAX_SETTINGS):
                del os.environ[name]
            with suppress(OSError):  # a full disk costs nothing but the next compilation
                give_back(own, shared)
            shutil.rmtree(own, ignore_errors=True)


def folder() -> Path | None:
    """Where entries for this kind of processor are kept; None: off, or the user has told JAX where."""
    place = os.environ.get(SWITCH, "")
    if place == "off" or JAX_FOLDER in os.environ:
        return None
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(place) if place else (Path(cache) if cache else Path.home() / ".cache") / "facetmt"
    return base / "compiled" / processor()


def processor() -> str:
    """A name for what machine code depends on, since a home folder may be shared by different machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        about = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        about = platform.processor()
    return f"{platform.machine()}-{hashlib.sha256(about.encode()).hexdigest()[:12]}"


def borrowed(shared: Path) -> Path | None:
    """A new folder with links to all entries; None where this cannot be, such as in a read-only home."""
    try:
        shared.mkdir(0o700, parents=True, exist_ok=True)  # what is in it will be executed
        clear(shared)
        own = Path(tempfile.mkdtemp(prefix=PROCESS, dir=shared))
        for entry in shared.glob(ENTRIES):
            os.link(entry, own / entry.name)
    except OSError:
        return None
    return own


def clear(shared: Path) -> None:
    """Remove the folders of processes that were killed."""
    for left in shared.glob(f"{PROCESS}*"):
        with suppress(OSError), claimed(left / LOCK) as free:
            if free:
                shutil.rmtree(left, ignore_errors=True)


def give_back(own: Path, shared: Path) -> None:
    """Add the new entries, then drop the oldest beyond the limit."""
    for entry in own.glob(ENTRIES):
        with suppress(FileExistsError):
            os.link(entry, shared / entry.name)
    total = 0
    for entry in sorted(shared.glob(ENTRIES), key=lambda path: -path.stat().st_mtime):
        total += entry.stat().st_size
        if total > LIMIT:
            entry.unlink(missing_ok=True)
