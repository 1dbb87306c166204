"""Do the rewards of the facets differ? An answer that neither drift nor a policy that follows it can fake.

Which facet a step draws is random given π and the past. So with z_t = (1[a_t=i] − π_t(i))/s_t, s_t² =
π_t(i)·(1−π_t(i)), and r_t the reward less the average of earlier ones, the terms z_t·r_t are uncorrelated
with each other, and 0 on average where facet i brings what the others bring:
δ̂_i = Σ z·r/Σ s, with the error √Σ (z·r)²/Σ s. The weights 1/s_t give each step the same variance, without
which a policy that adapts would spoil the normal distribution of the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from facetmt.report.student import normal_quantile, student_quantile

Floats = npt.NDArray[np.float64]

RISK = 0.05  # that any facet is told from the others by luck
POWER = 0.8  # with which the smallest visible difference is seen
MEMORY = 50  # rewards in the moving average that is subtracted: slow drift need not add to the noise
CHUNK = 4096
FEWEST = 5  # draws of a facet, below which nothing is said about it


@dataclass(frozen=True)
class Differences:
    """Each facet's reward less that of the others, as they were drawn at that time; arrays are [facets]."""

    draws: npt.NDArray[np.int64]
    difference: Floats
    error: Floats
    smallest: Floats  # difference that would be noticed with probability POWER
    margin: Floats  # difference beyond which it is more than luck, all facets taken together
    noise: float  # standard deviation of a single reward around its moving average
    independent: float  # rewards that the correlated ones are worth

    @property
    def told(self) -> npt.NDArray[np.bool_]:
        """Which facets the reward tells from the others."""
        beyond: npt.NDArray[np.bool_] = np.abs(self.difference) > self.margin
        return beyond


def differences(arm: npt.NDArray[np.int32], reward: Floats, probs: Iterable[Floats]) -> Differences:
    """Of rewards [T] of the facets [T] that were drawn with probabilities T x [facets], known all along."""
    left = less_average(reward)
    scores = squares = scales = np.zeros(0)
    for part, rows in chunks(probs, len(arm)):
        drawn = np.zeros_like(rows)
        drawn[np.arange(len(rows)), arm[part]] = 1.0
        spread = np.sqrt(np.maximum(rows * (1.0 - rows), 1e-12))
        terms = (drawn - rows) / spread * left[part, None]
        news = terms.sum(axis=0), (terms**2).sum(axis=0), spread.sum(axis=0)
        scores, squares, scales = (
            news if not scores.size else (scores + news[0], squares + news[1], scales + news[2])
        )
    facets = len(scores)
    draws = np.bincount(arm, minlength=facets)
    seen = draws >= FEWEST
    error = np.where(seen, np.sqrt(squares) / scales, np.nan)
    critical = np.array([quantile(int(count), facets) for count in draws])
    return Differences(
        draws=draws,
        difference=np.where(seen, scores / scales, np.nan),
        error=error,
        smallest=(critical + normal_quantile(POWER)) * error,
        margin=np.where(seen, critical * error, np.inf),
        noise=float(left.std()),
        independent=len(left) / correlation_time(left),
    )


def quantile(draws: int, facets: int) -> float:
    """Errors that are more than luck: two-sided, shared out among all facets (Bonferroni)."""
    return student_quantile(1 - RISK / 2 / facets, max(draws, FEWEST) - 1)


def chunks(rows: Iterable[Floats], count: int) -> Iterator[tuple[slice, Floats]]:
    """Many rows at a time, never all: a run may have half a million of 198 facets."""
    left, start = iter(rows), 0
    while start < count:
        block = np.array(list(islice(left, CHUNK)))
        yield slice(start, start + len(block)), block
        start += len(block)


def less_average(reward: Floats) -> Floats:
    """Each reward less the moving average of those before it, which no draw of this step can have changed."""
    left, total, weight, keep = np.empty_like(reward), 0.0, 0.0, 1.0 - 1.0 / MEMORY
    for place, value in enumerate(reward.tolist()):
        left[place] = value - (total / weight if weight else value)
        total, weight = keep * total + value, keep * weight + 1.0
    return left


def correlation_time(values: Floats) -> float:
    """1 + 2·Σ ρ_k over the first lags until the sum of two neighbours is no longer positive (Geyer)."""
    centred = values - values.mean()
    power = float(centred @ centred)
    if power <= 0:
        return 1.0
    size = 1 << (2 * len(centred) - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    rho = np.fft.irfft(spectrum * np.conj(spectrum), size)[: len(centred)] / power
    pairs = rho[0 : len(rho) - 1 : 2] + rho[1 : len(rho) : 2]
    positive = pairs[: int(np.argmax(pairs <= 0))] if np.any(pairs <= 0) else pairs
    return max(1.0, 2.0 * float(positive.sum()) - 1.0)
