"""The rewards of a run along its steps, reduced to what a report shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facetmt.runlog import SEVERAL, Pulls

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

POINTS, FACET_POINTS = 200, 40
REWARDS_PER_POINT = 10  # behind each median
PULLS_PER_POINT = 25  # rewards of a facet behind each point of its curve, on average


@dataclass(frozen=True)
class FacetRewards:
    """Mean scaled rewards of the batches of each facet."""

    step: Ints  # [bins]
    scaled: Floats  # [bins, facets]; NaN where a facet was not drawn
    mean: Floats  # [facets] over the whole run


@dataclass(frozen=True)
class Rewards:
    """The rewards of a bandit run along its steps."""

    step: Ints  # [points]
    raw: Floats  # [points] median since the previous point
    low: Floats  # [points] the clipping quantiles that the scaler used there
    high: Floats
    clipped: float  # share of all rewards that were scaled to −1 or 1
    mean: float  # of all scaled rewards; near 0 where the scale fits
    by_facet: FacetRewards | None  # None where batches mix facets: no reward is of a single one


def rewards(pulls: Pulls, window: int, quantiles: tuple[float, float]) -> Rewards | None:
    """Medians along the steps, the clipping quantiles as the scaler saw them, and means by facet."""
    given = np.flatnonzero(np.isfinite(pulls.raw) & np.isfinite(pulls.scaled))
    if not given.size:
        return None
    raw, scaled, step = pulls.raw[given], pulls.scaled[given], pulls.step[given]
    points = min(max(raw.size // REWARDS_PER_POINT, 1), POINTS)
    ends = np.unique(np.linspace(raw.size / points, raw.size, points).round().astype(np.int64))
    starts = np.concatenate([[0], ends[:-1]])
    bounds = np.array([np.quantile(raw[max(0, end - window) : end], quantiles) for end in ends])
    return Rewards(
        step=step[ends - 1],
        raw=np.array([np.median(raw[start:end]) for start, end in zip(starts, ends, strict=True)]),
        low=bounds[:, 0],
        high=bounds[:, 1],
        clipped=float((np.abs(scaled) == 1).mean()),
        mean=float(scaled.mean()),
        by_facet=facet_rewards(step, pulls.facet[given], scaled, len(pulls.names)),
    )


def facet_rewards(
    step: Ints, facet: npt.NDArray[np.int32], scaled: Floats, facets: int
) -> FacetRewards | None:
    """Means in bins of the same number of rewards."""
    if np.any(facet == SEVERAL):
        return None
    bins = min(max(scaled.size // (PULLS_PER_POINT * facets), 6), FACET_POINTS, scaled.size)
    bin_of = np.arange(scaled.size) * bins // scaled.size  # [rewards] -> bin
    total, count = (
        np.bincount(bin_of * facets + facet, weights=weights, minlength=bins * facets).reshape(bins, facets)
        for weights in (scaled, None)
    )
    with np.errstate(invalid="ignore"):  # 0/0: a facet that was not drawn has no mean
        by_bin, overall = total / count, total.sum(0) / count.sum(0)
    return FacetRewards(step[np.searchsorted(bin_of, np.arange(bins), side="right") - 1], by_bin, overall)
