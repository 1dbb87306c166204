"""How much of what `facetmt filter` removes is noise: text of which a part was misaligned on purpose."""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from facetmt.demo.corpus import DemoConfig, write

NOISE = 0.3  # share of the training pairs that are misaligned; as much is removed
RECIPE = """\
data: {{root: corpus, source: de, target: en, max_length: 47, dev_pairs: 50, vocab: {{size: {vocabulary}}}}}
batch: {{rows: {rows}, length: 48}}
model: {{preset: tiny, width: 96, mlp: {mlp}, heads: 4}}
schedule: {{policy: mixed}}
optimiser: {{schedule: peak-rsqrt, learning_rate: {rate}, warmup: {warmup}}}
train: {{steps: {steps}, validate_every: {validate}, log_every: 100}}
decode: {{beam: 1, max_length: 48}}
seed: {seed}
"""


class Setting(NamedTuple):
    """What a text and its budget need of the recipe."""

    vocabulary: int
    rows: int
    mlp: int
    rate: float
    warmup: int


GENERATED = Setting(vocabulary=700, rows=32, mlp=192, rate=0.004, warmup=100)
REAL = Setting(vocabulary=4000, rows=48, mlp=384, rate=0.002, warmup=400)


class Text(NamedTuple):
    """The two sides of a split."""

    source: list[str]
    target: list[str]


def read(folder: Path, split: str, most: int | None = None) -> Text:
    """The first pairs of a split, compressed or not."""
    sides = []
    for side in ("de", "en"):
        path = folder / f"{split}.{side}"
        packed = path.with_name(f"{path.name}.gz")
        data = gzip.decompress(packed.read_bytes()) if packed.is_file() else path.read_bytes()
        sides.append(data.decode("utf-8").split("\n")[:-1][:most])
    return Text(*sides)


def store(folder: Path, split: str, text: Text) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for side, lines in zip(("de", "en"), text, strict=True):
        (folder / f"{split}.{side}").write_text(
            "".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n"
        )


def misaligned(text: Text, how: str, rng: np.random.Generator) -> tuple[Text, np.ndarray]:
    """Give 30 % of the pairs each other's targets: any of them, or one of nearly the same length."""
    chosen = rng.permutation(len(text.source))[: round(NOISE * len(text.source))]
    if how == "length":
        chosen = np.array(sorted(chosen.tolist(), key=lambda pair: len(text.target[pair])))
    target = list(text.target)
    for pair, other in zip(chosen.tolist(), np.roll(chosen, 1).tolist(), strict=True):
        target[pair] = text.target[other]
    # equal targets are no noise, wherever they come from
    wrong = np.array([new != old for new, old in zip(target, text.target, strict=True)])
    return Text(text.source, target), wrong


def make_corpus(folder: Path, clean: dict[str, dict[str, Text]], how: str, seed: int) -> None:
    """The corpus with its noise, and the test text of all facets as trusted text."""
    rng = np.random.default_rng(seed)
    trusted, pairs = Text([], []), 0
    for name, splits in clean.items():
        noisy, wrong = misaligned(splits["train"], how, rng)
        store(folder / "corpus" / name, "train", noisy)
        store(folder / "corpus" / name, "dev", splits["dev"])
        marks = "".join(f"{mark:d}\n" for mark in wrong)
        (folder / "corpus" / name / "train.noise").write_text(marks, encoding="utf-8")
        for whole, some in zip(trusted, splits["test"], strict=True):
            whole += some
        pairs += len(wrong)
    store(folder, "trusted", trusted)
    print(f"{pairs:,} training pairs in {len(clean)} facets, {len(trusted.source):,} trusted pairs")


