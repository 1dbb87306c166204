"""198 facets in the layout of OPUS-100: time from nothing to the first step, memory, the bandit's share of a step."""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from facetmt.bandit import Exp3, FacetScheduler

LANGUAGES = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"][:99]
RECIPE = """\
data:
  {root: corpus, layout: opus100, pivot: en, direction: many-to-many, max_length: 64, dev_pairs: 10,
   vocab: {size: 4000}}
batch: {rows: 32, length: 64}
model: {preset: small}
schedule: {policy: exp3, reward: dev-pgnorm, learning_rate: 0.01, exploration: 0.5}
train: {steps: 30, validate_every: 1000, log_every: 10}
"""


def write_corpus(root: Path, pairs: int, rng: np.random.Generator) -> None:
    """99 language pairs of random words with English, as the release lays them out."""
    for language in LANGUAGES:
        first, second = sorted((language, "en"))
        folder = root / "supervised" / f"{first}-{second}"
        folder.mkdir(parents=True)
        for split, count in (("train", pairs), ("dev", 10), ("test", 4)):
            for side in (first, second):
                words = rng.integers(0, 400, (count, 12))
                lines = (" ".join(f"{side}{word:03d}" for word in row) for row in words)
                path = folder / f"opus.{first}-{second}-{split}.{side}"
                path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def bandit_seconds(arms: int, steps: int = 8000) -> float:
    scheduler = FacetScheduler(
        [str(arm) for arm in range(arms)], Exp3(arms, learning_rate=0.01, exploration=0.5)
    )
    times = []
    for gain in np.random.default_rng(0).normal(size=steps).tolist():
        start = time.perf_counter()
        scheduler.feedback(scheduler.pull(), before=gain, after=1.0)
        times.append(time.perf_counter() - start)
    return float(np.median(times[steps // 2 :]))


def main() -> None:
    """`python -m benchmarks.bench_opus`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=500, help="training pairs of each language")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "corpus", arguments.pairs, np.random.default_rng(1))
        (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
        command = [sys.executable, "-m", "facetmt"]
        began = time.perf_counter()
        subprocess.run([*command, "prepare", str(folder / "recipe.yaml")], check=True, capture_output=True)
        prepared = time.perf_counter() - began
        began = time.perf_counter()
        process = subprocess.Popen(
            [*command, "train", str(folder / "recipe.yaml"), "--run", str(folder / "run")]
        )
        pulls = folder / "run" / "metrics.jsonl"
        while process.poll() is None and not (pulls.is_file() and pulls.stat().st_size):
            time.sleep(0.05)
        first = time.perf_counter() - began  # ten steps, for the log is flushed at log points
        process.wait()
        rows = [json.loads(line) for line in pulls.read_text(encoding="utf-8").splitlines()]
        step = (rows[-1]["time"]["train"] - rows[0]["time"]["train"]) / (rows[-1]["step"] - rows[0]["step"])
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    bandit = bandit_seconds(198)
    print(f"198 facets, {99 * arguments.pairs:,} pairs: prepared in {prepared:.1f} s")
    print(
        f"from the command to the tenth step: {first:.1f} s (compiling included); peak memory {memory:.2f} GiB"
    )
    print(f"a step {step * 1e3:.0f} ms, the bandit {bandit * 1e6:.0f} µs: {bandit / step:.3%} of it")


if __name__ == "__main__":
    main()
