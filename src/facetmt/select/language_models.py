"""The two language models of the target language, trained one after the other; a signal loses nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from facetmt.console import Tell, progress
from facetmt.data.codec import Codec, open_codec
from facetmt.data.config import BatchConfig, DataConfig, FacetConfig, VocabConfig
from facetmt.data.prepare import prepare
from facetmt.data.prepared import Prepared
from facetmt.data.sampler import FacetSampler
from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.model import language_model
from facetmt.model.config import ModelConfig
from facetmt.select.shards import AGAIN, HEADER, claim, identity
from facetmt.train import checkpoint
from facetmt.train.config import OptimiserConfig
from facetmt.train.interrupt import Check, Interrupted
from facetmt.train.place import Placement
from facetmt.train.state import create_state
from facetmt.train.step import Step, make_step, read_metrics

CLASSES = ("natural", "translationese")
CODEC, SETTINGS = "vocabulary", "label.json"
SAVE_EVERY = 500  # updates


@dataclass(frozen=True)
class LabelConfig:
    """The two language models; both see the same number of tokens."""

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


@dataclass(frozen=True)
class LanguageModels:
    """Both models, ready to score."""

    codec: Codec
    graph: language_model.Graph
    params: tuple[Any, Any]  # natural, translationese
    shape: BatchConfig


def train_models(
    texts: Sequence[Path], directory: Path, config: LabelConfig, tell: Tell, check: Check = lambda: None
) -> None:
    """Train one model on each text (natural, translationese), with one vocabulary, and save both."""
    if (directory / SETTINGS).is_file() and not (directory / HEADER).is_file():
        raise UserError(
            f"{directory}: the models there do not say what they were trained on; leave out --natural and "
            "--translated to use them, or give another folder"
        )
    settings = asdict(config)
    claim(directory, {"texts": [identity(path, check) for path in texts], "settings": settings})
    if (directory / SETTINGS).is_file():
        tell(f"the models in {directory} are already trained, with these texts and settings")
        return

    prepared = prepare(
        data_config(texts, config), Path.cwd(), directory / "prepared", progress=lambda *_: check()
    )
    if (size := prepared.vocabulary.target_size) < config.vocab.size:
        tell(f"the text supports only {size:,} subwords, not {config.vocab.size:,}; using {size:,}")
    prepared.copy_vocabulary(directory / CODEC)
    training = Training(prepared, directory, config)
    for index in range(len(CLASSES)):
        training.run(index, tell, check)
    about = {"model": vars(config.model), "rows": config.batch.rows, "length": config.batch.length}
    write_whole(directory / SETTINGS, json.dumps(about, indent=1).encode())


def data_config(texts: Sequence[Path], config: LabelConfig) -> DataConfig:
    """Each text as a facet whose two sides are the same file: a language model reads only the target."""
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


class Training:
    """The updates of one model after the other, saved every few hundred, on a signal, and at the end."""

    def __init__(self, prepared: Prepared, directory: Path, config: LabelConfig) -> None:
        self._directory, self._config = directory, config
        self._placement = Placement()
        share = self._placement.share(config.batch.rows)
        self._put = share.put
        self._sampler = FacetSampler(prepared.stores("train"), config.batch, config.seed, share.rows)
        graph, params = language_model.create(config.model, prepared.vocabulary.target_size, seed=config.seed)
        self._fresh = create_state(params)
        state = self._placement.state(self._fresh)
        self._step: Step = make_step(
            graph,  # type: ignore[arg-type]
            config.optimiser,
            num_facets=len(CLASSES),
            seed=config.seed,
            shardings=(self._placement.shardings(state), self._placement.everywhere),
        )

    def run(self, index: int, tell: Tell, check: Check) -> None:
        """Train one model to its last update, from wherever an earlier call stopped."""
        name, steps = CLASSES[index], self._config.steps
        if checkpoint.newest_whole(self._directory / name)[0] is not None:
            tell(f"{name}: already trained")
            return
        work = self._directory / f".training-{name}"
        state, done = self._placement.state(self._fresh), 0
        saved, _ = checkpoint.newest_whole(work)
        if saved is not None:
            state, done = saved.arrays(state), saved.step
            self._sampler.restore(saved.host())

        def save() -> None:
            checkpoint.save(work, done, state, self._sampler.state(), again=AGAIN)
            checkpoint.prune(work, 1, set())

        loss = float("nan")
        with progress(f"{name} language model", "updates", steps) as pace:
            pace.skipped(done)
            try:
                while done < steps:
                    check()
                    state, values = self._step(state, self._put(self._sampler.next(index)))
                    loss = read_metrics(values).loss
                    done += 1
                    pace.worked(1)
                    if done % SAVE_EVERY == 0:
                        save()
            except Interrupted:
                save()
                raise
        tell(f"{name}: loss {loss:.3f} after {steps:,} updates")
        checkpoint.save(self._directory / name, steps, state.params, {"class": name}, again=AGAIN)
        shutil.rmtree(work, ignore_errors=True)


def load_models(directory: Path) -> LanguageModels:
    """The models that `train_models` saved."""
    try:
        about = json.loads((directory / SETTINGS).read_text(encoding="utf-8"))
        model, shape = ModelConfig(**about["model"]), BatchConfig(rows=about["rows"], length=about["length"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            f"{directory}: no language models there; train them with --natural and --translated"
        ) from None
    codec = open_codec(directory / CODEC)
    graph, like = language_model.create(model, codec.vocabulary.target_size, seed=0)
    loaded = []
    for name in CLASSES:
        found, complaints = checkpoint.newest_whole(directory / name)
        if found is None:
            raise UserError(
                f"{directory / name}: no whole model there ({'; '.join(complaints) or 'not trained'}); "
                "train it again"
            )
        loaded.append(found.arrays(like))
    return LanguageModels(codec, graph, (loaded[0], loaded[1]), shape)
