"""Opening stores: 100M pairs in milliseconds and no memory; the first batches of each of 198 facets."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from facetmt.data.config import BatchConfig
from facetmt.data.sampler import FacetSampler
from facetmt.data.store import HEADER, IDS, OFFSETS, VERSION, Header, StoreWriter, open_store

LENGTH = 20  # tokens per side

PROBE = """
import resource, sys, time
from pathlib import Path
import numpy as np
from facetmt.data.store import open_store

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

before = resident()
begin = time.perf_counter()
store = open_store(Path(sys.argv[1]))
opened = time.perf_counter() - begin
begin = time.perf_counter()
store.lengths(np.array([0, len(store) // 2, len(store) - 1]))
used = time.perf_counter() - begin
print(1e3 * opened, 1e3 * used, (resident() - before) / 2**20, resident() / 2**20)
"""


PROBE_SAMPLER = """
import sys
from pathlib import Path
from facetmt.data.config import BatchConfig
from facetmt.data.sampler import FacetSampler
from facetmt.data.store import open_store

def memory():
    rows = dict(line.split(":") for line in open("/proc/self/status") if line.startswith("Rss"))
    return [int(rows[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile")]

own, mapped = memory()
stores = [open_store(path) for path in sorted(Path(sys.argv[1]).iterdir())]
sampler = FacetSampler(stores, BatchConfig(64, 128), seed=1)
for _ in range(3):
    for number in range(len(stores)):
        sampler.next(number)
print(*(after - before for after, before in zip(memory(), (own, mapped))))
"""


def big_store(path: Path, pairs: int) -> None:
    """A store of `pairs` pairs: real offsets, ids that take no disk space."""
    path.mkdir()
    with open(path / OFFSETS, "wb") as file:
        for start in range(0, 2 * pairs + 1, 1 << 22):
            end = min(start + (1 << 22), 2 * pairs + 1)
            (LENGTH * np.arange(start, end, dtype=np.int64)).tofile(file)
    with open(path / IDS, "wb") as file:
        file.truncate(2 * pairs * LENGTH * 2)
    tokens = pairs * LENGTH
    header = Header(
        VERSION, path.name, "train", pairs, "uint16", tokens, tokens, LENGTH, LENGTH, "none", "none"
    )
    (path / HEADER).write_text(json.dumps(header._asdict()))


def opening(folder: Path, pairs: int, repeats: int) -> None:
    big_store(folder / "big", pairs)
    runs = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", PROBE, str(folder / "big")], capture_output=True, check=True
        )
        runs.append([float(value) for value in done.stdout.split()])
    opened, used, grown, resident = (statistics.median(values) for values in zip(*runs, strict=True))
    print(f"{pairs} pairs: open {opened:.2f} ms, first lookup {used:.2f} ms")
    print(f"  memory: {grown:.1f} MB more, {resident:.1f} MB resident including Python and NumPy")


def sampling(folder: Path, facets: int, pairs: int) -> None:
    """Memory of the sampler."""
    folder.mkdir()
    for number in range(facets):
        big_store(folder / f"{number}", pairs)
    done = subprocess.run(
        [sys.executable, "-c", PROBE_SAMPLER, str(folder)], stdout=subprocess.PIPE, check=True
    )
    own, mapped = (float(value) for value in done.stdout.split())
    print(
        f"{facets} facets of {pairs} pairs: three batches of 8k tokens from each take {own:.0f} MB of memory "
        f"and {mapped:.0f} MB of mapped files, which the system reclaims when it needs to"
    )


def first_batches(folder: Path, facets: int, pairs: int) -> None:
    """Write the facets, then open them and draw once from each."""
    rng = np.random.default_rng(0)
    for number in range(facets):
        lengths = rng.integers(5, 60, (pairs, 2))
        with StoreWriter(folder / f"{number}", f"f{number}", "train", "none", np.dtype(np.uint16)) as store:
            store.append(rng.integers(4, 32_000, int(lengths.sum())), lengths)
    begin = time.perf_counter()
    stores = [open_store(folder / f"{number}") for number in range(facets)]
    sampler = FacetSampler(stores, BatchConfig(64, 128), seed=1)
    for number in range(facets):
        sampler.next(number)
    seconds = time.perf_counter() - begin
    print(f"{facets} facets: all opened and one batch of 8k tokens from each in {seconds:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000_000)
    parser.add_argument("--facets", type=int, default=198)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        opening(Path(folder), arguments.pairs, arguments.repeats)
        first_batches(Path(folder), arguments.facets, 20_000)
        sampling(Path(folder) / "facets", arguments.facets, 1_000_000)


if __name__ == "__main__":
    main()
