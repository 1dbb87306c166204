"""Means over two independent samples, and honest errors of what is computed from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """Values, their standard errors, and the degrees of freedom of these, all of one shape."""

    value: Floats
    error: Floats
    freedom: Floats


def two_samples(products: Floats, statistic: Callable[[Floats], Floats]) -> Estimate:
    """`statistic` of the mean product [F] over G groups of one sample and H of another: [G, F, H].

    Error² = (G−1)/G·Σ_g (θ_(g) − θ̄)² + the same over h, where θ_(g) is computed without group g. What both
    samples cause together is counted twice, which errs on the safe side.
    """
    groups, _, others = products.shape
    without_group = (products.sum(axis=0) - products).mean(axis=2) / (groups - 1)  # [G, F]
    means = products.mean(axis=0)  # [F, H]
    without_other = (means.sum(axis=1, keepdims=True) - means).T / (others - 1)  # [H, F]
    first, second = (variance(leave_one_out, statistic) for leave_one_out in (without_group, without_other))
    both = first + second
    with np.errstate(invalid="ignore", divide="ignore"):  # no variance at all: nothing to divide
        freedom = both**2 / (first**2 / (groups - 1) + second**2 / (others - 1))
    least = min(groups, others) - 1
    return Estimate(statistic(products.mean(axis=(0, 2))), np.sqrt(both), np.where(both > 0, freedom, least))


def variance(leave_one_out: Floats, statistic: Callable[[Floats], Floats]) -> Floats:
    """The jackknife's, from means that each leave out one of n groups: [n, F]."""
    count = len(leave_one_out)
    found = np.stack([statistic(one) for one in leave_one_out])
    spread: Floats = ((found - found.mean(axis=0)) ** 2).sum(axis=0) * (count - 1) / count
    return spread
