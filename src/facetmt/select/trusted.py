"""The trusted model of contrastive data selection: the noisy one, fine-tuned in stages on trusted text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from facetmt.console import Tell, progress
from facetmt.data.batch import Tokens
from facetmt.data.chunks import Files, read_chunks
from facetmt.data.codec import Codec
from facetmt.data.config import BatchConfig
from facetmt.data.corpus import Facet
from facetmt.data.encode import EncodeJob, encode_chunk
from facetmt.data.sampler import Sampler
from facetmt.data.store import Store, StoreWriter, open_store
from facetmt.data.stream import PairSet, Stream
from facetmt.errors import UserError
from facetmt.permutation import stream_key
from facetmt.select.scoring import Scorer, mean_log_probability
from facetmt.select.shards import AGAIN
from facetmt.train import checkpoint
from facetmt.train.config import OptimiserConfig
from facetmt.train.interrupt import Check, Interrupted
from facetmt.train.place import Placement
from facetmt.train.restore import TrainedModel
from facetmt.train.state import TrainState, create_state
from facetmt.train.step import make_step

Int = NDArray[np.int64]
HELD_OUT = 0.1  # share of the trusted text that decides when to stop
FEWEST = 20  # trusted pairs
STORES, MODEL = "trusted-text", "trusted-model"


@dataclass(frozen=True)
class TuningConfig:
    """Fine-tuning in stages: after each, the held-out trusted text is scored; the best stage is kept."""

    stages: int = 5
    steps: int = 50  # updates per stage
    learning_rate: float = 0.0003
    seed: int = 1

    def __post_init__(self) -> None:
        if self.stages < 1 or self.steps < 1:
            raise UserError(f"--stages {self.stages} --steps {self.steps}: too few; give at least 1 of each")

    def about(self) -> dict[str, Any]:
        """What the trusted model depends on."""
        return asdict(self)


@dataclass(frozen=True)
class TrustedText:
    """The trusted pairs as token stores, one per direction, and which of them are held out."""

    stores: list[Store]
    learn: list[Int]
    held: list[Int]

    def sampler(self, shape: BatchConfig, seed: int, rows: slice | None = None) -> Sampler:
        """The same endless stream as in training, over the pairs that are not held out."""
        pairs = PairSet(self.stores, range(len(self.stores)), self.learn)
        return Sampler({"trusted": Stream(pairs, shape, stream_key(seed, "trusted"), rows)}, seed)

    def check(self) -> Tokens:
        """The pairs that are held out."""
        pairs = PairSet(self.stores, range(len(self.stores)), self.held)
        everything = np.arange(len(pairs))
        return pairs.tokens(everything, pairs.lengths(everything))


def directions(codec: Codec, facet: str | None) -> list[Facet]:
    """One facet per direction that the trusted text can teach: `facet`'s, and the opposite if it exists."""
    first = codec.facets[0] if facet is None else codec.facet(facet)
    languages = first.target_language, first.source_language
    back = [one for one in codec.facets if (one.source_language, one.target_language) == languages]
    return [first, *back[:1]]


def encode_trusted(
    model: TrainedModel,
    texts: tuple[Path, Path],
    facets: Sequence[Facet],
    codec: Path,
    work: Path,
    tell: Tell,
) -> list[Store]:
    """Clean, encode and drop as for training; the second direction is the first with its sides swapped."""
    stores, data = [], model.recipe.data
    longest = min(data.longest, *model.recipe.batch.width)
    for facet, files in zip(facets, (Files(*texts), Files(texts[1], texts[0])), strict=False):
        path, dropped = work / STORES / facet.name, Counter[str]()
        vocabulary = model.codec.vocabulary.fingerprint
        with StoreWriter(path, facet.name, "train", vocabulary, model.codec.dtype) as store:
            for chunk in read_chunks(files):
                job = EncodeJob(facet.name, "train", chunk, files, codec, data.errors, data.clean, longest)
                encoded = encode_chunk(job)
                store.append(encoded.ids, encoded.lengths)
                dropped += encoded.dropped
        stores.append(open_store(path))
        if lost := ", ".join(f"{count:,} {reason}" for reason, count in dropped.items()):
            tell(f"trusted text {facet.source_language}-{facet.target_language}: dropped {lost}")
        if len(stores[-1]) < FEWEST:
            raise UserError(f"{texts[0]}: only {len(stores[-1])} usable pairs; give at least {FEWEST}")
    return stores


