"""Facets, and their sentence pairs as they stand in the files."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from facetmt.data.chunks import Chunk, Files
from facetmt.data.lines import decode

TOO_LONG = "too long"  # begins every reason for which a pair is dropped because of its length


@dataclass(frozen=True)
class Facet:
    """A named part of the corpus with its languages; files by split, empty once prepared."""

    name: str
    source_language: str
    target_language: str
    files: Mapping[str, Files] = field(default_factory=dict)


class SentencePair(NamedTuple):
    """A pair as it stands in the files; `line` counts from 1."""

    source: str
    target: str
    line: int


class Decoded(NamedTuple):
    """The pairs of a chunk that could be read, and a count of the others by reason."""

    pairs: list[SentencePair]
    dropped: Counter[str]


def decode_chunk(chunk: Chunk, files: Files, errors: str) -> Decoded:
    """Decode a chunk and drop pairs with a line that is too long to be read."""
    dropped = Counter(chunk.dropped)
    readable = [
        (number, source, target)
        for number, source, target in zip(chunk.numbers, chunk.source, chunk.target, strict=True)
        if source is not None and target is not None
    ]
    dropped[f"{TOO_LONG} (bytes)"] += len(chunk.numbers) - len(readable)
    numbers = [number for number, _, _ in readable]
    source = decode([line for _, line, _ in readable], files.source, numbers, errors)
    target = decode([line for _, _, line in readable], files.target, numbers, errors)
    return Decoded(list(map(SentencePair, source, target, numbers)), dropped)
