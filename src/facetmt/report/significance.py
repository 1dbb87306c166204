"""Could it be chance? SacreBLEU's paired bootstrap on the translations of two runs, and its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from facetmt.recipe import load_recipe
from facetmt.report.outcomes import Outcome, Stamp
from facetmt.runlog import RECIPE, Run
from facetmt.translate.evaluate import bleu_metric, tokeniser_of

RESAMPLES = 1000
FIXED = 100  # a comparison costs at least as much as this many lines
HELD = 10_000_000  # sentences of all resamples together: SacreBLEU holds them in memory at once


class Comparison(NamedTuple):
    """Two outcomes on one test set."""

    p: float
    gain: float  # over the base
    intervals: tuple[float, float] | None  # half of the 95 % interval of the base and of the other


@dataclass(frozen=True)
class Significance:
    """Tests against the first system, by (system, facet), and what a reader must know about them."""

    values: dict[tuple[int, str], tuple[float, float]]  # p, and the gain (of the least certain seed)
    intervals: dict[tuple[int, str], float]  # half of the 95 % interval; systems of one seed only
    notes: list[str]


def compared(
    systems: Sequence[Sequence[Outcome]],
    facets: Sequence[str],
    metric: str,
    most_lines: int | None = None,
    *,
    intervals: bool = False,
) -> Significance:
    """Test each system against the first, facet by facet; of several seeds the least certain counts."""
    pairs = [
        (index, list(zip(partners(systems[0], system), system, strict=True)))
        for index, system in enumerate(systems)
        if index
    ]
    if most_lines is not None and lines_to_read(systems, facets) > most_lines:
        advice = "; use `facetmt compare`." if pairs else "."
        return Significance({}, {}, [f"Too many sentences to test significance here{advice}"])
    values: dict[tuple[int, str], tuple[float, float]] = {}
    known: dict[tuple[int, str], float] = {}
    for index, seeds in pairs:
        for facet in facets:
            found = [paired_test(base, run, facet, metric) for base, run in seeds]
            results = [result for result in found if result is not None]
            if (verdict := agreed(results, len(found))) is not None:
                values[index, facet] = verdict
            if len(results) == 1 and results[0].intervals is not None:
                known[0, facet], known[index, facet] = results[0].intervals
    untested = len(pairs) * len(facets) - len(values)
    notes = notes_on(values, untested, len(facets), any(len(seeds) > 1 for _, seeds in pairs))
    if not intervals:
        return Significance(values, {}, notes)
    every = all_intervals(systems, facets, metric, known)
    return Significance(values, every, [*notes, *interval_notes(systems, every)])


def partners(base: Sequence[Outcome], system: Sequence[Outcome]) -> list[Outcome]:
    """The base's run with the same seed for each run, or the next in order where it has no such one."""
    by_seed = {seed_of(one): one for one in reversed(base)}
    return [by_seed.get(seed_of(one), base[index % len(base)]) for index, one in enumerate(system)]


def seed_of(outcome: Outcome) -> int:
    return load_recipe(outcome.run.directory / RECIPE).seed


def agreed(results: Sequence[Comparison], seeds: int) -> tuple[float, float] | None:
    """Largest p of the seeds and its gain; p = 1 where they disagree, None where one was not tested."""
    if not seeds or len(results) < seeds:
        return None
    least = max(results, key=lambda result: result.p)
    same = all(one.gain > 0 for one in results) or all(one.gain < 0 for one in results)
    return (least.p if same else 1.0), least.gain


def all_intervals(
    systems: Sequence[Sequence[Outcome]],
    facets: Sequence[str],
    metric: str,
    known: dict[tuple[int, str], float],
) -> dict[tuple[int, str], float]:
    """Of systems with one seed; what the paired test already computed is not computed again."""
    found = {}
    for index, system in enumerate(systems):
        for facet in facets if len(system) == 1 else ():
            half = known.get((index, facet))
            half = interval(system[0], facet, metric) if half is None else half
            if half is not None:
                found[index, facet] = half
    return found


def of_mean(intervals: Sequence[float]) -> float:
    """Interval of the mean over test sets, which are resampled independently: √Σ h²/n."""
    return sqrt(sum(half**2 for half in intervals)) / len(intervals)


def interval_notes(
    systems: Sequence[Sequence[Outcome]], intervals: dict[tuple[int, str], float]
) -> list[str]:
    several = any(len(system) > 1 for system in systems)
    seeds = " For several seeds, ± is the standard deviation over them." if several else ""
    if not intervals:
        return [seeds.strip()] * bool(seeds)
    return [
        f"± is half of the 95 % interval by bootstrap of the test sentences ({RESAMPLES:,} resamples): it "
        f"shows how much the choice of sentences matters, not what another training would give.{seeds}"
    ]


