"""What the criteria of `facetmt filter` share: every line of every text, in each direction, in shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from facetmt.console import Tell, progress
from facetmt.data.corpus import Facet
from facetmt.select.shards import Floats, Shards, identity
from facetmt.select.texts import Pairs, Row, TrainingText, all_rows, pairs_of
from facetmt.train.interrupt import Check
from facetmt.train.restore import TrainedModel

# pairs and the number of the first line they come from -> [P] or [P, columns]
Score = Callable[[Pairs, int], NDArray[Any]]


class Criterion(Protocol):
    """How pairs are scored."""

    @property
    def columns(self) -> int:
        """Values of a pair: its score, and what else the choice needs to know."""

    @property
    def portion(self) -> int:
        """Lines to score at once."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What the scores depend on, beside the text."""

    def start(self, text: TrainingText, facet: Facet, check: Check) -> Score:
        """The scores of pairs of a text in the direction of this facet."""


class Way(Protocol):
    """The settings of a criterion."""

    def about(self) -> dict[str, Any]:
        """What filter.json says of it."""

    def criterion(
        self,
        model: TrainedModel,
        texts: Sequence[TrainingText],
        run: Path,
        work: Path,
        tell: Tell,
        check: Check,
    ) -> Criterion:
        """Do what comes before scoring; interrupted work in `work` is continued, other work refused."""


def score_text(criterion: Criterion, text: TrainingText, errors: str, work: Path, check: Check) -> Floats:
    """The values of each line in each direction, [D, lines, columns]; −inf where a side is blank."""
    return np.stack([
        score_direction(criterion, text, facet, errors, work, check) for facet in text.directions()
    ])  # fmt: skip


def score_direction(
    criterion: Criterion, text: TrainingText, facet: Facet, errors: str, work: Path, check: Check
) -> Floats:
    """The values of each line: [lines, columns]."""
    files = facet.files["train"]
    header = {
        **criterion.about,
        "text": [identity(path, check) for path in (files.source, files.target)],
        "facet": [facet.name, facet.source_language, facet.target_language],
        "invalid bytes": errors,
    }
    shards = Shards(work / "scores" / facet.name, header, text.lines, criterion.columns)
    score = criterion.start(text, facet, check)

    def scored(rows: list[Row]) -> NDArray[np.float64]:
        check()
        values = np.full((len(rows), criterion.columns), -np.inf)
        pairs = pairs_of(rows, files, errors)
        if len(pairs.place):
            values[pairs.place] = score(pairs, rows[0][0]).reshape(-1, criterion.columns)
        return values

    with progress(f"scoring {facet.name}", "pairs", text.lines) as pace:
        return shards.scores(all_rows(files), scored, criterion.portion, pace)
