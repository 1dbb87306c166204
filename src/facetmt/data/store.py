"""The token store of one facet and split: memory-mapped ids and offsets beside a JSON header."""

import hashlib
import json
import mmap
import shutil
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from facetmt.errors import UserError
from facetmt.files import replace_directory

VERSION = 1
HEADER, IDS, OFFSETS = "header.json", "ids.bin", "offsets.bin"
DTYPES = ("uint16", "uint32")

Int = NDArray[np.int64]


class Header(NamedTuple):
    """What header.json says about a store; `sha256` covers ids and offsets: it is the store's fingerprint."""

    version: int
    name: str  # the facet
    split: str
    pairs: int
    dtype: str  # of the ids: uint16 or uint32
    source_tokens: int
    target_tokens: int
    longest_source: int
    longest_target: int
    vocabulary: str  # fingerprint of the vocabulary that the ids belong to
    sha256: str


class Store:
    """Random access to pairs; opening reads only the header, the first access maps the files."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.name = header.name

    def __len__(self) -> int:
        return self.header.pairs

    @cached_property
    def _ids(self) -> NDArray[Any]:
        return _map(self.path / IDS, self.header.dtype)  # source 0, target 0, source 1, target 1, ...

    @cached_property
    def _offsets(self) -> Int:
        offsets: Int = _map(self.path / OFFSETS, "int64")  # [2 * pairs + 1]
        if int(offsets[-1]) != self._total:
            raise self._damage()
        return offsets

    @property
    def _total(self) -> int:
        return self.header.source_tokens + self.header.target_tokens

    def _damage(self) -> UserError:
        return UserError(f"{self.path / OFFSETS}: damaged; delete {self.path} and prepare again")

    def lengths(self, indices: Int) -> tuple[Int, Int]:
        """Tokens of source and target, [P] each."""
        begin, middle, end = self._bounds(indices)
        return middle - begin, end - middle

    def tokens(self, indices: Int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Source and target ids of the pairs, back to back."""
        begin, middle, end = self._bounds(indices)
        return self._ids[spans(begin, middle - begin)], self._ids[spans(middle, end - middle)]

    def pair(self, index: int) -> tuple[list[int], list[int]]:
        """Source and target ids of one pair."""
        source, target = self.tokens(np.array([range(len(self))[index]]))
        return source.tolist(), target.tolist()

    def _bounds(self, indices: Int) -> tuple[Int, Int, Int]:
        at = 2 * np.asarray(indices, np.int64)
        begin, middle, end = self._offsets[at], self._offsets[at + 1], self._offsets[at + 2]
        # offsets that run backwards or far ahead would ask for any amount of memory
        ordered = bool((begin <= middle).all() and (middle <= end).all())
        if at.size and not (ordered and begin.min() >= 0 and end.max() <= self._total):
            raise self._damage()
        return begin, middle, end

    def verify(self) -> int:
        """Read the whole store and compare it with the header's hash; return the number of bytes read."""
        digest, size = hashlib.sha256(), 0
        for name in (IDS, OFFSETS):
            with open(self.path / name, "rb") as file:
                while block := file.read(1 << 20):
                    digest.update(hashlib.sha256(block).digest())
                    size += len(block)
        if digest.hexdigest() != self.header.sha256:
            raise UserError(f"{self.path}: does not match its own hash; delete it and prepare again")
        return size


