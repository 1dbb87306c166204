"""Speed against JoeyNMT 2.3.0: same text, subwords, shape and token budget, interleaved."""

import argparse
import gzip
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import sentencepiece

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
from facetmt.translate.config import DecodeConfig
from facetmt.translate.translate import Translator

FACET = "text"
REQUIREMENTS = ["torch==2.13.0", "joeynmt==2.3.0", "importlib_metadata", "sentencepiece<0.2.1"]
ROWS, LENGTH = 32, 64  # 2,048 tokens per side
BEAM, SENTENCES = 5, 32  # decoding: beam, sentences per batch


def environment(build: Path) -> Path:
    """Python of an environment with JoeyNMT, created at the first call."""
    python = build / "joeynmt-venv" / "bin" / "python"
    done = build / "joeynmt-venv" / "complete"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", str(build / "joeynmt-venv")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        done.touch()
    return python.absolute()


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

    def __init__(
        self, python: Path, folder: Path, prepared: Prepared, data: Path, test: Sequence[str]
    ) -> None:
        self.python, self.folder = python, folder.absolute()
        self.languages = (prepared.facets[0].source_language, prepared.facets[0].target_language)
        folder.mkdir(parents=True, exist_ok=True)
        self.model = folder / "spm.model"
        self.model.write_bytes(prepared.vocabulary.models[0])
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(self.model))
        words = [pieces.id_to_piece(i) for i in range(len(pieces)) if not pieces.is_control(i)]
        (folder / "vocabulary.txt").write_text("\n".join(words) + "\n", "utf-8")
        for language in self.languages:
            for split, limit in (("train", None), ("dev", 4)):
                lines = read_lines(next(data.glob(f"{split}.{language}*")))[:limit]
                (folder / f"{split}.{language}").write_text("\n".join(lines) + "\n", "utf-8")
            # JoeyNMT also reads references; their content does not affect speed
            (folder / f"test.{language}").write_text("\n".join(test) + "\n", "utf-8")

    def train(self, turn: int, updates: int) -> float:
        """Target tokens per second over `updates` more updates, excluding the first third as warm-up."""
        config = self.configuration(turn, updates)
        self.run("train", config, "--skip-test")
        log = (self.folder / f"round{turn}" / "train.log").read_text("utf-8")
        rates = [float(rate) for rate in re.findall(r"Tokens per Sec:\s*(\d+)", log)]
        return statistics.mean(rates[1:])

    def translate(self, turn: int, updates: int) -> tuple[float, list[str]]:
        """Seconds of generation and the translations of the test set, with the checkpoint of a round."""
        config = self.configuration(turn, updates)
        output = self.folder / f"round{turn}" / "hypotheses"
        self.run("test", config, "--output-path", str(output))
        log = (self.folder / f"round{turn}" / "test.log").read_text("utf-8")
        seconds = [float(found) for found in re.findall(r"Generation took ([\d.]+)", log)]
        return seconds[-1], read_lines(Path(f"{output}.test"))

    def run(self, verb: str, config: dict[str, Any], *options: str) -> None:
        """One JoeyNMT command; its configuration is JSON, which YAML contains."""
        path = self.folder / "config.yaml"
        path.write_text(json.dumps(config), "utf-8")
        command = [str(self.python), "-m", "joeynmt", verb, str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        if done.returncode:
            raise SystemExit(f"JoeyNMT failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")

    def configuration(self, turn: int, updates: int) -> dict[str, Any]:
        """d=256, 1024, 3+3 layers, 4 heads, 2,048-token batches, as the preset `small`."""
        folder = self.folder
        side = {
            "level": "bpe",
            "max_length": LENGTH,
            "voc_file": str(folder / "vocabulary.txt"),
            "tokenizer_type": "sentencepiece",
            "tokenizer_cfg": {"model_file": str(folder / "spm.model")},
        }
        block = {
            "type": "transformer",
            "num_layers": 3,
            "num_heads": 4,
            "embeddings": {"embedding_dim": 256, "scale": True, "dropout": 0.1},
            "hidden_size": 256,
            "ff_size": 1024,
            "dropout": 0.1,
            "layer_norm": "pre",
        }
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
        data = {split: str(folder / split) for split in ("train", "dev", "test")}
        return {
            "name": "bench",
            "model_dir": str(folder / f"round{turn}"),
            "use_cuda": False,
            "data": {
                **data,
                "dataset_type": "plain",
                "src": {"lang": self.languages[0], **side},
                "trg": {"lang": self.languages[1], **side},
            },
            "training": training,
            "testing": {
                "beam_size": BEAM,
                "beam_alpha": 1.0,
                "batch_type": "sentence",
                "batch_size": SENTENCES,
            },
            "model": {
                "initializer": "xavier_uniform",
                "embed_initializer": "xavier_uniform",
                "tied_embeddings": True,
                "tied_softmax": True,
                "encoder": block,
                "decoder": block,
            },
        }


class Ours:
    """The step, the sampler and the feed that `facetmt train` uses."""

    def __init__(self, prepared: Prepared) -> None:
        model = create(ModelConfig(preset="small"), *vocabulary_sizes(prepared.vocabulary), seed=1)
        optimiser = OptimiserConfig(schedule="peak-rsqrt", learning_rate=0.001, warmup=200)
        self.step = make_step(model.graph, optimiser, num_facets=1, seed=1)
        self.state = create_state(model.params)
        sampler = MixedSampler(prepared.stores("train"), BatchConfig(rows=ROWS, length=LENGTH), seed=1)
        self.feed = Feed(sampler, lambda batch: jax.tree.map(jnp.asarray, batch))
        self.feed.start()
        self.translator = Translator(
            model.graph, prepared.codec, DecodeConfig(beam=BEAM, batch=SENTENCES).for_training(LENGTH)
        )

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

    def translate(self, lines: Sequence[str]) -> tuple[float, list[str]]:
        """Seconds and translations; call once before measuring, to compile the search."""
        began = time.perf_counter()
        outputs = self.translator.translate(self.state.params, lines, FACET)
        return time.perf_counter() - began, outputs


def read_lines(path: Path) -> list[str]:
    """Lines of a plain or gzipped file, split at newlines only."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return raw.decode("utf-8").removesuffix("\n").split("\n")


def output_tokens(prepared: Prepared, lines: Sequence[str]) -> int:
    """Subwords of the outputs, with one EOS per line."""
    return sum(len(ids) for ids in prepared.codec.encode_target(list(lines), FACET))


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
    parser.add_argument("--sentences", type=int, default=256, help="sentences of the test set to decode")
    options = parser.parse_args()
    folder = options.build / "joeynmt-bench"
    python = environment(options.build)
    prepared = corpus(options.data, folder, options.source, options.target)
    test = read_lines(next(options.data.glob(f"test.{options.source}*")))[: options.sentences]
    joey, ours = Joey(python, folder, prepared, options.data, test), Ours(prepared)
    rates: dict[str, list[float]] = {"ours": [], "theirs": []}
    for turn in range(options.rounds):
        rates["theirs"].append(joey.train(turn, options.updates))
        rates["ours"].append(ours.train(options.updates))
    report("training, non-padding target tokens", rates["ours"], rates["theirs"])

    ours.translate(test)
    speeds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(options.rounds):
        for name, (seconds, lines) in (
            ("theirs", joey.translate(options.rounds - 1, options.updates)),
            ("ours", ours.translate(test)),
        ):
            speeds[name].append(output_tokens(prepared, lines) / seconds)
    report(f"decoding, beam {BEAM}, output tokens", speeds["ours"], speeds["theirs"])
    ours.feed.close()


if __name__ == "__main__":
    main()
