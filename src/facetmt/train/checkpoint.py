"""Checkpoints: arrays (orbax) and host state (JSON) in one folder, whole and hashed, or not there at all."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from facetmt.errors import UserError
from facetmt.files import replace_directory, sha256

# JAX and orbax are imported where arrays are read or written: choosing a checkpoint needs neither

FORMAT = 1
ARRAYS, HOST, MANIFEST = "arrays", "host.json", "manifest.json"
REPLACED = ".replaced-"  # a whole checkpoint that another of the same step is taking the place of
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk full, quota, file size limit


class DamagedCheckpoint(UserError):
    """A checkpoint that does not match its manifest; the message names the file."""


@dataclass(frozen=True)
class Checkpoint:
    """A finished checkpoint on disk."""

    path: Path
    step: int

    def host(self) -> dict[str, Any]:
        """What was saved besides the arrays."""
        state: dict[str, Any] = json.loads((self.path / HOST).read_text(encoding="utf-8"))
        return state

    def arrays(self, like: Any) -> Any:
        """The arrays, in the structure, types and shardings of `like`."""
        import jax
        import orbax.checkpoint as ocp

        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, like)
        try:
            with ocp.StandardCheckpointer() as reader:
                return reader.restore((self.path / ARRAYS).absolute(), abstract)
        except ValueError as error:
            raise UserError(
                f"{self.path}: not the arrays of this model; use the version of facetmt that saved it"
            ) from error


def save(
    directory: Path,
    step: int,
    arrays: Any,
    host: Mapping[str, Any],
    *,
    again: str = "continue with --resume",
) -> Checkpoint:
    """Write beside, hash, flush to disk, then rename: a checkpoint of that name is always whole.

    Every process writes its part of the arrays; the first one does the rest. `again` is what the user can do
    after an error.
    """
    import jax
    import orbax.checkpoint as ocp

    from facetmt.train.processes import on_first_process

    final, partial = directory / f"step-{step:09d}", directory / f".partial-{step:09d}"
    try:
        on_first_process(lambda: begin(partial, sum(leaf.nbytes for leaf in jax.tree.leaves(arrays))))
        with unlogged(), ocp.StandardCheckpointer() as writer:
            writer.save((partial / ARRAYS).absolute(), arrays)
        on_first_process(lambda: finish(partial, final, step, host))
    except Exception as error:  # orbax raises many kinds; none may pass for a saved checkpoint
        raise UserError(
            f"could not save the checkpoint of step {step} in {directory} ({error}); earlier checkpoints are "
            f"intact: make room or fix the permissions, then {again}"
        ) from error
    return Checkpoint(final, step)


def begin(partial: Path, size: int) -> None:
    """An empty folder with room for `size` bytes; what earlier saves left unfinished goes."""
    current = {one.path for one in finished(partial.parent)}
    for left in (*partial.parent.glob(".partial-*"), *partial.parent.glob(f"{REPLACED}*")):
        if left not in current:
            shutil.rmtree(left, ignore_errors=True)
    partial.mkdir(parents=True)
    if sys.platform == "linux":  # a full disk is better found here than in orbax's threads
        room = partial / "room"
        with room.open("wb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, max(size, 1))
            except OSError as error:
                if error.errno in FULL:  # some file systems cannot reserve space
                    raise OSError(f"it needs {size / 1e6:,.1f} MB: {error.strerror}") from error
        room.unlink()


@contextmanager
def unlogged() -> Iterator[None]:
    """Silence orbax's traceback for each thread that fails; the error itself is raised and reported once."""
    log = logging.getLogger("absl")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)


def finish(partial: Path, final: Path, step: int, host: Mapping[str, Any]) -> None:
    """Make what was written a checkpoint."""
    (partial / HOST).write_text(json.dumps(host), encoding="utf-8")
    files = {name: sha256(partial / name) for name in relative_files(partial)}
    manifest = {"format": FORMAT, "step": step, "files": files}
    (partial / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    # one of this step is replaced: a validation changes what it says of the best model
    replace_directory(partial, final, final.parent / f"{REPLACED}{step:09d}")


def of_step(directory: Path, step: int) -> Checkpoint:
    """The finished checkpoint of a step."""
    return next(one for one in finished(directory) if one.step == step)


def finished(directory: Path) -> list[Checkpoint]:
    """All finished checkpoints, oldest first; a kill may have left one under its name while replaced."""
    found: dict[int, Path] = {}
    for prefix in (REPLACED, "step-"):
        for path in directory.glob(f"{prefix}*"):
            if path.is_dir() and path.name.removeprefix(prefix).isdigit():
                found[int(path.name.removeprefix(prefix))] = path
    return [Checkpoint(found[step], step) for step in sorted(found)]


def newest_whole(directory: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that matches its manifest, and a sentence on each newer one that does not."""
    complaints = []
    for checkpoint in reversed(finished(directory)):
        try:
            verify(checkpoint)
        except DamagedCheckpoint as damage:
            complaints.append(str(damage))
        else:
            return checkpoint, complaints
    return None, complaints


def verify(checkpoint: Checkpoint) -> None:
    """Compare every file with the manifest's hash: array stores would read a flipped bit back silently."""
    path = checkpoint.path
    for entry in (path, *path.rglob("*")):
        if entry.is_symlink():
            raise DamagedCheckpoint(f"{entry} is a symbolic link; checkpoints hold plain files only")
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        files, layout = dict(manifest["files"]), manifest["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedCheckpoint(f"{path / MANIFEST} is missing or damaged ({error})") from error
    if layout != FORMAT:
        raise DamagedCheckpoint(f"{path} has checkpoint format {layout}; this version reads format {FORMAT}")
    for name, expected in files.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise DamagedCheckpoint(f"{path / MANIFEST} names {name!r}, which lies outside the checkpoint")
        try:
            actual = sha256(path / name)
        except OSError as error:
            raise DamagedCheckpoint(f"{path / name} cannot be read ({error.strerror})") from error
        if actual != expected:
            raise DamagedCheckpoint(f"{path / name} is damaged: its content does not match {MANIFEST}")
    if HOST not in files or not any(name.startswith(f"{ARRAYS}/") for name in files):
        raise DamagedCheckpoint(f"{path / MANIFEST} does not list both the arrays and {HOST}")


def prune(directory: Path, keep: int, wanted: set[int]) -> None:
    """Delete all but the newest `keep` checkpoints and those of the `wanted` steps."""
    for checkpoint in finished(directory)[:-keep]:
        if checkpoint.step not in wanted:
            shutil.rmtree(checkpoint.path)


def relative_files(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            yield path.relative_to(root).as_posix()
