"""From scores to keep files: the threshold, the pairs above it, and a note of what was computed from what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.select.misaligned import misaligned_share
from facetmt.select.shards import Floats, writing
from facetmt.select.texts import TrainingText, part_lines

KEEP, SCORES, NOTE = "train.keep", "train.scores", "filter.json"
PORTION = 1 << 20  # lines turned into text at once

Flags = NDArray[np.bool_]
AUTO = "auto"


@dataclass(frozen=True)
class KeepConfig:
    """What is kept of the scored pairs."""

    keep: float | Literal["auto"] = 0.7  # share of the pairs; the paper removes 30 %. auto: as estimated
    rank: Literal["across", "within"] = "across"  # one threshold for all facets, or one per facet

    def __post_init__(self) -> None:
        if not isinstance(self.keep, str) and not 0 < self.keep <= 1:
            raise UserError(f"--keep {self.keep}: not a share; give more than 0 and at most 1")


def share_or_auto(word: str) -> float | Literal["auto"]:
    """The value of --keep."""
    if word == AUTO:
        return "auto"
    try:
        return float(word)
    except ValueError:
        raise UserError(f"--keep {word}: not a share; give more than 0 and at most 1, or {AUTO}") from None


class Part(NamedTuple):
    """The lines of one text that belong to a facet, or to two facets that are its two directions."""

    facets: list[str]
    text: int
    lines: NDArray[np.int64]
    scores: Floats  # [n] the mean over the directions
    misaligned: float | None  # estimated share of the pairs, where the criterion tells


class Kept(NamedTuple):
    """What became of a part."""

    facets: list[str]
    pairs: int
    kept: int
    threshold: float
    misaligned: float | None
    path: Path

    def note(self) -> dict[str, Any]:
        """What filter.json says of it."""
        known = {} if self.misaligned is None else {"estimated share misaligned": self.misaligned}
        return {"pairs": self.pairs, "kept": self.kept, "threshold": self.threshold, **known}


def parts_of(texts: Sequence[TrainingText], found: Sequence[Floats]) -> list[Part]:
    """The parts of the corpus, given the values of each text: [D, lines, columns]."""
    parts = []
    for number, (text, values) in enumerate(zip(texts, found, strict=True)):
        scores = mean_scores(values)
        for label, names in text.parts().items():
            lines = part_lines(text, label)
            share = misaligned_share(values[:, lines]) if values.shape[2] > 1 else None
            parts.append(Part(names, number, lines, scores[lines], share))
    return parts


def mean_scores(values: Floats) -> Floats:
    """All directions of a text decide together: [D, lines, columns] -> [lines]."""
    mean: Floats = np.mean(values[:, :, 0], axis=0, dtype=np.float32)
    return mean


def choose(parts: Sequence[Part], config: KeepConfig) -> list[float]:
    """The lowest score that is kept, for each part."""
    groups = [list(parts)] if config.rank == "across" else [[part] for part in parts]
    chosen = []
    for group in groups:
        there = [part.scores[np.isfinite(part.scores)] for part in group]
        found = np.concatenate(there)
        if not len(found):
            raise UserError(
                f"facet {group[0].facets[0]}: there is nothing to keep, as no pair has text on both sides; "
                "check the text"
            )
        if isinstance(config.keep, str):
            noise = sum(len(some) * (part.misaligned or 0.0) for some, part in zip(there, group, strict=True))
            keep = 1 - noise / len(found)
        else:
            keep = config.keep
        chosen += [float(np.quantile(found, 1 - keep))] * len(group)
    return chosen


def write_choice(
    texts: Sequence[TrainingText],
    found: Sequence[Floats],
    config: KeepConfig,
    out: Path,
    about: Mapping[str, Any],
) -> list[Kept]:
    """Write train.keep and train.scores of each text below `out`, and filter.json; what each facet keeps."""
    flags: list[Flags] = [np.zeros(text.lines, np.bool_) for text in texts]
    parts, result = parts_of(texts, found), []
    for part, threshold in zip(parts, choose(parts, config), strict=True):
        kept = part.scores >= np.float64(threshold)
        flags[part.text][part.lines[kept]] = True
        path = out / texts[part.text].folder / KEEP
        pairs = int(np.isfinite(part.scores).sum())
        result.append(Kept(part.facets, pairs, int(kept.sum()), threshold, part.misaligned, path))
    with writing(out):
        for text, values, kept in zip(texts, found, flags, strict=True):
            (out / text.folder).mkdir(parents=True, exist_ok=True)
            write_whole(out / text.folder / SCORES, as_lines(mean_scores(values)))
            write_whole(out / text.folder / KEEP, as_flags(kept))
        note = {
            **about,
            "keep": config.keep,
            "rank": config.rank,
            "facets": {", ".join(one.facets): one.note() for one in result},
        }
        write_whole(out / NOTE, json.dumps(note, indent=1, ensure_ascii=False).encode())
    return result


def as_flags(kept: Flags) -> bytes:
    """0 or 1 per line."""
    table = np.full((len(kept), 2), ord("\n"), np.uint8)
    table[:, 0] = ord("0") + kept
    return table.tobytes()


def as_lines(values: Floats) -> bytes:
    """One score per line; -inf where there is no pair."""
    portions = (values[start : start + PORTION].tolist() for start in range(0, len(values), PORTION))
    return b"".join("".join(f"{value:.6g}\n" for value in some).encode() for some in portions)
