"""The folder of an export: whole under its name or not there at all, and checked when it is opened."""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from facetmt import __version__
from facetmt.data.codec import Codec, copy_codec, open_codec
from facetmt.errors import UserError
from facetmt.files import move_whole, sha256, write_whole
from facetmt.train.best import VOCABULARY, BestOfRun

FORMAT = 1
ABOUT, README = "facetmt.json", "README.md"

About = dict[str, Any]


def required(module: str, extra: str) -> Any:
    """An optional library, or the sentence that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise UserError(f"this needs {module}; install it with: pip install 'facetmt[{extra}]'") from None


def describe(best: BestOfRun, kind: str, **more: Any) -> About:
    """What facetmt.json says of the model: where it comes from, what its ids mean, how it is searched."""
    return {
        "format": FORMAT,
        "kind": kind,
        "facetmt": __version__,
        "vocabulary": best.codec.vocabulary.fingerprint,
        "steps": list(best.steps),
        "dev_bleu": best.bleu,
        "model": {**asdict(best.recipe.model), **asdict(best.recipe.model.shape)},
        "decode": asdict(best.decode),
        **more,
    }


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder to write into, which gets its name at the end; nothing is left of it after an error."""
    check_free(out)
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        partial.mkdir(parents=True)
        yield partial
        if out.is_dir():
            out.rmdir()  # it was empty
        move_whole(partial, out)
    except OSError as error:
        raise UserError(
            f"{out}: cannot be written ({error.strerror or error}); make room or name another"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def check_free(out: Path) -> None:
    """Refuse to write over anything."""
    if out.is_dir() and not any(out.iterdir()):
        return
    if out.exists() or out.is_symlink():
        raise UserError(f"{out}: already exists; name a new folder with --out, or delete that one")


def finish(folder: Path, best: BestOfRun, about: About, readme: str) -> None:
    """Add the vocabulary, the README, and what is to be checked on opening: the hash of every other file."""
    copy_codec(best.directory / VOCABULARY, folder / VOCABULARY)
    (folder / VOCABULARY).chmod(folder.stat().st_mode)  # others may serve the model
    write_whole(folder / README, readme)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    hashes = {name: sha256(folder / name) for name in names if name != README}
    write_whole(folder / ABOUT, json.dumps({**about, "files": hashes}, indent=1, ensure_ascii=False))


def is_export(folder: Path) -> bool:
    """Whether the folder was written by `facetmt export`."""
    return (folder / ABOUT).is_file()


def open_export(folder: Path, kind: str) -> tuple[About, Codec]:
    """What an export says of itself, and its codec; refused unless every file is the one that was written."""
    try:
        about: About = json.loads((folder / ABOUT).read_text("utf-8"))
        layout, found, files = about["format"], about["kind"], dict(about["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{folder / ABOUT}: missing or damaged; export again") from None
    if layout != FORMAT:
        raise UserError(
            f"{folder}: has export format {layout}, but this version reads {FORMAT}; export again"
        )
    if found != kind:
        raise UserError(f"{folder}: was exported for {found}, not for {kind}; export again with --to {kind}")
    for name, expected in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise UserError(f"{folder / ABOUT}: names {name!r}, which lies outside the folder; export again")
        if not path.is_file() or sha256(path) != expected:
            raise UserError(f"{path}: missing, or not the file that was exported; export again")
    codec = open_codec(folder / VOCABULARY)
    if codec.vocabulary.fingerprint != about["vocabulary"]:
        raise UserError(f"{folder / VOCABULARY}: not the vocabulary of the exported model; export again")
    return about, codec
