"""From bytes to lines: plain or gzip files, split at the newline byte and nowhere else."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast, overload

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
    rest = b""
    for block in _blocks(path):
        text = rest + block
        lines = text.split(b"\n")
        rest = lines.pop()[: MAX_LINE + 2]  # the rest of a very long line is dropped: it is too long already
        yield from _trim(lines, b"\r" in text)
    if rest:
        yield from _trim([rest], True)


def count_lines(path: Path) -> int:
    """The number of lines that read_lines yields, several times as fast."""
    count, last = 0, b"\n"
    for block in _blocks(path):
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n")


def _blocks(path: Path) -> Iterator[bytes]:
    """The file's bytes without a BOM, never an empty block; an error is one sentence."""
    try:
        with open_bytes(path) as file:
            block = file.read(BLOCK)
            if looks_like_utf16(block):
                raise UserError(
                    f"{path}, line 1, byte 0: this looks like UTF-16 or UTF-32; convert it to UTF-8"
                )
            block = block.removeprefix(UTF8_BOM) or file.read(BLOCK)
            while block:
                yield block
                block = file.read(BLOCK)
    except FileNotFoundError:
        raise UserError(f"{path}: does not exist; check the path") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UserError(f"{path}: not a whole gzip file ({error}); fetch it again") from None
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from None


def _trim(lines: list[bytes], has_cr: bool) -> list[bytes] | list[bytes | None]:
    if has_cr:
        lines = [line.removesuffix(b"\r") for line in lines]
    if max(map(len, lines), default=0) > MAX_LINE:
        return [line if len(line) <= MAX_LINE else None for line in lines]
    return lines


def looks_like_utf16(block: bytes) -> bool:
    """It has a BOM, or NUL bytes make up a quarter of it."""
    return block.startswith(OTHER_BOMS) or block.count(0) * 4 >= max(8, len(block))


@overload
def decode(text: bytes, path: Path, number: int, errors: str) -> str: ...
@overload
def decode(text: list[bytes], path: Path, number: Sequence[int], errors: str) -> list[str]: ...
def decode(
    text: bytes | list[bytes], path: Path, number: int | Sequence[int], errors: str
) -> str | list[str]:
    """UTF-8 text of one line or many; invalid bytes are an error with the place, or U+FFFD by "replace"."""
    if isinstance(text, bytes):
        return _decode(text, path, cast(int, number), errors)
    try:
        # all at once: several times as fast, and no broken sequence can swallow a newline
        return b"\n".join(text).decode("utf-8", errors).split("\n") if text else []
    except UnicodeDecodeError:
        places = cast(Sequence[int], number)
        return [_decode(line, path, place, errors) for line, place in zip(text, places, strict=True)]


def _decode(line: bytes, path: Path, number: int, errors: str) -> str:
    try:
        return line.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}, line {number}, byte {error.start}: not valid UTF-8 ({error.reason});"
            " repair the file or set data.errors to replace"
        ) from None
