"""What was measured of each facet, with its error, over a horizon that grows with the training.

A measurement at step t has the weight t: the last half of the training holds three quarters of all weight,
whatever its length, so that estimates move in log time. No measurement is kept, only sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]  # [facets]
Sums = list[list[float]]  # JSON-serialisable

LEAST_POINTS = 5.0  # of a line, before its error is worth anything


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value of each facet and its standard error; infinite where nothing is known."""

    value: Values
    error: Values

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        return np.isfinite(self.error)


class Mean:
    """The mean of what is measured now and then, each time with its own error."""

    rows = 5

    def __init__(self, facets: int) -> None:
        self._sums = np.zeros((self.rows, facets))  # Σw, Σw², Σwy, Σwy², Σw²e²

    def add(self, step: int, values: Values, errors: Values) -> None:
        """Take in the measurements of one step; NaN where a facet was not measured."""
        measured = np.isfinite(values) & np.isfinite(errors)
        w = np.where(measured, float(step), 0.0)
        y, e = np.where(measured, values, 0.0), np.where(measured, errors, 0.0)
        self._sums += np.stack([w, w * w, w * y, w * y * y, w * w * e * e])

    def estimate(self) -> Estimate:
        """The mean; its error is what was given or what the scatter says, whichever is larger."""
        total, squares, first, second, given = self._sums
        known = total > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            mean, points = first / total, total * total / squares
            scatter = np.maximum(second / total - mean * mean, 0.0) / (points - 1.0)
        variance = given / np.where(known, total * total, 1.0)
        variance = np.where(known & (points >= 2.0), np.fmax(variance, scatter), variance)
        return Estimate(np.where(known, mean, 0.0), np.where(known, np.sqrt(variance), math.inf))

    def state(self) -> Sums:
        return [row.tolist() for row in self._sums]

    def restore(self, sums: Sums, arms: Sequence[int | None]) -> None:
        """Continue from `sums`; `arms[i]` is the saved place of facet i, None if it is new."""
        self._sums = columns(sums, arms)


class Slope(Mean):
    """s = −dy/d ln t of repeated measurements, by a straight line; its error is that of the line's fit.

    The same rows must be measured each time: what they have in common drops out of a slope. But other rows
    would have had other slopes: with several groups of rows per facet, the error is the scatter of theirs.
    """

    rows = 9  # Σw, Σw², Σw²x, Σw²x², Σwx, Σwx², Σwy, Σwxy, Σwy² with x = ln t

    def __init__(self, facets: int, groups: int = 1) -> None:
        super().__init__(groups * facets)
        self._groups = groups

    def add(self, step: int, values: Values, errors: Values | None = None) -> None:
        """`values`: [groups, facets], or [facets] of a single group."""
        values = np.ravel(values)
        measured = np.isfinite(values)
        w = np.where(measured, float(step), 0.0)
        x, y = math.log(step), np.where(measured, values, 0.0)
        ww = w * w
        self._sums += np.stack([w, ww, ww * x, ww * x * x, w * x, w * x * x, w * y, w * x * y, w * y * y])

    def estimate(self) -> Estimate:
        total, squares, squares_x, squares_xx = self._sums[:4]
        points = total * total / np.where(total > 0, squares, 1.0)
        known = points >= LEAST_POINTS
        weight = np.where(known, total, 1.0)
        x, xx, y, xy, yy = self._sums[4:] / weight
        spread = np.where(known, xx - x * x, 1.0)
        rise = (xy - x * y) / spread
        left = np.maximum(yy - y * y - rise * rise * spread, 0.0)  # the variance that the line leaves
        left *= points / np.maximum(points - 2.0, 1.0)
        # Var(s) = σ²·Σw²(x − x̄)² / (Σw(x − x̄)²)²
        lever = np.maximum(squares_xx - 2.0 * x * squares_x + x * x * squares, 0.0)
        error = np.sqrt(left * lever) / (weight * spread)
        lines = Estimate(np.where(known, -rise, 0.0), np.where(known, error, math.inf))
        return lines if self._groups == 1 else across_groups(lines, self._groups)

    def restore(self, sums: Sums, arms: Sequence[int | None]) -> None:
        saved = len(sums[0]) // self._groups
        places = [
            None if arm is None else group * saved + arm for group in range(self._groups) for arm in arms
        ]
        super().restore(sums, places)


def across_groups(lines: Estimate, groups: int) -> Estimate:
    """The mean slope of each facet's groups; its error is their scatter, or that of the lines if larger."""
    value, error = lines.value.reshape(groups, -1), lines.error.reshape(groups, -1)
    known = np.isfinite(error)  # [groups, facets]
    found = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, value, 0.0).sum(axis=0) / found
    scatter = np.where(known, (value - mean) ** 2, 0.0).sum(axis=0) / np.maximum(found - 1, 1)
    fit = np.where(known, error, 0.0) ** 2
    variance = np.maximum(scatter, fit.sum(axis=0) / found) / found
    return Estimate(mean, np.where(known.sum(axis=0) > 1, np.sqrt(variance), math.inf))


def columns(rows: Sequence[Sequence[float]], arms: Sequence[int | None], new: float = 0.0) -> Values:
    """The saved columns in the order of the facets here; `new` for a facet that is new."""
    return np.array([[new if arm is None else row[arm] for arm in arms] for row in rows], dtype=np.float64)


def shrunk(estimate: Estimate, weights: Values) -> tuple[float, Values]:
    """The weighted mean m, and each value's difference from it times signal/(signal + noise).

    The signal is the variance between the facets beyond that of their errors; without any, all are alike.
    """
    weights = np.where(estimate.known, weights, 0.0)
    if not weights.any():
        return 0.0, np.zeros(weights.size)
    weights = weights / weights.sum()
    error = np.where(estimate.known, estimate.error, 0.0)
    mean = float(weights @ estimate.value)
    apart = np.where(weights > 0, estimate.value - mean, 0.0)
    freedom = 1.0 - float(weights @ weights)  # (n − 1)/n for equal weights
    noise = float(weights @ (error * error))
    signal = max(0.0, float(weights @ (apart * apart)) / freedom - noise) if freedom > 0 else 0.0
    return mean, apart * signal / np.maximum(signal + error * error, 1e-300)
