"""Contrastive data selection (Wang et al. 2018): keep what a model fine-tuned on trusted text likes better.

score(x, y) = [log p_trusted(y|x) − log p_noisy(y|x)] / |y|
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import Batch, BatchConfig, assign_rows, fill
from facetmt.data.chunks import Files, read_chunks, read_rows
from facetmt.data.codec import Codec
from facetmt.data.corpus import DataConfig, Facet, decode_chunk
from facetmt.data.layouts import discover
from facetmt.data.lines import decode
from facetmt.errors import UserError
from facetmt.select.scoring import Score, Sentence, cut, mean_log_probabilities, tokens_of
from facetmt.train.config import OptimiserConfig
from facetmt.train.loss import score as log_probability
from facetmt.train.restore import TrainedModel
from facetmt.train.state import create_state
from facetmt.train.step import make_step

Tell = Callable[[str], None]
HELD_OUT = 0.1  # share of the trusted text that tells when to stop


@dataclass(frozen=True)
class FilterConfig:
    """Fine-tuning in stages: after each the held-out trusted text is scored, and the best stage is kept."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    keep: float = 0.7  # share of the pairs to keep; the paper removes 30 %
    stages: int = 5
    steps: int = 50  # updates a stage
    learning_rate: float = 0.0003
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.keep <= 1:
            raise ValueError(f"keep is {self.keep}; give a share above 0 and at most 1.")
        if self.stages < 1 or self.steps < 1:
            raise ValueError("stages and steps must be at least 1.")


def trusted_sentences(source: Path, target: Path, codec: Codec, facet: str) -> list[Sentence]:
    """The trusted pairs as ids."""
    files = Files(source, target)
    pairs = [pair for chunk in read_chunks(files) for pair in decode_chunk(chunk, files, "strict").pairs]
    if len(pairs) < 20:
        raise UserError(f"{source} has {len(pairs)} pairs with text, too few to trust; give at least 20")
    sources = codec.encode_source([pair.source for pair in pairs], facet)
    targets = codec.encode_target([pair.target for pair in pairs], facet)
    return [Sentence(*ids) for ids in zip(sources, targets, strict=True)]


def endless_batches(sentences: Sequence[Sentence], shape: BatchConfig, seed: int) -> Iterator[Batch]:
    """Shuffled, packed, epoch after epoch."""
    rng = np.random.default_rng(seed)
    waiting: list[Sentence] = []
    while True:
        waiting += [cut(sentences[index], shape) for index in rng.permutation(len(sentences))]
        while sum(len(sentence.target) for sentence in waiting) >= shape.rows * shape.width[1]:
            source, target = (np.array([len(sentence[side]) for sentence in waiting]) for side in (0, 1))
            row = assign_rows(source, target, np.zeros(len(waiting), np.bool_), shape.rows, shape.width)
            order = np.flatnonzero(row >= 0)
            order = order[np.argsort(row[order], kind="stable")]
            yield fill(tokens_of(waiting, order), row[order], shape.rows, shape.width)
            waiting = [sentence for sentence, place in zip(waiting, row, strict=True) if place < 0]


def fine_tuned(model: TrainedModel, trusted: Sequence[Sentence], config: FilterConfig, tell: Tell) -> Any:
    """The parameters of the stage with the best held-out score."""
    shape = model.recipe.batch
    held = max(1, int(HELD_OUT * len(trusted)))
    order = np.random.default_rng(config.seed).permutation(len(trusted))
    check, learn = ([trusted[index] for index in part] for part in (order[:held], order[held:]))
    optimiser = OptimiserConfig(
        schedule="constant", learning_rate=config.learning_rate, warmup=0, label_smoothing=0.0
    )
    step = make_step(model.graph, optimiser, num_facets=1, seed=config.seed)
    score = jax.jit(partial(log_probability, model.graph))
    state, feed = create_state(model.params), endless_batches(learn, shape, config.seed)

    def quality(params: Any) -> float:
        return float(np.mean(list(mean_log_probabilities(partial(score, params), check, shape))))

    best, best_params = quality(model.params), model.params
    tell(f"held-out log-probability before: {best:.4f}")
    for stage in range(1, config.stages + 1):
        for batch in islice(feed, config.steps):
            state, _ = step(state, batch)
        reached = quality(state.params)
        tell(f"held-out log-probability after stage {stage}: {reached:.4f}")
        if reached <= best and stage > 1:
            break
        best, best_params = max(best, reached), jax.tree.map(np.asarray, state.params)
    return best_params


