"""A chunk of text to a chunk of ids: the work that is spread over processes."""

from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import EOS
from facetmt.data.clean import MOSES_LIMIT, CleanConfig
from facetmt.data.codec import CODEC, Codec, open_codec
from facetmt.data.corpus import Chunk, Files, SentencePair, decode_chunk
from facetmt.data.store import spans

Int = NDArray[np.int64]


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
    ids: NDArray[Any]  # source 0, target 0, source 1, ... back to back; uint16 or uint32
    lengths: Int  # [P, 2] with tags and EOS
    dropped: Counter[str]
    text: list[SentencePair]


@lru_cache(maxsize=1)
def _codec(path: Path, fingerprint: tuple[int, int]) -> Codec:
    return open_codec(path)


def encode_chunk(job: EncodeJob) -> Encoded:
    """Decode, clean, encode and drop."""
    pairs, dropped = decode_chunk(job.chunk, job.files, job.errors)
    read = len(pairs) + dropped.total()
    if job.split == "test":
        return Encoded(job.facet, job.split, read, np.zeros(0), np.zeros((0, 2), np.int64), dropped, pairs)
    stat = (job.codec / CODEC).stat()
    codec = _codec(job.codec, (stat.st_mtime_ns, stat.st_ino))
    kept, sources, targets = _clean(pairs, codec, job, dropped)
    source = _with_ends(*codec.vocabulary.encode_flat(sources, "source"), codec.prefix(job.facet))
    target = _with_ends(*codec.vocabulary.encode_flat(targets, "target"), [])
    lengths = np.stack([source[1], target[1]], axis=1)  # [P, 2]
    fits: NDArray[np.bool_] = np.all(lengths <= job.max_length, axis=1)
    dropped["too long"] += int((~fits).sum())
    ids = _interleaved(source, target, fits).astype(codec.dtype)
    text = (
        [] if job.split == "train" else [pair for pair, fit in zip(kept, fits.tolist(), strict=True) if fit]
    )
    return Encoded(job.facet, job.split, read, ids, lengths[fits], dropped, text)


def _clean(
    pairs: list[SentencePair], codec: Codec, job: EncodeJob, dropped: Counter[str]
) -> tuple[list[SentencePair], list[str], list[str]]:
    """The pairs that cleaning keeps, and their cleaned sides."""
    facet, forward = codec.facet(job.facet), codec.cleaner.forward
    kept, sources, targets = [], [], []
    for pair in pairs:
        if codec.cleaner.moses and max(len(pair.source), len(pair.target)) > MOSES_LIMIT:
            dropped["too long"] += 1
            continue
        source, target = (
            forward(pair.source, facet.source_language),
            forward(pair.target, facet.target_language),
        )
        if verdict := "blank" if not source or not target else job.clean.verdict(source, target):
            dropped[verdict] += 1
            continue
        kept.append(pair)
        sources.append(source)
        targets.append(target)
    return kept, sources, targets


def _with_ends(ids: Int, lengths: Int, prefix: list[int]) -> tuple[Int, Int]:
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
