"""Sampler and packing on real text: milliseconds per batch, share of non-padding tokens, exact resume."""

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from facetmt.data.batch import Batch
from facetmt.data.config import BatchConfig, DataConfig, VocabConfig
from facetmt.data.prepare import prepare
from facetmt.data.prepared import Prepared
from facetmt.data.sampler import FacetSampler, MixedSampler
from facetmt.data.store import Store

TOKENS = 8192
LENGTHS = (64, 96, 128)


def filled(batch: Batch) -> float:
    """Share of non-padding tokens, both sides together."""
    return float((batch.source_segment > 0).mean() + (batch.target_segment > 0).mean()) / 2


def packing(prepared: Prepared, length: int, batches: int) -> dict[str, tuple[float, float]]:
    """Per facet: share of non-padding tokens, median CPU milliseconds per batch of 8k tokens per side."""
    config = BatchConfig(rows=TOKENS // length, length=length)
    sampler = FacetSampler(prepared.stores("train"), config, seed=1)
    result = {}
    for index, name in enumerate(sampler.names):
        sampler.next(index)
        times, shares = [], []
        for _ in range(batches):
            begin = time.process_time()
            batch = sampler.next(index)
            times.append(1e3 * (time.process_time() - begin))
            shares.append(filled(batch))
        result[name] = statistics.mean(shares), statistics.median(times)
    return result


def table(folder: Path, config: DataConfig, batches: int) -> Prepared:
    """One row per facet, two columns per row length."""
    rows: dict[str, list[tuple[float, float]]] = {}
    for length in LENGTHS:
        # pairs longer than a row are dropped by prepare; the vocabulary is learned once
        limited = DataConfig(**{**vars(config), "max_length": min(length, 100)})
        prepared = prepare(limited, Path(), folder, overwrite=True)
        for name, row in packing(prepared, length, batches).items():
            rows.setdefault(name, []).append(row)
    print("facet          " + "".join(f"rows of {length:>3}      " for length in LENGTHS))
    for name, cells in rows.items():
        print(f"{name:14} " + "".join(f"{100 * share:5.1f} % {ms:5.2f} ms " for share, ms in cells))
    worst = [min(cells[i][0] for cells in rows.values()) for i in range(len(LENGTHS))]
    slowest = [max(cells[i][1] for cells in rows.values()) for i in range(len(LENGTHS))]
    print(
        "worst          "
        + "".join(f"{100 * a:5.1f} % {b:5.2f} ms " for a, b in zip(worst, slowest, strict=True))
    )
    return prepared


def resume(stores: list[Store], config: BatchConfig, count: int = 1000) -> bool:
    """Whether drawing, saving, restoring and drawing more equals drawing twice as many."""
    order = np.random.default_rng(0).integers(0, len(stores), 2 * count).tolist()
    whole, half, other = (FacetSampler(stores, config, seed=1) for _ in range(3))
    expected = [whole.next(facet) for facet in order][count:]
    for facet in order[:count]:
        half.next(facet)
    other.restore(json.loads(json.dumps(half.state())))
    return all(
        np.array_equal(a, b)
        for facet, batch in zip(order[count:], expected, strict=True)
        for a, b in zip(other.next(facet), batch, strict=True)
    )


def epochs(store: Store, config: BatchConfig, count: int = 3) -> bool:
    """Whether every pair of a facet is drawn exactly once per epoch, counting the pairs that wait."""
    sampler = FacetSampler([store], config, seed=1)
    seen: Counter[bytes] = Counter()
    pairs = Counter(np.array(store.pair(i)[1], np.int32).tobytes() for i in range(len(store)))
    while sampler.cursor(0).position < count * len(store):
        batch = sampler.next(0)
        ends = np.flatnonzero((batch.label == 3) & (batch.target_segment > 0)) + 1
        labels = batch.label.ravel()
        for end, length in zip(ends, batch.target_position.ravel()[ends - 1] + 1, strict=True):
            seen[labels[end - length : end].tobytes()] += 1
    cursor = sampler.cursor(0)
    extra = cursor.position - count * len(store) + len(cursor.pending)
    short = sum(max(0, count * pairs[key] - seen[key]) for key in pairs)
    return (
        set(seen) <= set(pairs) and seen.total() == cursor.position - len(cursor.pending) and short <= extra
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder with one subfolder per facet (layout pairs)")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--batches", type=int, default=100)
    arguments = parser.parse_args()
    config = DataConfig(
        root=str(Path(arguments.data).resolve()),
        source=arguments.source,
        target=arguments.target,
        vocab=VocabConfig(kind="bpe"),
    )
    with tempfile.TemporaryDirectory() as folder:
        prepared = table(Path(folder), config, arguments.batches)
        stores, shape = prepared.stores("train"), BatchConfig(TOKENS // 128, 128)
        mixed = MixedSampler(stores, shape, seed=1)
        times = []
        for _ in range(arguments.batches):
            begin = time.process_time()
            mixed.next()
            times.append(1e3 * (time.process_time() - begin))
        print(f"mixed over {len(stores)} facets: {statistics.median(times):.2f} ms per batch")
        print(f"1,000 batches + save + restore + 1,000 equals 2,000: {resume(stores, shape)}")
        smallest = min(stores, key=len)
        print(f"every pair of {smallest.name} exactly once per epoch: {epochs(smallest, shape)}")


if __name__ == "__main__":
    main()
