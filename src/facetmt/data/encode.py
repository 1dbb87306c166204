"""A chunk of text to a chunk of ids: the work that is spread over processes."""

from collections import Counter
from functools import lru_cache
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import EOS
from facetmt.data.chunks import Chunk, Files
from facetmt.data.clean import MOSES_LIMIT, CleanConfig
from facetmt.data.codec import CODEC, Codec, open_codec
from facetmt.data.corpus import TOO_LONG, SentencePair, Text, decode_chunk
from facetmt.data.store import spans

Int = NDArray[np.int64]
REASONS = {"words": f"{TOO_LONG} (words)"}  # what the report calls a verdict of the cleaning


class EncodeJob(NamedTuple):
    """A chunk and all that is needed to encode it elsewhere."""

    facet: str
    split: str  # test text is only decoded: nothing of it is dropped for its length
    chunk: Chunk
    files: Files
    codec: Path
    errors: str
    clean: CleanConfig
    max_length: int


class Encoded(NamedTuple):
    """Ids as a store wants them, what was dropped and why, and the raw text of all but training pairs."""

    facet: str
    split: str
    read: int
    ids: NDArray[Any]  # source 0, target 0, source 1, ... back to back
    lengths: Int  # [P, 2] with tags and EOS
    dropped: Counter[str]
    text: list[SentencePair]


@lru_cache(maxsize=1)
def _codec(path: Path, fingerprint: tuple[int, int]) -> Codec:
    return open_codec(path)


def encode_chunk(job: EncodeJob) -> Encoded:
    """Decode, clean, encode and drop."""
    text = decode_chunk(job.chunk, job.files, job.errors)
    read = len(text.pairs) + text.dropped.total()
    if job.split == "test":
        nothing = np.zeros(0, np.uint16), np.zeros((0, 2), np.int64)
        return Encoded(job.facet, job.split, read, *nothing, text.dropped, text.pairs)
    stat = (job.codec / CODEC).stat()
    codec = _codec(job.codec, (stat.st_mtime_ns, stat.st_ino))
    text = _clean(text, codec, job)
    source = with_ends(*codec.vocabulary.encode_flat(text.source, "source"), codec.prefix(job.facet))
    target = with_ends(*codec.vocabulary.encode_flat(text.target, "target"), [])
    lengths = np.stack([source[1], target[1]], axis=1)  # [P, 2]
    fits: NDArray[np.bool_] = np.all(lengths <= job.max_length, axis=1)
    text.dropped[f"{TOO_LONG} (subwords)"] += int((~fits).sum())
    ids = _interleaved(source, target, fits).astype(codec.dtype)
    raw = [] if job.split == "train" else list(compress(text.pairs, fits))
    return Encoded(job.facet, job.split, read, ids, lengths[fits], +text.dropped, raw)


def _clean(text: Text, codec: Codec, job: EncodeJob) -> Text:
    """The pairs that the recipe's cleaning keeps, their plain sides cleaned."""
    if not codec.cleaner.moses and job.clean.max_words is None and job.clean.max_ratio is None:
        return text
    facet, forward = codec.facet(job.facet), codec.cleaner.forward
    keep = []
    for index, (source, target) in enumerate(zip(text.source, text.target, strict=True)):
        verdict: str | None = f"{TOO_LONG} (characters)"
        if not codec.cleaner.moses or max(len(source), len(target)) <= MOSES_LIMIT:
            source, target = forward(source, facet.source_language), forward(target, facet.target_language)
            text.source[index], text.target[index] = source, target
            verdict = job.clean.verdict(source, target)
        if verdict is not None:
            text.dropped[REASONS.get(verdict, verdict)] += 1
        keep.append(verdict is None)
    return text.where(keep)


def with_ends(ids: Int, lengths: Int, prefix: list[int]) -> tuple[Int, Int]:
    """prefix x EOS of each line, back to back, and the new lengths."""
    longer = lengths + len(prefix) + 1
    whole = np.full(int(longer.sum()), EOS)
    begin = np.cumsum(longer) - longer
    whole[spans(begin + len(prefix), lengths)] = ids
    for offset, tag in enumerate(prefix):
        whole[begin + offset] = tag
    return whole, longer


def _interleaved(source: tuple[Int, Int], target: tuple[Int, Int], fits: NDArray[np.bool_]) -> Int:
    """source 0, target 0, source 1, ... of the pairs that fit."""
    both = np.concatenate([source[0], target[0]])
    length = np.stack([source[1], target[1]], axis=1)
    begin = np.cumsum(length, axis=0) - length
    begin[:, 1] += len(source[0])
    return both[spans(begin[fits].ravel(), length[fits].ravel())]
