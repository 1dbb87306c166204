"""From scores to keep files: the threshold, the pairs above it, and a note of what was computed from what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.select.cds import TrainingText, lines_of
from facetmt.select.shards import Floats, writing
from facetmt.select.trusted import FilterConfig

KEEP, SCORES, NOTE = "train.keep", "train.scores", "filter.json"
PORTION = 1 << 20  # lines turned into text at once

Flags = NDArray[np.bool_]


class Part(NamedTuple):
    """The lines of one text that belong to a facet, or to two facets that are its two directions."""

    facets: list[str]
    text: int
    lines: NDArray[np.int64]


class Kept(NamedTuple):
    """What became of a part."""

    facets: list[str]
    pairs: int
    kept: int
    threshold: float
    path: Path


def choose(
    texts: Sequence[TrainingText], scores: Sequence[Floats], config: FilterConfig
) -> list[tuple[Part, float]]:
    """The parts of the corpus, each with the lowest score that is kept."""
    parts = [
        Part(names, number, part_lines(text, label))
        for number, text in enumerate(texts)
        for label, names in text.parts().items()
    ]
    groups = [parts] if config.rank == "across" else [[part] for part in parts]
    chosen = []
    for group in groups:
        found = np.concatenate([scores[part.text][part.lines] for part in group])
        found = found[np.isfinite(found)]
        if not len(found):
            raise UserError(
                f"facet {group[0].facets[0]}: there is nothing to keep, as no pair has text on both sides; "
                "check the text"
            )
        threshold = float(np.quantile(found, 1 - config.keep))
        chosen += [(part, threshold) for part in group]
    return chosen


def part_lines(text: TrainingText, label: str) -> NDArray[np.int64]:
    if not label:
        return np.arange(text.lines)
    return lines_of(next(one.files["train"] for one in text.facets if one.files["train"].label == label))


def write_choice(
    texts: Sequence[TrainingText],
    scores: Sequence[Floats],
    config: FilterConfig,
    out: Path,
    about: Mapping[str, Any],
) -> list[Kept]:
    """Write train.keep and train.scores of each text below `out`, and filter.json; what each facet keeps."""
    flags: list[Flags] = [np.zeros(text.lines, np.bool_) for text in texts]
    result = []
    for part, threshold in choose(texts, scores, config):
        there = scores[part.text][part.lines]
        kept = there >= np.float64(threshold)
        flags[part.text][part.lines[kept]] = True
        path = out / texts[part.text].folder / KEEP
        result.append(Kept(part.facets, int(np.isfinite(there).sum()), int(kept.sum()), threshold, path))
    with writing(out):
        for text, values, kept in zip(texts, scores, flags, strict=True):
            (out / text.folder).mkdir(parents=True, exist_ok=True)
            write_whole(out / text.folder / SCORES, as_lines(values))
            write_whole(out / text.folder / KEEP, as_flags(kept))
        note = {
            **about,
            "keep": config.keep,
            "rank": config.rank,
            "facets": {
                ", ".join(one.facets): {"pairs": one.pairs, "kept": one.kept, "threshold": one.threshold}
                for one in result
            },
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