def contrast(
    model: TrainedModel, trusted: Any, shape: BatchConfig
) -> Callable[[list[Sentence]], NDArray[np.float64]]:
    """Sentences to their scores."""
    score = jax.jit(partial(log_probability, model.graph))
    sides: tuple[Score, Score] = partial(score, trusted), partial(score, model.params)

    def scores(sentences: list[Sentence]) -> NDArray[np.float64]:
        first, second = (
            np.fromiter(mean_log_probabilities(side, sentences, shape), np.float64) for side in sides
        )
        return first - second

    return scores


def score_files(
    facet: Facet,
    files: Files,
    codec: Codec,
    scores: Callable[[list[Sentence]], NDArray[np.float64]],
    errors: str,
) -> NDArray[np.float64]:
    """The score of every line of a training text; −inf where there is no pair to speak of."""
    found: list[NDArray[np.float64]] = []
    rows = read_rows(replace(files, label=None, labels=None, keep=None, limit=None), Counter())
    while some := list(islice(rows, 1 << 13)):
        numbers = [number for number, _, _ in some]
        sources = decode([source or b"" for _, source, _ in some], files.source, numbers, errors)
        targets = decode([target or b"" for _, _, target in some], files.target, numbers, errors)
        whole = np.array([bool(s.strip() and t.strip()) for s, t in zip(sources, targets, strict=True)])
        ids = zip(
            codec.encode_source(sources, facet.name), codec.encode_target(targets, facet.name), strict=True
        )
        values = np.full(len(some), -np.inf)
        values[whole] = scores([Sentence(*pair) for pair, there in zip(ids, whole, strict=True) if there])
        found.append(values)
    return np.concatenate(found)


def training_texts(data: DataConfig) -> list[Facet]:
    """A facet for each training text; refuses what the keep files could not be written for."""
    root = Path(data.root).resolve()
    texts: dict[tuple[Path, Path], Facet] = {}
    for facet in discover(data, Path(data.root)):
        files = facet.files["train"]
        if files.header or files.columns is not None:
            raise UserError("filter works on line-aligned files; convert the TSV to two files first")
        if not files.source.resolve().is_relative_to(root):
            raise UserError(
                f"filter works on text below {data.root}, but {files.source} is not: move it there"
            )
        texts.setdefault((files.source, files.target), facet)
    return list(texts.values())


def filter_corpus(
    model: TrainedModel, texts: Sequence[Facet], trusted: Any, out: Path, config: FilterConfig, tell: Tell
) -> dict[str, float]:
    """Write OUT/FOLDER/train.keep for each training text; return the share that each facet keeps."""
    data = model.recipe.data
    scores = contrast(model, trusted, model.recipe.batch)
    values = {}
    for facet in texts:
        values[facet.name] = score_files(facet, facet.files["train"], model.codec, scores, data.errors)
        tell(f"scored {facet.name}: {len(values[facet.name]):,} lines")
    everything = np.concatenate(list(values.values()))
    threshold = np.quantile(everything[np.isfinite(everything)], 1 - config.keep)
    shares = {}
    for facet in texts:
        kept = values[facet.name] >= threshold
        folder = out / facet.files["train"].source.parent.resolve().relative_to(Path(data.root).resolve())
        folder.mkdir(parents=True, exist_ok=True)
        partial_out = folder / ".train.keep.partial"
        partial_out.write_text("".join(f"{int(flag)}\n" for flag in kept), encoding="utf-8")
        partial_out.replace(folder / "train.keep")
        shares[facet.name] = float(kept.mean())
    return shares
