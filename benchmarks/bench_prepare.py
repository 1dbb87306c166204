"""Preparing real text: speed against SentencePiece's own batch encoding, and memory on a large corpus."""

import argparse
import gzip
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import sentencepiece

from facetmt.data.chunks import read_chunks
from facetmt.data.clean import plain_pairs
from facetmt.data.config import DataConfig
from facetmt.data.corpus import Facet, SentencePair, decode_chunk
from facetmt.data.discover import discover
from facetmt.data.prepare import prepare
from facetmt.data.prepared import FACETS, VOCABULARY
from facetmt.data.stats import stats

MB = 1 << 20


def read_pairs(facet: Facet, split: str) -> Iterator[SentencePair]:
    """The facet's pairs that have text on both sides."""
    for chunk in read_chunks(facet.files[split]):
        yield from plain_pairs(decode_chunk(chunk, facet.files[split], "strict")).pairs


class Stages:
    """Wall-clock seconds of each stage, from the progress callback."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def tree_memory() -> int:
    """Resident bytes of this process and its children, counting shared pages once (Linux)."""
    total = 0
    pending = [Path("/proc/self")]
    while pending:
        process = pending.pop()
        try:
            rollup = (process / "smaps_rollup").read_text()
            total += (
                next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) * 1024
            )
            for task in (process / "task").iterdir():
                pending += [Path("/proc") / child for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return total


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """The largest tree_memory while the block runs, as the list's only element."""
    peak, stop = [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.2):
            peak[0] = max(peak[0], tree_memory())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


def all_lines(config: DataConfig) -> list[str]:
    """Every sentence that prepare encodes."""
    lines = []
    for facet in discover(config, Path()):
        for split in ("train", "dev"):
            for pair in read_pairs(facet, split):
                lines += [pair.source, pair.target]
    return lines


def speed(config: DataConfig, workers: int, repeats: int) -> None:
    """prepare without learning (scan, read, check, encode, write) against encoding alone, interleaved."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "prepared"
        stages = Stages()
        begin = time.perf_counter()
        with peak_memory() as peak:
            prepared = prepare(config, Path(), output, workers, stages)
        whole = time.perf_counter() - begin
        row, _ = stats(prepared)
        print(f"{row.facets} facets, {row.pairs} pairs, entropy {row.entropy:.1f} %, dropped {row.dropped}")
        print(
            "everything, including the vocabulary: "
            + ", ".join(f"{k} {v:.1f} s" for k, v in stages.seconds.items())
        )
        print(f"  {whole:.1f} s in total, peak memory {peak[0] / MB:.0f} MB")
        lines = all_lines(config)
        processor = sentencepiece.SentencePieceProcessor(model_file=str(output / VOCABULARY / "spm.model"))
        ratios, ours, theirs = [], [], []
        for _ in range(repeats):
            shutil.rmtree(output / FACETS)
            begin = time.perf_counter()
            prepare(config, Path(), output, workers)
            ours.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            processor.encode(lines, out_type=int, num_threads=workers)
            theirs.append(time.perf_counter() - begin)
            ratios.append(theirs[-1] / ours[-1])
        begin = time.perf_counter()
        prepare(config, Path(), output, workers)
        again = time.perf_counter() - begin
        print(
            f"prepare {statistics.median(ours):.2f} s, SentencePiece encode {statistics.median(theirs):.2f} s"
        )
        rounds = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"speed relative to SentencePiece: {statistics.median(ratios):.2f} (rounds: {rounds})")
        print(f"prepare again, nothing changed: {again / statistics.median(ours):.4f} of the time")


def memory(config: DataConfig, workers: int, pairs: int) -> None:
    """The text repeated until it has `pairs` training pairs, as one facet."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "corpus"
        root.mkdir()
        facets = discover(config, Path())
        text = [pair for facet in facets for pair in read_pairs(facet, "train")]
        for split, count in (("train", pairs), ("dev", 1000)):
            for side, language in enumerate((facets[0].source_language, facets[0].target_language)):
                with gzip.open(root / f"{split}.{language}.gz", "wt", 1, "utf-8", newline="\n") as file:
                    for number in range(count):
                        file.write(f"{text[number % len(text)][side]}\n")
        del text
        config = replace(config, root=str(root), facets=None)
        begin, stages = time.perf_counter(), Stages()
        with peak_memory() as peak:
            prepare(config, Path(), Path(folder) / "prepared", workers, stages)
        seconds = time.perf_counter() - begin
        print(f"{pairs} pairs in {seconds:.0f} s, peak memory {peak[0] / MB:.0f} MB")
        print("  " + ", ".join(f"{stage} {value:.0f} s" for stage, value in stages.seconds.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder with one subfolder per facet (layout pairs)")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--pairs", type=int, help="also prepare this many pairs and print peak memory")
    arguments = parser.parse_args()
    config = DataConfig(
        root=str(Path(arguments.data).resolve()), source=arguments.source, target=arguments.target
    )
    speed(config, arguments.workers, arguments.repeats)
    if arguments.pairs:
        memory(config, arguments.workers, arguments.pairs)


if __name__ == "__main__":
    main()
