"""Bytes to lines: plain or gzip files, split at the newline byte and nowhere else."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from facetmt.errors import UserError

MAX_LINE = 32_768  # bytes; a longer line is never decoded, normalised or held in memory
BLOCK = 1 << 18

UTF8_BOM = b"\xef\xbb\xbf"
OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff")  # UTF-16, and UTF-32 in little-endian order


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file; one whose name ends in .gz is decompressed on the way."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else open(path, "rb")


def read_lines(path: Path) -> Iterator[bytes | None]:
    """Lines without their end (LF or CR LF); None stands for one of more than MAX_LINE bytes."""
    try:
        with open_bytes(path) as file:
            yield from _split(file, path)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UserError(f"{path} is not a whole gzip file ({error}): fetch it again") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def _split(file: BinaryIO, path: Path) -> Iterator[bytes | None]:
    block = file.read(BLOCK)
    _refuse_utf16(block, path)
    block = block.removeprefix(UTF8_BOM)
    rest = b""
    while block:
        lines = (rest + block).split(b"\n")
        rest = lines.pop()[: MAX_LINE + 2]  # the end of an endless line is dropped: it is too long already
        for line in lines:
            yield _trim(line)
        block = file.read(BLOCK)
    if rest:
        yield _trim(rest)


def _trim(line: bytes) -> bytes | None:
    line = line.removesuffix(b"\r")
    return line if len(line) <= MAX_LINE else None


def _refuse_utf16(block: bytes, path: Path) -> None:
    """A BOM says UTF-16; so do NUL bytes that make up a quarter of the text."""
    if block.startswith(OTHER_BOMS) or (block and block.count(0) * 4 >= len(block)):
        raise UserError(f"{path}, line 1, byte 0: this looks like UTF-16 or UTF-32; convert it to UTF-8")


def decode(line: bytes, path: Path, number: int, errors: str) -> str:
    """UTF-8 text; invalid bytes are an error that names the place, or U+FFFD where errors is "replace"."""
    try:
        return line.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}, line {number}, byte {error.start}: not valid UTF-8 ({error.reason});"
            " repair the file or set data.errors to replace"
        ) from None
