"""Could it be chance? SacreBLEU's paired bootstrap on the translations of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from facetmt.recipe import load_recipe
from facetmt.runlog import RECIPE, TRANSLATIONS, Run
from facetmt.translate.evaluate import bleu_metric

RESAMPLES = 1000
FIXED = 100  # a comparison costs as much as so many lines, however short the test set
HELD = 10_000_000  # sentences of all resamples together, which SacreBLEU holds in memory at once

Stamp = tuple[int, int]  # size and time of change of a file: what was computed from it can be kept


@dataclass(frozen=True)
class Significance:
    """p by (system, facet) against the first system, and what a reader must know about it."""

    values: dict[tuple[int, str], float]
    notes: list[str]


def p_values(
    systems: Sequence[Sequence[Run]], facets: Sequence[str], metric: str, most_lines: int | None = None
) -> Significance:
    """Test each system against the first one, facet by facet; of several seeds the least certain counts."""
    if len(systems) < 2:
        return Significance({}, [])
    pairs = [
        (place, [(systems[0][seed % len(systems[0])], run) for seed, run in enumerate(system)])
        for place, system in enumerate(systems)
        if place
    ]
    if most_lines is not None and lines_to_read(pairs, facets) > most_lines:
        return Significance(
            {}, ["Too many test sentences to test for chance here; `facetmt compare` does it."]
        )
    values: dict[tuple[int, str], float] = {}
    for place, seeds in pairs:
        for facet in facets:
            found = [paired_test(base, run, facet, metric) for base, run in seeds]
            if (p := agreed([result for result in found if result is not None], len(found))) is not None:
                values[place, facet] = p
    untested = len(pairs) * len(facets) - len(values)
    return Significance(
        values, notes_on(values, untested, len(facets), any(len(seeds) > 1 for _, seeds in pairs))
    )


def agreed(results: Sequence[tuple[float, float]], seeds: int) -> float | None:
    """The largest p of the seeds; 1 where they disagree on who is better, None where one was not tested."""
    if len(results) < seeds:
        return None
    same = all(gain > 0 for _, gain in results) or all(gain < 0 for _, gain in results)
    return max(p for p, _ in results) if same else 1.0


def notes_on(values: dict[tuple[int, str], float], untested: int, facets: int, seeds: bool) -> list[str]:
    if not values and untested:
        return ["Not tested for chance: there are no translations of the same test sentences."]
    notes = [
        f"* p < 0.05, ** p < 0.01 against the first system: SacreBLEU's paired bootstrap, {RESAMPLES:,} resamples"
        + ("; all seeds must agree, and the least certain counts." if seeds else ".")
    ]
    if facets >= 20:
        notes.append(f"Of {facets} comparisons about {facets * 0.05:.0f} get a mark by chance alone.")
    if untested:
        notes.append(
            f"{untested:,} comparisons are not tested: those runs did not translate the same sentences."
        )
    return notes


def lines_to_read(pairs: Sequence[tuple[int, Sequence[tuple[Run, Run]]]], facets: Sequence[str]) -> int:
    """Test sentences of all comparisons, guessed from the first run's files."""
    if not pairs or not pairs[0][1]:
        return 0
    base = pairs[0][1][0][0]
    lines = sum(sum(1 for _ in base.translations(facet)) for facet in facets)
    comparisons = sum(len(seeds) for _, seeds in pairs)
    return comparisons * (2 * lines + FIXED * len(facets))


def paired_test(base: Run, run: Run, facet: str, metric: str) -> tuple[float, float] | None:
    """p and the gain over the base; None where the two did not translate the same sentences."""
    stamps = [stamp(one.directory / TRANSLATIONS / f"{facet}.jsonl") for one in (base, run)]
    if None in stamps:
        return None
    return _tested(base.directory, run.directory, facet, metric, target_language(base, facet), tuple(stamps))


def target_language(run: Run, name: str) -> str:
    """Of a facet, or of the facet whose languages a further test set has."""
    sets = {} if name in run.facet_table else load_recipe(run.directory / RECIPE).evaluate.sets
    facet = sets[name].facet if name in sets else name
    return str(run.facet_table.get(facet, {}).get("target", "en"))


def stamp(path: Path) -> Stamp | None:
    if not path.is_file():
        return None
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=4096)  # a live report asks again every few seconds
def _tested(
    base: Path, run: Path, facet: str, metric: str, language: str, stamps: tuple[Stamp | None, ...]
) -> tuple[float, float] | None:
    first, second = (list(Run(directory).translations(facet)) for directory in (base, run))
    references = [row["reference"] for row in first]
    if not references or references != [row["reference"] for row in second]:
        return None
    outputs = [[row["hypothesis"] for row in rows] for rows in (first, second)]
    if outputs[0] == outputs[1]:
        return 1.0, 0.0
    scorer: Metric = bleu_metric(language) if metric == "bleu" else CHRF()
    test = PairedTest(
        [("base", outputs[0]), ("run", outputs[1])],
        {metric: scorer},
        [references],
        test_type="bs",
        n_samples=max(100, min(RESAMPLES, HELD // len(references))),
    )
    _, scores = test()
    (column,) = (results for name, results in scores.items() if name != "System")
    before, after = column[0], column[1]
    assert not isinstance(before, str) and not isinstance(after, str)  # only the names are strings
    return None if after.p_value is None else (float(after.p_value), float(after.score - before.score))