def split(stores: list[Store], seed: int) -> TrustedText:
    """A tenth of each store is held out."""
    orders = [np.random.default_rng(seed).permutation(len(store)) for store in stores]
    ends = [max(1, int(HELD_OUT * len(order))) for order in orders]
    held = [np.sort(order[:end]) for order, end in zip(orders, ends, strict=True)]
    learn = [np.sort(order[end:]) for order, end in zip(orders, ends, strict=True)]
    return TrustedText(stores, learn, held)


@dataclass
class Stages:
    """How far the fine-tuning is; all of it is saved."""

    state: TrainState
    params: Any  # of the best stage
    updates: int = 0
    scores: list[float] = field(default_factory=list)  # held-out log-probability before, and after each stage
    finished: bool = False

    def judge(self, reached: float) -> None:
        """Take a stage's score; one that is not better than the best stage ends the fine-tuning."""
        if len(self.scores) > 1 and reached <= max(self.scores[1:]):
            self.finished = True
        else:
            self.params = jax.tree.map(jnp.copy, self.state.params)
        self.scores.append(reached)


class FineTuning:
    """Stages of updates; after a signal it continues where it stopped."""

    def __init__(self, model: TrainedModel, text: TrustedText, config: TuningConfig, work: Path) -> None:
        self._config, self._folder = config, work / MODEL
        placement = Placement()
        share = placement.share(model.recipe.batch.rows)
        self._put = share.put
        self._sampler = text.sampler(model.recipe.batch, config.seed, share.rows)
        self._score = Scorer(mean_log_probability, model.graph, model.recipe.batch)
        self._held = text.check()
        state = placement.state(create_state(model.params))
        optimiser = OptimiserConfig(
            schedule="constant", learning_rate=config.learning_rate, warmup=0, label_smoothing=0.0
        )
        self._step = make_step(
            model.graph,
            optimiser,
            num_facets=len(text.stores),
            seed=config.seed,
            shardings=(placement.shardings(state), placement.everywhere),
        )
        self._stages = self._restored(Stages(state, jax.tree.map(jnp.copy, state.params)))

    def run(self, tell: Tell, check: Check) -> Any:
        """The parameters of the stage with the best held-out score."""
        stages, config = self._stages, self._config
        if stages.finished:
            tell(f"the trusted model is already in {self._folder}")
            return stages.params
        try:
            if not stages.scores:
                stages.scores.append(self._quality(check))
                tell(f"held-out log-probability before: {stages.scores[0]:.4f}")
            while not stages.finished:
                self._stage(check)
                stages.judge(self._quality(check))
                stage = len(stages.scores) - 1
                tell(f"held-out log-probability after stage {stage}: {stages.scores[-1]:.4f}")
                stages.finished = stages.finished or stage == config.stages
                self._save()
        except Interrupted:
            self._save()
            raise
        if max(stages.scores[1:]) <= stages.scores[0]:
            tell(
                "warning: fine-tuning did not make the held-out trusted text more likely, so the scores say "
                "little; give more trusted text, or fewer --steps"
            )
        return stages.params

    def _stage(self, check: Check) -> None:
        """The updates of a stage, or the remaining ones."""
        stages, steps = self._stages, self._config.steps
        stage = len(stages.scores)
        with progress(f"fine-tuning, stage {stage}", "updates", steps) as pace:
            pace.skipped(stages.updates - (stage - 1) * steps)
            while stages.updates < stage * steps:
                check()
                stages.state, _ = self._step(stages.state, self._put(self._sampler.next()))
                stages.updates += 1
                pace.worked(1)

    def _quality(self, check: Check) -> float:
        return float(np.mean(self._score(self._stages.state.params, self._held, check)))

    def _save(self) -> None:
        stages = self._stages
        arrays = {"state": stages.state, "best": stages.params}
        host = {"scores": stages.scores, "finished": stages.finished, "sampler": self._sampler.state()}
        checkpoint.save(self._folder, stages.updates, arrays, host, again=AGAIN)
        checkpoint.prune(self._folder, 1, set())

    def _restored(self, fresh: Stages) -> Stages:
        saved, _ = checkpoint.newest_whole(self._folder)
        if saved is None:
            return fresh
        host, arrays = saved.host(), saved.arrays({"state": fresh.state, "best": fresh.params})
        self._sampler.restore(host["sampler"])
        return Stages(arrays["state"], arrays["best"], saved.step, host["scores"], host["finished"])
