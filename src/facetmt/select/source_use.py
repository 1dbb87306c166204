"""Source use: does a target depend on its own source? One model, no trusted text.

score(x, y) = [log p(y|x) − mean_j log p(y|x'_j)] / √|y|, over a few other sources x'_j of the facet.

Over |y| tokens the chance difference between two wrong sources grows as √|y|; by |y|, short targets would
come out high by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facetmt.console import Tell
from facetmt.data.batch import Tokens
from facetmt.data.corpus import Facet
from facetmt.errors import UserError
from facetmt.select.criterion import Score
from facetmt.select.pool import NEAREST, POOL, OtherSources
from facetmt.select.scoring import Scorer, encode_pairs, fingerprint, log_probability_by_root, picked
from facetmt.select.shards import claim
from facetmt.select.texts import Pairs, TrainingText
from facetmt.train.interrupt import Check
from facetmt.train.restore import TrainedModel

PORTION = 1 << 12  # lines to score at once, on any number of devices: the draws depend on it

Floats = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True)
class BySourceUse:
    """Source use, and how many other sources each target is scored with."""

    others: int = 6
    seed: int = 1  # of their choice

    def __post_init__(self) -> None:
        if self.others < 2:
            raise UserError(f"--others {self.others}: too few to compare with each other; give at least 2")

    def about(self) -> dict[str, Any]:
        return {"by": "source-use", **asdict(self)}

    def criterion(
        self,
        model: TrainedModel,
        texts: Sequence[TrainingText],
        run: Path,
        work: Path,
        tell: Tell,
        check: Check,
    ) -> SourceUse:
        found = SourceUse(model, self)
        claim(work, found.about)
        return found


class SourceUse:
    """Each target with its own source and with others; also the score of a wrong pair, as a comparison."""

    columns = 2
    portion = PORTION

    def __init__(self, model: TrainedModel, config: BySourceUse) -> None:
        self._config, self._codec, self._errors = config, model.codec, model.recipe.data.errors
        self._scorer = Scorer(log_probability_by_root, model.graph, model.recipe.batch)
        self._params = self._scorer.place(model.params)
        self.about = {
            "model": fingerprint(model.params),
            "vocabulary": model.codec.vocabulary.fingerprint,
            "criterion": {**config.about(), "pool": POOL, "nearest": NEAREST, "portion": PORTION},
        }

    def start(self, text: TrainingText, facet: Facet, check: Check) -> Score:
        @cache
        def others() -> OtherSources:  # not read where everything is scored already
            return OtherSources(text, facet, self._codec, self._errors, self._config.seed, check)

        # a mean over one source fewer spreads more: √(1 + 1/n) for n sources
        fewer = math.sqrt(1 - 1 / self._config.others**2)

        def score(pairs: Pairs, first: int) -> Floats:
            found = self.log_probabilities(others(), facet, pairs, first, check)
            # a pair that nothing tells about scores like a wrong one
            return np.stack([np.nan_to_num(use(found)), fewer * use(found[:, 1:])], axis=1)

        return score

    def log_probabilities(
        self, others: OtherSources, facet: Facet, pairs: Pairs, first: int, check: Check
    ) -> Floats:
        """log p(y|x)/√|y| with a pair's own source, then with others: [P, 1 + others]; NaN for none."""
        own = encode_pairs(self._codec, facet.name, pairs.sources, pairs.targets)
        drawn = others.draw(pairs, own.source_length, first, self._config.others)
        pair, column = np.nonzero(drawn >= 0)
        source = picked(others.ids, others.length, drawn[pair, column])
        target = picked(own.target, own.target_length, pair)
        found = np.full((len(drawn), 1 + drawn.shape[1]), np.nan)
        found[:, 0] = self._scorer(self._params, own, check)
        wrong = Tokens(source[0], target[0], source[1], target[1], own.facet[pair])
        found[pair, 1 + column] = self._scorer(self._params, wrong, check)
        return found


def use(found: Floats) -> Floats:
    """The first column less the mean of the others; NaN where there is nothing to compare."""
    there = np.isfinite(found[:, 1:])
    count = there.sum(axis=1)
    total: Floats = np.where(there, found[:, 1:], 0.0).sum(axis=1)
    return np.where(count > 0, found[:, 0] - total / np.maximum(count, 1), np.nan)
