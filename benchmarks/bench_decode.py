"""What decode.max_ratio saves: time of greedy and beam search, by amount of training."""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from facetmt.data.prepared import open_prepared
from facetmt.demo.corpus import DemoConfig, write
from facetmt.model import transformer
from facetmt.model.transformer import Params
from facetmt.recipe import Recipe, load_recipe
from facetmt.train.restore import load_model
from facetmt.train.run import train
from facetmt.train.session import vocabulary_sizes
from facetmt.translate.config import DecodeConfig
from facetmt.translate.evaluate import corpus_scores
from facetmt.translate.translate import Translator

RECIPE = """\
data: {root: corpus, source: de, target: en, max_length: 64, dev_pairs: 20, vocab: {size: 1000}}
batch: {rows: 16, length: 64}
model: {preset: tiny, width: 64, mlp: 128, encoder_layers: 1, decoder_layers: 2}
schedule: {policy: mixed}
optimiser: {schedule: peak-rsqrt, learning_rate: 0.003, warmup: 60}
train: {steps: 600, validate_every: 600}
"""
RATIOS = (None, 2.0, 3.0)
Search = Callable[[], tuple[list[str], list[str]]]  # hypotheses and references


def states(folder: Path, steps: list[int]) -> dict[int, Params]:
    """Parameters after each number of training steps; 0: the initial ones."""
    write(DemoConfig(size=3000), folder / "corpus")
    path = folder / "recipe.yaml"
    path.write_text(RECIPE, encoding="utf-8")
    found: dict[int, Params] = {}
    for count in steps:
        if count:
            settings = [f"train.steps={count}", f"train.validate_every={count}", "train.keep_best=9"]
            train(load_recipe(path, settings), folder / f"run-{count}")
            found[count] = load_model(folder / f"run-{count}").params
    recipe: Recipe = load_recipe(path)
    vocabulary = open_prepared(Path(recipe.prepared)).vocabulary
    return {0: transformer.create(recipe.model, *vocabulary_sizes(vocabulary), seed=1).params, **found}


def measure(searches: dict[float | None, Search], rounds: int) -> dict[float | None, tuple[float, float]]:
    """Median seconds and BLEU of each search; each runs once per round, after one round that compiles."""
    seconds: dict[float | None, list[float]] = {ratio: [] for ratio in searches}
    bleu: dict[float | None, float] = {}
    for turn in range(rounds + 1):
        for ratio, search in searches.items():
            began = time.perf_counter()
            outputs, references = search()
            if turn:
                seconds[ratio].append(time.perf_counter() - began)
            bleu[ratio] = corpus_scores(outputs, references, "en")[0]["bleu"]
    return {ratio: (float(np.median(seconds[ratio])), bleu[ratio]) for ratio in searches}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", default="60,400", help="numbers of training steps to try besides 0")
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        by_steps = states(folder, [int(word) for word in given.steps.split(",")])
        recipe = load_recipe(folder / "recipe.yaml")
        prepared = open_prepared(Path(recipe.prepared))
        graph = transformer.graph_of(recipe.model, *vocabulary_sizes(prepared.vocabulary))
        facet = prepared.facets[0].name
        sources, references = (lines[: given.lines] for lines in prepared.text(facet, "test"))

        def search(params: Params, beam: int, ratio: float | None) -> Search:
            decode = DecodeConfig(beam=beam, max_ratio=ratio).for_training(recipe.data.max_length)
            translator = Translator(graph, prepared.codec, decode)
            return lambda: (translator.translate(params, sources, facet), references)

        for steps, params in by_steps.items():
            for beam in (1, 5):
                found = measure({ratio: search(params, beam, ratio) for ratio in RATIOS}, given.rounds)
                for ratio, (seconds, bleu) in found.items():
                    print(
                        f"{steps:>5} steps, beam {beam}, max_ratio {ratio}: {seconds:.2f} s, BLEU {bleu:.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
