"""How far each run got, how fast, and where its time went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from facetmt.report.digest import Digest

PARTS = (
    "training",
    "reward passes",
    "measurements",
    "compiling",
    "waiting for input",
    "validation",
    "saving",
    "other",
)


@dataclass(frozen=True)
class Mark:
    """A validation: the average dev BLEU, where and when."""

    bleu: float
    step: int
    seconds: float


def marks(validation: Sequence[Mapping[str, Any]]) -> list[Mark]:
    """All validations that have an average dev BLEU."""
    rows = [row for row in validation if row["bleu"]["average"] is not None]
    return [Mark(row["bleu"]["average"], row["step"], row["seconds"]) for row in rows]


def best_of(validation: Sequence[Mapping[str, Any]]) -> Mark | None:
    """The validation that a run is judged by: the highest average dev BLEU, the earliest if equal."""
    return max(marks(validation), key=lambda mark: mark.bleu, default=None)


def best(digest: Digest) -> Mark | None:
    return best_of(digest.validation)


def reached(digest: Digest, bleu: float) -> Mark | None:
    """The first validation at or above a score: "time to reach the baseline's best" (paper, section 3.2)."""
    return next((mark for mark in marks(digest.validation) if mark.bleu >= bleu), None)


@dataclass(frozen=True)
class Standing:
    """One run against the baseline, the first run of the page."""

    digest: Digest
    test: float | None  # average test BLEU
    dev: Mark | None  # best validation
    # over the baseline, on the test sets, or on dev where one of the two has no test score
    gain: float | None
    reach: Mark | None  # when it reached the baseline's best dev BLEU
    step_ratio: float | None  # its steps to there over the baseline's
    time_ratio: float | None  # its wall-clock to there over the baseline's


def standings(runs: Sequence[Digest]) -> list[Standing]:
    """Each run against the first one."""
    base, target = runs[0], best(runs[0])
    rows = []
    for run in runs:
        reach = reached(run, target.bleu) if target else None
        rows.append(
            Standing(
                digest=run,
                test=run.average_bleu,
                dev=best(run),
                gain=None if run is base else gain(base, run),
                reach=reach,
                step_ratio=ratio(reach.step, target.step) if reach and target else None,
                time_ratio=ratio(reach.seconds, target.seconds) if reach and target else None,
            )
        )
    return rows


def ratio(value: float, base: float) -> float | None:
    return value / base if base else None


def gain(base: Digest, run: Digest) -> float | None:
    if base.average_bleu is not None and run.average_bleu is not None:
        return run.average_bleu - base.average_bleu
    first, second = best(base), best(run)
    return None if first is None or second is None else second.bleu - first.bleu


def judged(rows: Sequence[Standing]) -> tuple[str, Standing] | None:
    """Whether test or dev BLEU decides, and the best run by it; test decides only if all runs have it."""
    if all(row.test is not None for row in rows):
        return "test", max(rows, key=lambda row: row.test or 0.0)
    validated = [row for row in rows if row.dev is not None]
    return ("dev", max(validated, key=lambda row: row.dev.bleu if row.dev else 0.0)) if validated else None


def latest(digest: Digest, key: str) -> Any:
    """A value of the last log point."""
    return digest.metrics[-1].get(key) if digest.metrics else None


def median_of(digest: Digest, key: str) -> float | None:
    """The median of a value over the log points: it ignores the slow first steps after each start."""
    values = [row[key] for row in digest.metrics if row.get(key) is not None]
    return median(values) if values else None


def mean_of(digest: Digest, key: str) -> float | None:
    """The mean of a value over the log points that have it."""
    values = [row[key] for row in digest.metrics if row.get(key) is not None]
    return fmean(values) if values else None


def seconds_by_part(digest: Digest) -> dict[str, float] | None:
    """Where the wall-clock went; `reward_share` is the share that reward passes take of a training step."""
    time = latest(digest, "time")
    if not time:
        return None
    steps = max(time["train"] - time["input"], 0.0)  # `train` includes waiting for a batch
    passes = steps * (mean_of(digest, "reward_share") or 0.0)
    measured = (time.get("probe", 0.0), time.get("compile", 0.0))  # older logs count compiling as training
    known = (steps - passes, passes, *measured, time["input"], time["validate"], time["save"])
    return dict(zip(PARTS, (*known, max(digest.seconds - sum(known), 0.0)), strict=True))


def share_of(digest: Digest, *named: str) -> float | None:
    """The share of the wall-clock that these parts took together."""
    parts = seconds_by_part(digest)
    total = sum(parts.values()) if parts else 0.0
    return sum(parts[part] for part in named) / total if parts and total else None


def choosing_share(digest: Digest) -> float | None:
    """The share of the wall-clock that was spent on choosing facets."""
    return share_of(digest, "reward passes", "measurements")
