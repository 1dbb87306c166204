"""Every training text of a corpus once, with all facets that are read from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facetmt.data.chunks import Files, Line, check_aligned, read_rows
from facetmt.data.config import DataConfig
from facetmt.data.corpus import Facet
from facetmt.data.discover import discover
from facetmt.data.lines import decode
from facetmt.errors import UserError

Int = NDArray[np.int64]
Row = tuple[int, Line, Line]  # line number, from 1, and the two sides


class TrainingText(NamedTuple):
    """Two files of training text, and all facets read from them, in either direction and of any label."""

    folder: Path  # relative to data.root
    lines: int
    facets: list[Facet]

    def directions(self) -> list[Facet]:
        """One facet for each direction."""
        found: dict[Path, Facet] = {}
        for facet in self.facets:
            found.setdefault(facet.files["train"].source, facet)
        return list(found.values())

    def parts(self) -> dict[str, list[str]]:
        """The facets of each label, one part of the text each; without labels the text is one part."""
        parts: dict[str, list[str]] = {}
        for facet in self.facets:
            parts.setdefault(facet.files["train"].label or "", []).append(facet.name)
        return parts


def training_texts(data: DataConfig) -> list[TrainingText]:
    """Every training text once; refuses layouts that take no keep files."""
    root = Path(data.root).resolve()
    if data.layout not in ("pairs", "tsv"):
        raise UserError(f"data.layout: {data.layout} takes no keep files; filter works on the layout pairs")
    if isinstance(data.facets, dict) and any(entry.train is not None for entry in data.facets.values()):
        raise UserError(
            "data.facets: a facet that names its files takes no keep file; use the layout pairs to filter it"
        )
    texts: dict[frozenset[Path], list[Facet]] = {}
    for facet in discover(data, Path(data.root)):
        files = facet.files["train"]
        if files.header or files.columns is not None:
            raise UserError(
                f"{files.source}: filter works on line-aligned files; convert the TSV to two files"
            )
        if not files.source.resolve().is_relative_to(root):
            raise UserError(f"{files.source}: filter works on text below {data.root}; move it there")
        texts.setdefault(frozenset((files.source, files.target)), []).append(facet)
    return [
        TrainingText(
            facets[0].files["train"].source.parent.resolve().relative_to(root),
            check_aligned(sorted(paths)),
            facets,
        )
        for paths, facets in texts.items()
    ]


class Pairs(NamedTuple):
    """The pairs among some lines of a text: those in which neither side is blank."""

    place: Int  # of each pair among the lines
    sources: list[str]
    targets: list[str]


def pairs_of(rows: Sequence[Row], files: Files, errors: str) -> Pairs:
    """Decode some lines; one that is too long to read counts as blank."""
    numbers = [number for number, _, _ in rows]
    sources = decode([source or b"" for _, source, _ in rows], files.source, numbers, errors)
    targets = decode([target or b"" for _, _, target in rows], files.target, numbers, errors)
    there = [index for index in range(len(rows)) if sources[index].strip() and targets[index].strip()]
    return Pairs(
        np.array(there, np.int64), [sources[index] for index in there], [targets[index] for index in there]
    )


def all_rows(files: Files) -> Iterator[Row]:
    """Every line of a training text, of any label."""
    return read_rows(replace(files, label=None, labels=None, keep=None, limit=None), Counter())


def part_lines(text: TrainingText, label: str) -> Int:
    """The lines of a training text, from 0, that have this label; all of them without labels."""
    if not label:
        return np.arange(text.lines)
    files = next(one.files["train"] for one in text.facets if one.files["train"].label == label)
    rows = read_rows(replace(files, keep=None, limit=None), Counter())
    return np.fromiter((number - 1 for number, _, _ in rows), np.int64)
