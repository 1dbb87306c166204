"""Natural or translated? Two language models of the target language decide: what `facetmt label` does.

score(y) = log p(y)/|y| under each (paper, appendix, after Riley et al. 2020); the higher one is the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facetmt.console import progress, say
from facetmt.data.lines import count_lines, decode, read_lines
from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.select.language_models import (
    CLASSES,
    LabelConfig,
    LanguageModels,
    load_models,
    train_models,
)
from facetmt.select.scoring import Scorer, contrast, encode_text, fingerprint
from facetmt.select.shards import Shards, identity, stopped, writing
from facetmt.train.interrupt import Check, Interrupt, Interrupted

PORTION = 1 << 20  # lines turned into text at once


def label(
    models: Path,
    natural: Path | None,
    translated: Path | None,
    texts: Sequence[Path],
    outs: Sequence[Path],
    gold: Path | None,
    config: LabelConfig,
) -> int:
    """Train the two language models if text for them is given; label the texts. The exit code."""
    check_options(natural, translated, texts, outs, gold)
    kept = models
    with Interrupt() as interrupt:
        try:
            if natural is not None and translated is not None:
                train_models((natural, translated), models, config, say, interrupt.check)
            if texts:
                labeller = Labeller(load_models(models))
            for text, out in zip(texts, outs, strict=True):
                kept = work_folder(out)
                shares = label_file(labeller, text, out, interrupt.check)
                print(f"{out}: {', '.join(f'{share:.1%} {name}' for name, share in shares.items())}")
        except Interrupted:
            return stopped(kept)
    if gold is not None:
        print(f"agreement with {gold}: {agreement(outs[0], gold):.1%}")
    return 0


def check_options(
    natural: Path | None,
    translated: Path | None,
    texts: Sequence[Path],
    outs: Sequence[Path],
    gold: Path | None,
) -> None:
    """Refuse combinations of options that mean nothing."""
    if (natural is None) != (translated is None) or len(texts) != len(outs):
        raise UserError("give --natural with --translated to train, and an --out for each --text to label")
    if natural is None and not texts:
        raise UserError("nothing to do; give --natural and --translated, or --text and --out, or all four")
    if gold is not None and len(texts) != 1:
        raise UserError(f"--gold {gold}: these are the known labels of one text; give exactly one --text")


class Labeller:
    """Scores lines with two models, on all devices."""

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
        """score under natural − score under translationese, of each line; 0 for a blank line."""
        check()
        there = np.array([bool(line.strip()) for line in lines], np.bool_)
        margins = np.zeros(len(lines))
        if there.any():
            some = [line for line in lines if line.strip()]
            margins[there] = self._scorer(self._params, encode_text(self._codec, CLASSES[0], some), check)
        return margins


def work_folder(out: Path) -> Path:
    """The folder of the margins behind a label file."""
    return out.with_name(f".{out.name}.work")


def label_file(labeller: Labeller, text: Path, out: Path, check: Check = lambda: None) -> dict[str, float]:
    """Write the class of each line of `text` to `out`; return the share of each class."""
    about = {**labeller.about, "text": identity(text, check)}
    lines = count_lines(text)
    if not lines:
        raise UserError(f"{text}: the file is empty; give one with text to label")
    shards = Shards(work_folder(out), about, lines)

    def margins(rows: list[tuple[int, bytes | None]]) -> NDArray[np.float64]:
        # a line that is too long to read counts as blank
        found = decode([line or b"" for _, line in rows], text, [number for number, _ in rows], "strict")
        return labeller.margins(found, check)

    with progress(f"labelling {text}", "lines", lines) as pace:
        rows = enumerate(read_lines(text), start=1)
        natural = shards.scores(rows, margins, labeller.portion, pace)[:, 0] >= 0
    with writing(out):
        write_whole(out, as_lines(natural))
    share = float(natural.mean())
    return dict(zip(CLASSES, (share, 1 - share), strict=True))


def as_lines(natural: NDArray[np.bool_]) -> bytes:
    """One class per line."""
    names = [f"{name}\n".encode() for name in reversed(CLASSES)]
    portions = (natural[start : start + PORTION].tolist() for start in range(0, len(natural), PORTION))
    return b"".join(b"".join(names[flag] for flag in some) for some in portions)


def agreement(labels: Path, gold: Path) -> float:
    """Share of the lines on which two label files agree."""
    one, other = (path.read_text(encoding="utf-8").split("\n") for path in (labels, gold))
    if len(one) != len(other):
        raise UserError(
            f"{gold}: {len(other) - 1} lines, but {labels} has {len(one) - 1}; "
            "give one label per line of the text"
        )
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if b]
    unknown = {b for _, b in pairs} - set(CLASSES)
    if unknown or not pairs:
        raise UserError(
            f"{gold}: not labels ({sorted(unknown)[:3]}); write {' or '.join(CLASSES)} on each line"
        )
    return sum(a == b for a, b in pairs) / len(pairs)