def facetmt(*arguments: object) -> str:
    command = [sys.executable, "-m", "facetmt", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout + done.stderr


def precision(out: Path, corpus: Path) -> dict[str, tuple[int, int, int]]:
    """By facet: pairs removed, how many of them are noise, and how much noise there is."""
    found = {}
    for path in sorted(corpus.glob("*/train.noise")):
        noise = np.loadtxt(path) > 0
        removed = np.loadtxt(out / path.parent.name / "train.keep") == 0
        found[path.parent.name] = int(removed.sum()), int((removed & noise).sum()), int(noise.sum())
    return found


def tell(what: str, found: dict[str, tuple[int, int, int]]) -> None:
    """Precision and recall, overall and by facet."""
    counts = {"all": tuple(np.sum(list(found.values()), axis=0).tolist()), **found}
    cells = [
        f"{name} {hit / max(1, removed):.1%} ({hit / max(1, noise):.1%})"
        for name, (removed, hit, noise) in counts.items()
    ]
    print(f"  {what}: {', '.join(cells)}", flush=True)


def best_bleu(run: Path) -> float:
    """Of the checkpoint that filter uses."""
    rows = [json.loads(line) for line in (run / "validation.jsonl").read_text("utf-8").splitlines()]
    return max(float(row["bleu"]["average"]) for row in rows)


def measure(
    folder: Path, steps: Sequence[int], setting: Setting, seed: int, ways: dict[str, list[object]]
) -> None:
    """Train to each number of steps in turn, and filter by every way."""
    recipe, run = folder / "recipe.yaml", folder / "run"
    for number, end in enumerate(steps):
        text = RECIPE.format(**setting._asdict(), steps=end, validate=min(steps), seed=seed)
        recipe.write_text(text, encoding="utf-8")
        facetmt("train", recipe, "--run", run, *(["--resume"] if number else []))
        print(f"  step {end:,}, best dev BLEU {best_bleu(run):.1f}", flush=True)
        for name, words in ways.items():
            out = folder / f"{name.replace(' ', '-')}-{end}"
            facetmt("filter", run, "--out", out, "--keep", 1 - NOISE, *words)
            tell(name, precision(out, folder / "corpus"))
            for facet, kept in json.loads((out / "filter.json").read_text("utf-8"))["facets"].items():
                if (share := kept.get("estimated share misaligned")) is not None:
                    print(f"    {facet}: an estimated {share:.1%} misaligned", flush=True)


def texts(arguments: argparse.Namespace, folder: Path) -> dict[str, dict[str, Text]]:
    """The clean text by facet and split: generated, or the first pairs of some facets of real text."""
    if arguments.data is None:
        write(DemoConfig(size=arguments.pairs or 6000, dev=50, test=120, seed=arguments.seed), folder)
        names, root = sorted(path.name for path in folder.iterdir()), folder
    else:
        names, root = arguments.facets.split(","), arguments.data
    most = {"train": arguments.pairs or 8000, "dev": 200, "test": 500}
    return {name: {split: read(root / name, split, count) for split, count in most.items()} for name in names}


def main() -> None:
    """`python -m benchmarks.bench_filter [--data DIR]`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="real text, one folder per facet; default: generated text")
    parser.add_argument("--facets", default="captions,chat,conversation,pkgdesc", help="folders of --data")
    parser.add_argument("--pairs", type=int, help="training pairs of the largest facet")
    parser.add_argument("--steps", default=None, help="filter after each of these steps, such as 1000,2000")
    parser.add_argument("--misalign", choices=["random", "length"], default="random")
    parser.add_argument("--others", type=int, default=6, help="other sources that source use compares with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="keep everything here")
    arguments = parser.parse_args()
    real = arguments.data is not None
    steps = [int(part) for part in (arguments.steps or ("3000" if real else "2000")).split(",")]
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.folder or Path(name) / "work"
        clean = texts(arguments, Path(name) / "clean")
        make_corpus(folder, clean, arguments.misalign, arguments.seed)
        ways: dict[str, list[object]] = {
            "source use": ["--by", "source-use", "--others", arguments.others],
            "cds": ["--by", "cds", "--trusted", folder / "trusted.de", folder / "trusted.en"],
        }
        print(f"precision (recall) of removing {NOISE:.0%}, misaligned by {arguments.misalign}:", flush=True)
        measure(folder, steps, REAL if real else GENERATED, arguments.seed, ways)


if __name__ == "__main__":
    main()
