"""Outcomes: the scores of a run, both the plain ones and those that `evaluate` wrote under a name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from facetmt.runlog import Run

Stamp = tuple[int, int]  # size and time of change of a file: while they stay, what was computed from it holds


@dataclass(frozen=True)
class Outcome:
    """One scoring of one run: the paper's "28.05 (29.37)" is two of them."""

    run: Run
    name: str  # "" for the plain one
    scores: dict[str, Any]

    def label(self, run_name: str) -> str:
        return f"{run_name} [{self.name}]" if self.name else run_name

    @property
    def steps(self) -> list[int]:
        """Of the checkpoints whose parameters were scored."""
        return [int(step) for step in self.scores.get("steps", [])]

    @property
    def decoding(self) -> dict[str, Any]:
        """The settings that decide the output; the batch size does not."""
        known = {key: value for key, value in self.scores.get("decode", {}).items() if key != "batch"}
        return {**known, "tag": self.scores["tag"]} if self.scores.get("tag") else known

    def translations(self, facet: str) -> Iterator[dict[str, str]]:
        return self.run.translations(facet, self.name)

    def few_translations(self, facet: str, count: int) -> list[dict[str, str]]:
        return self.run.few_translations(facet, count, self.name)

    def stamp(self, facet: str) -> Stamp | None:
        """Version of the translations; None where there are none."""
        path = self.run.directory / self.run.translated(facet, self.name)
        if not path.is_file():
            return None
        status = path.stat()
        return status.st_size, status.st_mtime_ns

    def text(self, facet: str) -> str | None:
        """Hash of the test text (sources and references); None where it is unknown."""
        stamp = self.stamp(facet)
        return None if stamp is None else _text_hash(self.run.directory, self.name, facet, stamp)


def all_outcomes(run: Run) -> list[Outcome]:
    return [Outcome(run, name, scores) for name, scores in run.outcomes().items()]


def plain(run: Run) -> Outcome | None:
    return None if run.scores is None else Outcome(run, "", run.scores)


def same_text(first: Outcome, second: Outcome, facet: str) -> bool | None:
    """Whether both scored the same test text, by the hashes of `evaluate` or by the text; None if unknown."""
    hashes = [one.scores["facets"][facet].get("text") for one in (first, second)]
    if None in hashes:
        hashes = [one.text(facet) for one in (first, second)]
    return None if None in hashes else hashes[0] == hashes[1]


@lru_cache(maxsize=4096)  # a live report asks again every few seconds
def _text_hash(directory: Path, outcome: str, facet: str, stamp: Stamp) -> str:
    found = sha256()
    for row in Run(directory).translations(facet, outcome):
        found.update(json.dumps([row["source"], row["reference"]]).encode())
    return found.hexdigest()


def described(outcome: Outcome) -> str:
    """Which checkpoint was scored, and how it was decoded: `step 30, beam 5, length penalty 0.6`."""
    decoding = outcome.decoding
    parts = [numbered(outcome.steps)] if outcome.steps else []
    for key, words in (("beam", "beam"), ("length_penalty", "length penalty"), ("tag", "tag")):
        if key in decoding:
            parts.append(f"{words} {decoding[key]}")
    return ", ".join(parts) or "–"


def numbered(steps: Sequence[int]) -> str:
    """`step 30`, or `the mean of steps 20, 30`."""
    if len(steps) == 1:
        return f"step {steps[0]:,}"
    return f"the mean of steps {', '.join(f'{step:,}' for step in sorted(steps))}"
