"""Natural or translated? Two language models of the target language; the one that likes a sentence better says.

score(y) = log p(y)/|y| under each (paper, appendix, after Riley et al. 2020); the higher one is the label.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

from facetmt.data.batch import EOS, BatchConfig
from facetmt.data.codec import Codec, open_codec
from facetmt.data.corpus import DataConfig, FacetConfig
from facetmt.data.lines import decode, read_lines
from facetmt.data.prepare import prepare
from facetmt.data.sampler import FacetSampler
from facetmt.data.vocab import VocabConfig
from facetmt.errors import UserError
from facetmt.model import language_model
from facetmt.model.config import ModelConfig
from facetmt.select.scoring import Sentence, mean_log_probabilities
from facetmt.train import checkpoint
from facetmt.train.config import OptimiserConfig
from facetmt.train.state import create_state
from facetmt.train.step import make_step, read_metrics

CLASSES = ("natural", "translationese")
CODEC, SETTINGS = "vocabulary", "label.json"
Tell = Callable[[str], None]


@dataclass(frozen=True)
class LabelConfig:
    """The two language models; both see equally many tokens."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    steps: int = 2000  # updates of each model
    vocab: VocabConfig = field(default_factory=lambda: VocabConfig(size=8000, exact=False))
    model: ModelConfig = field(default_factory=lambda: ModelConfig(preset="tiny"))
    batch: BatchConfig = field(default_factory=lambda: BatchConfig(rows=24, length=128))
    optimiser: OptimiserConfig = field(
        default_factory=lambda: OptimiserConfig(
            schedule="peak-rsqrt", learning_rate=0.003, warmup=200, label_smoothing=0.0
        )
    )
    seed: int = 1


def train_models(texts: Sequence[Path], directory: Path, config: LabelConfig, tell: Tell) -> None:
    """Train one model on each text (natural, translationese), with one vocabulary, and save both."""
    if directory.exists() and any(directory.iterdir()):
        raise UserError(f"{directory} is not empty; give another folder for the language models")
    prepared = prepare(data_config(texts, config), Path.cwd(), directory / "prepared", overwrite=True)
    if (size := prepared.vocabulary.target_size) < config.vocab.size:
        tell(f"the text supports {size:,} subwords, not {config.vocab.size:,}: {size:,} are used")
    prepared.copy_vocabulary(directory / CODEC)
    sampler = FacetSampler(prepared.stores("train"), config.batch, config.seed)
    graph, params = language_model.create(config.model, prepared.vocabulary.target_size, seed=config.seed)
    step = make_step(graph, config.optimiser, reward="none", num_facets=len(CLASSES), seed=config.seed)  # type: ignore[arg-type]
    for place, name in enumerate(CLASSES):
        state = create_state(params)
        losses = []
        for number in range(1, config.steps + 1):
            state, values = step(state, sampler.next(place))
            losses.append(read_metrics(values).loss)
            if number % 100 == 0 or number == config.steps:
                tell(f"{name}: step {number:,}/{config.steps:,}  loss {np.mean(losses[-100:]):.3f}")
        checkpoint.save(directory / name, config.steps, state.params, {"class": name})
    write_settings(directory, config)


def data_config(texts: Sequence[Path], config: LabelConfig) -> DataConfig:
    """Each text as a facet whose two sides are the same file: a language model reads the target alone."""
    facets = {
        name: FacetConfig(train=(str(path.absolute()), str(path.absolute())))
        for name, path in zip(CLASSES, texts, strict=True)
    }
    return DataConfig(
        root=".",
        source="text",
        target="text",
        facets=facets,
        allow_missing_dev=True,
        vocab=config.vocab,
        max_length=min(config.batch.width),
        seed=config.seed,
    )


def write_settings(directory: Path, config: LabelConfig) -> None:
    about = {"model": vars(config.model), "rows": config.batch.rows, "length": config.batch.length}
    (directory / SETTINGS).write_text(json.dumps(about, indent=1), encoding="utf-8")


@dataclass(frozen=True)
class Labeller:
    """Two trained models, ready to score."""

    codec: Codec
    graph: language_model.Graph
    params: tuple[Any, Any]
    shape: BatchConfig

    def margins(self, lines: Sequence[str]) -> Iterator[float]:
        """score under natural − score under translationese, of each line; a blank one has 0."""
        encoded = self.codec.encode_target([line if line.strip() else "" for line in lines], CLASSES[0])
        sentences = [Sentence([EOS], ids) for ids in encoded]
        score = jax.jit(partial(language_model.log_probability, self.graph))
        means = [mean_log_probabilities(partial(score, one), sentences, self.shape) for one in self.params]
        for line, natural, translated in zip(lines, *means, strict=True):
            yield natural - translated if line.strip() else 0.0


def load_labeller(directory: Path) -> Labeller:
    """The models that `train_models` left."""
    try:
        about = json.loads((directory / SETTINGS).read_text(encoding="utf-8"))
        model, shape = ModelConfig(**about["model"]), BatchConfig(rows=about["rows"], length=about["length"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            f"{directory} holds no language models; train them with --natural and --translated"
        ) from None
    codec = open_codec(directory / CODEC)
    graph, like = language_model.create(model, codec.vocabulary.target_size, seed=0)
    loaded = []
    for name in CLASSES:
        found, complaints = checkpoint.newest_whole(directory / name)
        if found is None:
            raise UserError(
                f"{directory / name} holds no whole model: {'; '.join(complaints) or 'train it first'}"
            )
        loaded.append(found.arrays(like))
    return Labeller(codec, graph, (loaded[0], loaded[1]), shape)


def label_file(labeller: Labeller, text: Path, out: Path) -> dict[str, float]:
    """Write the class of each line of `text` to `out`; return the share of each class."""
    counts = dict.fromkeys(CLASSES, 0)
    partial_out = out.with_name(f".{out.name}.partial")
    with partial_out.open("w", encoding="utf-8", newline="\n") as file:
        for lines in text_chunks(text):
            for margin in labeller.margins(lines):
                name = CLASSES[0] if margin >= 0 else CLASSES[1]
                counts[name] += 1
                file.write(f"{name}\n")
    partial_out.replace(out)
    total = max(1, sum(counts.values()))
    return {name: count / total for name, count in counts.items()}


def agreement(labels: Path, gold: Path) -> float:
    """Share of the lines on which two label files agree."""
    one, other = (path.read_text(encoding="utf-8").split("\n") for path in (labels, gold))
    if len(one) != len(other):
        raise UserError(
            f"{gold} has {len(other) - 1} lines and {labels} {len(one) - 1}; they must be equally many"
        )
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if b]
    unknown = {b for _, b in pairs} - set(CLASSES)
    if unknown or not pairs:
        raise UserError(f"{gold} must have one of {' or '.join(CLASSES)} a line, not {sorted(unknown)[:3]}")
    return sum(a == b for a, b in pairs) / len(pairs)


def text_chunks(path: Path, size: int = 1 << 14) -> Iterator[list[str]]:
    """The lines of a file, some at a time; a line that is too long to be read counts as blank."""
    numbered = enumerate(read_lines(path), start=1)
    while some := list(islice(numbered, size)):
        yield decode([line or b"" for _, line in some], path, [number for number, _ in some], "strict")
