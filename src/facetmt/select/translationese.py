"""Natural or translated? Two language models of the target language; the one that likes a sentence better says.

score(y) = log p(y)/|y| under each (paper, appendix, after Riley et al. 2020); the higher one is the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facetmt.data.lines import count_lines, decode, read_lines
from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.select.language_models import CLASSES, Check, LanguageModels
from facetmt.select.pace import shown
from facetmt.select.scoring import Scorer, contrast, encode_text, fingerprint
from facetmt.select.shards import Shards, identity

PORTION = 1 << 20  # lines made text at once


class Labeller:
    """Scores lines by two models on all devices."""

    def __init__(self, models: LanguageModels) -> None:
        self._codec = models.codec
        self._scorer = Scorer(contrast, models.graph, models.shape)
        self._params = self._scorer.place(models.params)
        self.portion = self._scorer.portion
        self.about = {
            "models": [fingerprint(params) for params in models.params],
            "vocabulary": models.codec.vocabulary.fingerprint,
            "longest": models.shape.width[1],
        }

    def margins(self, lines: Sequence[str], check: Check = lambda: None) -> NDArray[np.float64]:
        """score under natural − score under translationese, of each line; a blank one has 0."""
        check()
        there = np.array([bool(line.strip()) for line in lines], np.bool_)
        margins = np.zeros(len(lines))
        if there.any():
            some = [line for line in lines if line.strip()]
            margins[there] = self._scorer(self._params, encode_text(self._codec, CLASSES[0], some), check)
        return margins


def work_folder(out: Path) -> Path:
    """Where the margins of a label file are kept."""
    return out.with_name(f".{out.name}.work")


def label_file(labeller: Labeller, text: Path, out: Path, check: Check = lambda: None) -> dict[str, float]:
    """Write the class of each line of `text` to `out`; return the share of each class."""
    about = {**labeller.about, "text": identity(text, check)}
    lines = count_lines(text)
    if not lines:
        raise UserError(f"{text} is empty: there is nothing to label")
    shards = Shards(work_folder(out), about, lines)

    def margins(rows: list[tuple[int, bytes | None]]) -> NDArray[np.float64]:
        # a line that is too long to be read counts as blank
        found = decode([line or b"" for _, line in rows], text, [number for number, _ in rows], "strict")
        return labeller.margins(found, check)

    with shown(f"labelling {text}", "lines", lines) as pace:
        rows = enumerate(read_lines(text), start=1)
        natural = shards.scores(rows, margins, labeller.portion, pace) >= 0
    try:
        write_whole(out, as_lines(natural))
    except OSError as error:
        raise UserError(
            f"cannot write {out} ({error.strerror}): make room, then run the same command again"
        ) from None
    share = float(natural.mean())
    return dict(zip(CLASSES, (share, 1 - share), strict=True))


def as_lines(natural: NDArray[np.bool_]) -> bytes:
    """A class on each line."""
    names = [f"{name}\n".encode() for name in reversed(CLASSES)]
    portions = (natural[start : start + PORTION].tolist() for start in range(0, len(natural), PORTION))
    return b"".join(b"".join(names[flag] for flag in some) for some in portions)


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
