"""198 facets in the layout of OPUS-100: time to the end of step 1, memory, the bandit's share of a step."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from facetmt.bandit import Exp3, FacetScheduler

LANGUAGES = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst" if f"{a}{b}" != "en"]
WORDS = 3000  # per language, drawn by Zipf's law
STEPS = 30
RECIPE = """\
data:
  {{root: corpus, layout: opus100, pivot: en, direction: many-to-many, max_length: 64, dev_pairs: 10,
   vocab: {{size: {vocabulary}}}}}
batch: {{rows: 32, length: 64}}
model: {{preset: {preset}}}
schedule: {{policy: exp3, reward: dev-pgnorm, learning_rate: 0.01, exploration: 0.5}}
train: {{steps: 100000, validate_every: 100000, log_every: 1}}
"""


class Ended(NamedTuple):
    """A finished process."""

    status: int
    gigabytes: float  # peak memory


def lexicon(language: str) -> np.ndarray:
    """Words of one to four syllables; syllables and endings depend on the language."""
    rng = np.random.default_rng(list(language.encode()))
    letters = [list(part) for part in ("bcdfghjklmnpqrstvwxyz", "aeiouy")]
    first, second = (rng.choice(part, (60, 1)) for part in letters)
    syllables = np.char.add(first, second).ravel()
    lengths = rng.integers(1, 5, WORDS)
    words = ["".join(rng.choice(syllables, length)) for length in lengths]
    endings = ["", "", *rng.choice(letters[0], 4)]
    return np.array([word + endings[number % len(endings)] for number, word in enumerate(words)], object)


def write_corpus(root: Path, largest: int) -> int:
    """99 languages, translated word for word, in the layout of the release; returns the training pairs."""
    rng = np.random.default_rng(1)
    english, total = lexicon("en"), 0
    ranks = 1 / (np.arange(WORDS) + 2.7)
    sizes = np.geomspace(largest, max(1, largest // 20), len(LANGUAGES)).astype(int).tolist()
    for language, size in zip(LANGUAGES, sizes, strict=True):
        first, second = sorted((language, "en"))
        folder = root / "supervised" / f"{first}-{second}"
        folder.mkdir(parents=True)
        total += size
        words = {language: lexicon(language), "en": english}
        for split, count in (("train", size), ("dev", 10), ("test", 4)):
            lengths = rng.integers(5, 25, count)
            drawn = np.split(rng.choice(WORDS, lengths.sum(), p=ranks / ranks.sum()), np.cumsum(lengths)[:-1])
            for side in (first, second):
                text = "".join(" ".join(words[side][line]) + "\n" for line in drawn)
                (folder / f"opus.{first}-{second}-{split}.{side}").write_text(text, encoding="utf-8")
    return total


def finish(process: subprocess.Popen[bytes]) -> Ended:
    """Wait for a process; exit code and peak memory."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(process.returncode, usage.ru_maxrss * 1024 / 1e9)


def facetmt(*arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "facetmt", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def wait_for_line(path: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the log has this many lines; here they are flushed at each step."""
    while not (path.is_file() and path.read_bytes().count(b"\n") >= number):
        if process.poll() is not None:
            raise SystemExit(f"facetmt exited with code {process.returncode} before step {number}")
        time.sleep(0.02)


def bandit_seconds(arms: int, steps: int = 8000) -> float:
    """Median time of pull and feedback together, once the reward window is full."""
    scheduler = FacetScheduler(
        [str(arm) for arm in range(arms)], Exp3(arms, learning_rate=0.01, exploration=0.5)
    )
    times = []
    for gain in np.random.default_rng(0).normal(size=steps).tolist():
        start = time.perf_counter()
        scheduler.feedback(scheduler.pull(), before=gain, after=1.0)
        times.append(time.perf_counter() - start)
    return float(np.median(times[steps // 2 :]))


def measure(folder: Path) -> None:
    """Prepare, train for some steps, stop, and print what it took."""
    recipe, run = folder / "recipe.yaml", folder / "run"
    began = time.perf_counter()
    prepared = finish(facetmt("prepare", recipe))
    if prepared.status:
        raise SystemExit(f"prepare exited with code {prepared.status}")
    seconds = time.perf_counter() - began
    print(f"prepare: {seconds:.1f} s, peak {prepared.gigabytes:.2f} GB", flush=True)
    began = time.perf_counter()
    process = facetmt("train", recipe, "--run", run)
    wait_for_line(run / "metrics.jsonl", 1, process)
    first = time.perf_counter() - began
    print(
        f"train: {first:.1f} s from the command to the end of step 1 ({seconds + first:.1f} s with prepare)"
    )
    wait_for_line(run / "metrics.jsonl", STEPS, process)
    process.send_signal(signal.SIGTERM)  # it saves and exits; validating 198 facets is not measured here
    ended = finish(process)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    times = np.diff([row["time"]["train"] for row in rows])[STEPS // 3 :]
    step, bandit = float(np.median(times)), bandit_seconds(2 * len(LANGUAGES))
    print(f"train: peak {ended.gigabytes:.2f} GB over {rows[-1]['step']} steps and a checkpoint")
    print(f"step {step * 1e3:.0f} ms, of which the bandit {bandit * 1e6:.0f} µs: {bandit / step:.4%}")


def main() -> None:
    """`python -m benchmarks.bench_opus`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2000, help="training pairs of the largest language")
    parser.add_argument("--preset", default="small", help="size of the model")
    parser.add_argument("--vocabulary", type=int, default=8000, help="subwords")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = write_corpus(folder / "corpus", arguments.pairs)
        recipe = RECIPE.format(preset=arguments.preset, vocabulary=arguments.vocabulary)
        (folder / "recipe.yaml").write_text(recipe, encoding="utf-8")
        shape = f"{2 * len(LANGUAGES)} facets, {2 * pairs:,} training pairs, preset {arguments.preset}"
        print(f"{shape}, {arguments.vocabulary:,} subwords, 32 x 64 rows", flush=True)
        measure(folder)


if __name__ == "__main__":
    main()
