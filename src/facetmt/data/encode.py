"""From a chunk of text to a chunk of ids: the work that is spread over processes."""

from collections import Counter
from functools import lru_cache
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.data.chunks import Chunk, Files
from facetmt.data.clean import clean_pairs, plain_pairs
from facetmt.data.codec import CODEC, Codec, open_codec
from facetmt.data.config import CleanConfig
from facetmt.data.corpus import TOO_LONG, SentencePair, decode_chunk
from facetmt.data.store import spans

Int = NDArray[np.int64]


class EncodeJob(NamedTuple):
    """A chunk and everything needed to encode it in another process."""

    facet: str
    split: str  # test text is only decoded: nothing of it is dropped for its length
    chunk: Chunk
    files: Files
    codec: Path
    errors: str
    clean: CleanConfig
    max_length: int


class Encoded(NamedTuple):
    """Ids as a store wants them, what was dropped by reason, and the raw text of all but training pairs."""

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
    text = plain_pairs(decode_chunk(job.chunk, job.files, job.errors))
    read = len(text.pairs) + text.dropped.total()
    if job.split == "test":
        nothing = np.zeros(0, np.uint16), np.zeros((0, 2), np.int64)
        return Encoded(job.facet, job.split, read, *nothing, text.dropped, text.pairs)
    stat = (job.codec / CODEC).stat()
    codec = _codec(job.codec, (stat.st_mtime_ns, stat.st_ino))
    text = clean_pairs(text, codec.cleaner, codec.languages(job.facet), job.clean)
    source, target = codec.ids(text.source, job.facet, "source"), codec.ids(text.target, job.facet, "target")
    lengths = np.stack([source[1], target[1]], axis=1)  # [P, 2]
    fits: NDArray[np.bool_] = np.all(lengths <= job.max_length, axis=1)
    text.dropped[f"{TOO_LONG} (subwords)"] += int((~fits).sum())
    ids = _interleaved(source, target, fits).astype(codec.dtype)
    raw = [] if job.split == "train" else list(compress(text.pairs, fits))
    return Encoded(job.facet, job.split, read, ids, lengths[fits], +text.dropped, raw)


def _interleaved(source: tuple[Int, Int], target: tuple[Int, Int], fits: NDArray[np.bool_]) -> Int:
    """source 0, target 0, source 1, ... of the pairs that fit."""
    both = np.concatenate([source[0], target[0]])
    length = np.stack([source[1], target[1]], axis=1)
    begin = np.cumsum(length, axis=0) - length
    begin[:, 1] += len(source[0])
    return both[spans(begin[fits].ravel(), length[fits].ravel())]