def open_store(path: Path) -> Store:
    """The store at `path`; refuses one that is missing, of another version, or of the wrong size."""
    try:
        fields = json.loads((path / HEADER).read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no token store; run prepare first") from None
    except (ValueError, OSError, RecursionError) as error:
        raise UserError(
            f"{path / HEADER}: cannot be read ({error}); delete {path} and prepare again"
        ) from None
    if not isinstance(fields, dict) or fields.get("version") != VERSION or set(fields) != set(Header._fields):
        raise UserError(f"{path}: written by another version of facetmt; delete it and prepare again")
    header = Header(**fields)
    if not _is_sound(header):
        raise UserError(f"{path / HEADER}: damaged; delete {path} and prepare again")
    expected = {
        IDS: (header.source_tokens + header.target_tokens) * np.dtype(header.dtype).itemsize,
        OFFSETS: (2 * header.pairs + 1) * 8,
    }
    for name, size in expected.items():
        if (path / name).is_symlink():
            raise UserError(
                f"{path / name}: a symbolic link, but stores hold plain files only; prepare again"
            )
        found = (path / name).stat().st_size if (path / name).exists() else 0
        if found != size:
            raise UserError(
                f"{path / name}: {found} bytes instead of {size}; delete {path} and prepare again"
            )
    return Store(path, header)


def _is_sound(header: Header) -> bool:
    """Whether every field has a type that StoreWriter writes; sizes are compared with the files elsewhere."""
    counts = (header.pairs, header.source_tokens, header.target_tokens)
    longest = (header.longest_source, header.longest_target)
    return (
        header.dtype in DTYPES
        and all(type(count) is int and count >= 0 for count in (*counts, *longest))
        and all(
            isinstance(text, str) for text in (header.name, header.split, header.vocabulary, header.sha256)
        )
    )


class StoreWriter:
    """Appends pairs to a folder that gets its final name only when everything is on the disk."""

    def __init__(self, path: Path, name: str, split: str, vocabulary: str, dtype: np.dtype[Any]) -> None:
        self.path = path
        self._about = {"version": VERSION, "name": name, "split": split, "vocabulary": vocabulary}
        self._dtype = dtype
        self._tokens = np.zeros(2, np.int64)
        self._longest = np.zeros(2, np.int64)
        self._pairs = 0

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._work = Path(tempfile.mkdtemp(prefix=f".{self.path.name}-", dir=self.path.parent))
        self._ids = _HashedFile(self._work / IDS)
        self._offsets = _HashedFile(self._work / OFFSETS)
        self._offsets.write(np.zeros(1, np.int64).tobytes())
        return self

    def append(self, ids: NDArray[Any], lengths: Int) -> None:
        """`ids`: source 0, target 0, source 1, ... back to back; `lengths` [P, 2] of source and target."""
        if len(lengths):
            ends = np.cumsum(lengths.ravel()) + self._tokens.sum()
            self._ids.write(ids.astype(self._dtype, copy=False).tobytes())
            self._offsets.write(ends.astype(np.int64).tobytes())
            self._tokens += lengths.sum(axis=0)
            self._longest = np.maximum(self._longest, lengths.max(axis=0))
            self._pairs += len(lengths)

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._ids.close()
            self._offsets.close()
            shutil.rmtree(self._work, ignore_errors=True)

    def _finish(self) -> None:
        digest = hashlib.sha256(self._ids.finish() + self._offsets.finish()).hexdigest()
        header = {
            **self._about,
            "pairs": self._pairs,
            "dtype": self._dtype.name,
            "source_tokens": int(self._tokens[0]),
            "target_tokens": int(self._tokens[1]),
            "longest_source": int(self._longest[0]),
            "longest_target": int(self._longest[1]),
            "sha256": digest,
        }
        (self._work / HEADER).write_text(json.dumps(header, indent=1), encoding="utf-8")
        replace_directory(self._work, self.path)


class _HashedFile:
    """A file that is hashed in blocks of 1 MB as it is written, so that verifying needs no second format."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 (closed by the writer)
        self._block = bytearray()
        self._digests = bytearray()

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._block += data
        while len(self._block) >= 1 << 20:
            self._digests += hashlib.sha256(self._block[: 1 << 20]).digest()
            del self._block[: 1 << 20]

    def finish(self) -> bytes:
        if self._block:
            self._digests += hashlib.sha256(self._block).digest()
        self._file.flush()
        return bytes(self._digests)

    def close(self) -> None:
        self._file.close()


def _map(path: Path, dtype: str) -> NDArray[Any]:
    """A read-only view of a file; an empty file cannot be mapped and is an empty array."""
    if path.stat().st_size == 0:
        return np.zeros(0, dtype)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if sys.platform != "win32":
        mapped.madvise(mmap.MADV_RANDOM)  # read-ahead would fetch many times what a shuffled batch needs
    return np.frombuffer(mapped, dtype)


def spans(begin: Int, length: Int) -> Int:
    """begin[0], begin[0]+1, ..., begin[1], ...: the positions of back-to-back spans."""
    ends = np.cumsum(length)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(begin - ends + length, length) + np.arange(total)
