"""Unpacking archives safely: only plain files and folders, below one folder and within limits."""

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from facetmt.errors import UserError

BLOCK = 1 << 20
MAX_FILES = 5_000
MAX_NAME = 400  # bytes


class Member(NamedTuple):
    """A regular file in an archive."""

    parts: tuple[str, ...]  # of its name, checked
    stream: IO[bytes]


def is_archive(name: str) -> bool:
    return name.endswith((".zip", ".tar", ".tar.gz", ".tgz"))


def unpack(archive: Path, folder: Path, max_bytes: int, only: str | None = None) -> None:
    """Write the archive's files below `folder`; a link, a device, `..` or too much of anything is refused."""
    members = _zip_members if archive.name.endswith(".zip") else _tar_members
    room, count = max_bytes, 0
    try:
        for parts, stream in members(archive, folder):
            target = folder.joinpath(*parts)
            count += 1
            if count > MAX_FILES:
                raise UserError(
                    f"{archive}: more than {MAX_FILES:,} files; delete it and fetch the right file"
                )
            if only is None or fnmatchcase(target.name, only):
                room = _write(stream, target, room, archive, max_bytes)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise UserError(_damage(archive, error)) from None
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise UserError(
            f"{archive}: holds {error.filename} twice; delete it and fetch the right file"
        ) from None
    except OSError as error:
        if error.errno is None:  # how gzip reports damage
            raise UserError(_damage(archive, error)) from None
        raise


def _damage(archive: Path, error: Exception) -> str:
    with open(archive, "rb") as file:
        page = file.read(64).lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml"))
    what = "a web page, not an archive" if page else f"not a whole archive ({error})"
    return f"{archive}: {what}; delete it and fetch it again"


def _checked(name: str, archive: Path) -> tuple[str, ...]:
    """The parts of a member's name, which must stay below the folder."""
    path = PurePosixPath(name)
    bad = (
        not path.parts
        or path.is_absolute()
        or ".." in path.parts
        or any(character in name for character in "\\:\0")
        or len(name.encode("utf-8", "surrogateescape")) > MAX_NAME
    )
    if bad:
        raise UserError(
            f"{archive}: refused, because the name {name!r} could lead out of the folder; delete the archive"
        )
    return path.parts


def _write(stream: IO[bytes], target: Path, room: int, archive: Path, max_bytes: int) -> int:
    """Copy a file that must not exist yet; returns how many more bytes are allowed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "xb") as file:
        while block := stream.read(BLOCK):
            room -= len(block)
            if room < 0:
                raise UserError(
                    f"{archive}: refused, because it unpacks to more than {max_bytes:,} bytes;"
                    " delete the archive"
                )
            file.write(block)
    return room


def _tar_members(archive: Path, folder: Path) -> Iterator[Member]:
    with tarfile.open(archive, "r:*") as opened:
        for info in opened:
            if info.isdir():
                continue
            parts = _checked(info.name, archive)
            if not info.isfile():
                raise UserError(
                    f"{archive}: refused, because {info.name!r} is not a plain file; delete the archive"
                )
            if hasattr(tarfile, "data_filter"):  # Python's own check on top of ours; not in 3.11.0 to 3.11.3
                tarfile.data_filter(info, str(folder))
            stream = opened.extractfile(info)
            assert stream is not None
            yield Member(parts, stream)
        rest = opened.fileobj
        while rest is not None and rest.read(BLOCK):  # to the end, where gzip keeps its checksum
            pass


def _zip_members(archive: Path, folder: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            if info.is_dir():
                continue
            parts = _checked(info.filename, archive)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG) or info.flag_bits & 1:
                raise UserError(
                    f"{archive}: refused, because {info.filename!r} is not a plain file; delete the archive"
                )
            with opened.open(info) as stream:
                yield Member(parts, stream)
