"""Contrastive data selection (Wang et al. 2018): which pairs does fine-tuning make likelier?

score(x, y) = [log p_trusted(y|x) − log p_noisy(y|x)] / |y|
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from facetmt.console import Tell
from facetmt.data.corpus import Facet
from facetmt.select.criterion import Score
from facetmt.select.scoring import Scorer, contrast, encode_pairs, fingerprint
from facetmt.select.shards import claim, identity
from facetmt.select.texts import TrainingText
from facetmt.select.trusted import FineTuning, TuningConfig, directions, encode_trusted, split
from facetmt.train.best import VOCABULARY
from facetmt.train.interrupt import Check
from facetmt.train.restore import TrainedModel


@dataclass(frozen=True)
class ByTrustedText:
    """Contrastive data selection, with the text that is trusted."""

    trusted: tuple[Path, Path]
    facet: str | None = None  # whose languages and tags it has; None: the first facet's
    tuning: TuningConfig = field(default_factory=TuningConfig)

    def about(self) -> dict[str, Any]:
        return {"by": "cds", "trusted": [str(path) for path in self.trusted]}

    def criterion(
        self,
        model: TrainedModel,
        texts: Sequence[TrainingText],
        run: Path,
        work: Path,
        tell: Tell,
        check: Check,
    ) -> Contrast:
        """Fine-tune the model on the trusted text, or go on with it."""
        taught = directions(model.codec, self.facet)
        about = {
            "model": fingerprint(model.params),
            "vocabulary": model.codec.vocabulary.fingerprint,
            "trusted text": [identity(path, check) for path in self.trusted],
            "directions": [[one.name, one.source_language, one.target_language] for one in taught],
            "fine-tuning": self.tuning.about(),
        }
        claim(work, about)
        warn_of_languages(taught, texts, tell)
        stores = encode_trusted(model, self.trusted, taught, run / VOCABULARY, work, tell)
        params = FineTuning(model, split(stores, self.tuning.seed), self.tuning, work).run(tell, check)
        return Contrast(model, params)


class Contrast:
    """Each pair under two models."""

    columns = 1

    def __init__(self, model: TrainedModel, trusted: Any) -> None:
        self._codec = model.codec
        self._scorer = Scorer(contrast, model.graph, model.recipe.batch)
        self._both = self._scorer.place((trusted, model.params))
        self.portion = self._scorer.portion
        self.about = {"model": fingerprint(model.params), "trusted model": fingerprint(trusted)}

    def start(self, text: TrainingText, facet: Facet, check: Check) -> Score:
        return lambda pairs, first: self._scorer(
            self._both, encode_pairs(self._codec, facet.name, pairs.sources, pairs.targets), check
        )


def warn_of_languages(taught: Sequence[Facet], texts: Sequence[TrainingText], tell: Tell) -> None:
    """Warn of languages that the trusted text does not cover."""
    known = {(one.source_language, one.target_language) for one in taught}
    found = {(one.source_language, one.target_language) for text in texts for one in text.facets}
    if others := ", ".join(sorted(f"{source}-{target}" for source, target in found - known)):
        spoken = ", ".join(f"{source}-{target}" for source, target in sorted(known))
        tell(f"warning: the trusted text is taken to be {spoken}; it teaches little about {others}")
