"""Training speed against JoeyNMT 2.3.0: same text, subwords, shape and token budget, interleaved.

Decoding is compared by bench_engines, with the weights of a trained run.
"""

import argparse
import re
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.bench_engines import lines_of
from benchmarks.joeynmt_engine import architecture, environment, run_joeynmt, text_side, write_vocabulary

from facetmt.data.config import BatchConfig, DataConfig, FacetConfig, VocabConfig
from facetmt.data.prepare import prepare
from facetmt.data.prepared import Prepared
from facetmt.data.sampler import MixedSampler
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.train.config import OptimiserConfig
from facetmt.train.feed import Feed
from facetmt.train.session import vocabulary_sizes
from facetmt.train.state import create_state
from facetmt.train.step import make_step, read_metrics

FACET = "text"
ROWS, LENGTH = 32, 64  # 2,048 tokens per side
MODEL = ModelConfig(preset="small")


def corpus(data: Path, build: Path, source: str, target: str) -> Prepared:
    """The text of `data`, prepared with a joint vocabulary of 4,000 subwords."""

    def files(split: str) -> tuple[str, str]:
        names = [next(data.glob(f"{split}.{language}*")).name for language in (source, target)]
        return names[0], names[1]

    config = DataConfig(
        root=str(data.absolute()),
        source=source,
        target=target,
        facets={FACET: FacetConfig(train=files("train"), dev=files("dev"), test=files("test"))},
        max_length=LENGTH,
        vocab=VocabConfig(size=4000),
    )
    return prepare(config, data, build / "prepared")


class Joey:
    """JoeyNMT as its users run it, from the command line; the figures are from its own logs."""

    def __init__(self, python: Path, folder: Path, prepared: Prepared, data: Path) -> None:
        self.python, self.folder = python, folder.absolute()
        self.languages = (prepared.facets[0].source_language, prepared.facets[0].target_language)
        folder.mkdir(parents=True, exist_ok=True)
        write_vocabulary(self.folder, prepared.vocabulary.models[0])
        for language in self.languages:
            for split, limit in (("train", None), ("dev", 4)):
                lines = lines_of(next(data.glob(f"{split}.{language}*")), limit)
                (folder / f"{split}.{language}").write_text("\n".join(lines) + "\n", "utf-8")

    def train(self, turn: int, updates: int) -> float:
        """Target tokens per second over `updates` more updates, excluding the first third as warm-up."""
        config = self.configuration(turn, updates)
        run_joeynmt(self.python, self.folder, "train", config, "--skip-test")
        log = (self.folder / f"round{turn}" / "train.log").read_text("utf-8")
        rates = [float(rate) for rate in re.findall(r"Tokens per Sec:\s*(\d+)", log)]
        return statistics.mean(rates[1:])

    def configuration(self, turn: int, updates: int) -> dict[str, Any]:
        """2,048-token batches and the shape of our preset."""
        folder, shape = self.folder, MODEL.shape
        training: dict[str, Any] = {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "learning_rate": 0.001,
            "learning_rate_warmup": 200,
            "scheduling": "warmupinversesquareroot",
            "loss": "crossentropy",
            "normalization": "tokens",
            "label_smoothing": 0.1,
            "clip_grad_norm": 1.0,
            "batch_type": "token",
            "batch_size": ROWS * LENGTH,
            "epochs": 1000,
            "updates": updates * (turn + 1),
            "logging_freq": updates // 3,
            "validation_freq": updates // 3 * 3,
            "overwrite": True,
        }
        if turn:
            training["load_model"] = str(folder / f"round{turn - 1}" / "latest.ckpt")
        sides = [text_side(folder, language, LENGTH) for language in self.languages]
        layers = shape.encoder_layers, shape.decoder_layers
        return {
            "name": "bench",
            "model_dir": str(folder / f"round{turn}"),
            "use_cuda": False,
            "data": {
                "train": str(folder / "train"),
                "dev": str(folder / "dev"),
                "dataset_type": "plain",
                "src": sides[0],
                "trg": sides[1],
            },
            "training": training,
            "testing": {"batch_type": "sentence", "batch_size": ROWS},
            "model": architecture(shape.width, shape.mlp, shape.heads, layers),
        }


class Ours:
    """The step, the sampler and the feed that `facetmt train` uses."""

    def __init__(self, prepared: Prepared) -> None:
        model = create(MODEL, *vocabulary_sizes(prepared.vocabulary), seed=1)
        optimiser = OptimiserConfig(schedule="peak-rsqrt", learning_rate=0.001, warmup=200)
        self.step = make_step(model.graph, optimiser, num_facets=1, seed=1)
        self.state = create_state(model.params)
        sampler = MixedSampler(prepared.stores("train"), BatchConfig(rows=ROWS, length=LENGTH), seed=1)
        self.feed = Feed(sampler, lambda batch: jax.tree.map(jnp.asarray, batch))
        self.feed.start()

    def train(self, updates: int) -> float:
        """Target tokens per second over the updates, excluding the first third as for JoeyNMT."""
        tokens, began = 0, 0.0
        for number in range(updates):
            if number == updates // 3:
                began, tokens = time.perf_counter(), 0
            batch, _ = self.feed.take(0)
            self.state, values = self.step(self.state, batch)
            tokens += read_metrics(values).tokens
        return tokens / (time.perf_counter() - began)


def report(what: str, ours: Sequence[float], theirs: Sequence[float]) -> None:
    """Medians, and the median ratio over rounds."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    print(
        f"{what} per second: facetmt {statistics.median(ours):,.0f}, "
        f"JoeyNMT {statistics.median(theirs):,.0f}, "
        f"ratio {statistics.median(ratios):.2f} (rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)})"
    )


def main() -> None:
    """`python -m benchmarks.bench_joeynmt --data DIR`: DIR has train, dev and test text of two languages."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--build", type=Path, default=Path("build"), help="folder of JoeyNMT's environment")
    parser.add_argument("--updates", type=int, default=60, help="per round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = options.build / "joeynmt-bench"
    python = environment(options.build)
    prepared = corpus(options.data, folder, options.source, options.target)
    joey, ours = Joey(python, folder, prepared, options.data), Ours(prepared)
    rates: dict[str, list[float]] = {"ours": [], "theirs": []}
    for turn in range(options.rounds):
        rates["theirs"].append(joey.train(turn, options.updates))
        rates["ours"].append(ours.train(options.updates))
    report("training, non-padding target tokens", rates["ours"], rates["theirs"])
    ours.feed.close()


if __name__ == "__main__":
    main()