def notes_on(
    values: dict[tuple[int, str], tuple[float, float]], untested: int, facets: int, seeds: bool
) -> list[str]:
    if not values:
        return ["Significance not tested: there are no translations of the same sentences."] * bool(untested)
    notes = [
        "Marks compare with the first system: + better, - worse with p < 0.05; ++ and -- with p < 0.01, by "
        f"SacreBLEU's paired bootstrap with {RESAMPLES:,} resamples"
        + ("; all seeds must agree, and the least certain counts." if seeds else ".")
    ]
    if facets >= 20:
        notes.append(f"Of {facets} comparisons, about {facets * 0.05:.0f} get a mark by chance alone.")
    if untested:
        notes.append(
            f"{untested:,} comparisons are not tested: those runs did not translate the same sentences."
        )
    return notes


def lines_to_read(systems: Sequence[Sequence[Outcome]], facets: Sequence[str]) -> int:
    """Test sentences of all comparisons, estimated from the first run's files."""
    base = systems[0][0]
    lines = sum(sum(1 for _ in base.translations(facet)) for facet in facets)
    comparisons = sum(len(system) for system in systems[1:])
    return max(1, 2 * comparisons) * lines + comparisons * FIXED * len(facets)


def paired_test(base: Outcome, other: Outcome, facet: str, metric: str) -> Comparison | None:
    """p, the gain over the base, intervals; None if the two did not translate the same sentences."""
    stamps = [one.stamp(facet) for one in (base, other)]
    if None in stamps:
        return None
    places = ((base.run.directory, base.name), (other.run.directory, other.name))
    return _tested(*places, facet, metric, tokeniser(base, facet), tuple(stamps))


def interval(outcome: Outcome, facet: str, metric: str) -> float | None:
    """Half of the 95 % interval of one score; None where there are no translations."""
    stamp = outcome.stamp(facet)
    if stamp is None:
        return None
    place = (outcome.run.directory, outcome.name)
    return _interval(place, facet, metric, tokeniser(outcome, facet), stamp)


def target_language(run: Run, name: str) -> str:
    """Of a facet, or of the facet whose languages an extra test set has."""
    sets = {} if name in run.facet_table else load_recipe(run.directory / RECIPE).evaluate.sets
    facet = sets[name].facet if name in sets else name
    return str(run.facet_table.get(facet, {}).get("target", "en"))


def tokeniser(outcome: Outcome, facet: str) -> str:
    """The tokeniser of the outcome's own BLEU."""
    return tokeniser_of(target_language(outcome.run, facet), outcome.scores.get("tokenisers"))


def scorer(metric: str, tokenise: str) -> Metric:
    return bleu_metric("", {"": tokenise}) if metric == "bleu" else CHRF()


def resamples(sentences: int) -> int:
    return max(100, min(RESAMPLES, HELD // sentences))


@lru_cache(maxsize=4096)  # a live report asks again every few seconds
def _interval(place: tuple[Path, str], facet: str, metric: str, tokenise: str, stamp: Stamp) -> float | None:
    rows = list(Run(place[0]).translations(facet, place[1]))
    if not rows:
        return None
    hypotheses, references = ([row[side] for row in rows] for side in ("hypothesis", "reference"))
    score = scorer(metric, tokenise).corpus_score(hypotheses, [references], n_bootstrap=resamples(len(rows)))
    return float(score._ci)  # SacreBLEU prints it, but has no public name for it


@lru_cache(maxsize=4096)
def _tested(
    base: tuple[Path, str],
    run: tuple[Path, str],
    facet: str,
    metric: str,
    tokenise: str,
    stamps: tuple[Stamp | None, ...],
) -> Comparison | None:
    first, second = (list(Run(directory).translations(facet, name)) for directory, name in (base, run))
    references = [row["reference"] for row in first]
    if not references or references != [row["reference"] for row in second]:
        return None
    outputs = [[row["hypothesis"] for row in rows] for rows in (first, second)]
    if outputs[0] == outputs[1]:
        return Comparison(1.0, 0.0, None)
    test = PairedTest(
        [("base", outputs[0]), ("run", outputs[1])],
        {metric: scorer(metric, tokenise)},
        [references],
        test_type="bs",
        n_samples=resamples(len(references)),
    )
    _, scores = test()
    (column,) = (results for name, results in scores.items() if name != "System")
    before, after = column[0], column[1]
    assert not isinstance(before, str) and not isinstance(after, str)  # only the names are strings
    if after.p_value is None:
        return None
    halves = None if before.ci is None or after.ci is None else (float(before.ci), float(after.ci))
    return Comparison(float(after.p_value), float(after.score - before.score), halves)
