"""A pull that is a composition: how the rows of one batch are shared out among the facets."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facetmt.bandit.policy import Credit, Probs, draw, frozen

Counts = npt.NDArray[np.int64]  # [facets]


def row_counts(shares: Probs, rows: int, rng: np.random.Generator) -> Counts:
    """`rows` shared out by systematic rounding, with one uniform number.

    Each count is the floor or the ceiling of rows·share, and its expectation is exactly rows·share: a share
    of 0.001 of 24 rows is one row in 42 batches, where int() would make it none for ever.
    """
    exact = rows * shares / shares.sum()
    counts = np.floor(exact)
    rest = (exact - counts).cumsum()
    missing = rows - counts.sum()  # the rows that the fractions stand for: a whole number
    if missing:
        rest = rest / rest[-1] * missing  # ends exactly there, whatever was rounded on the way
    # a facet gets one more row where a point of the grid u + {0, 1, …} falls into its part of the line
    passed = np.minimum(np.floor(rest + rng.random()), missing)
    whole: Counts = (counts + np.diff(passed, prepend=0.0)).astype(np.int64)
    return whole


@dataclass(frozen=True, slots=True)
class Composition:
    """The shares c of one batch, and the credit x that its reward earns (w += μ·y·x)."""

    shares: Probs  # c [facets]
    credit: Credit


def draw_composition(probs: Probs, kappa: float, rng: np.random.Generator) -> Composition:
    """Draw c ~ Dirichlet(κ·π) with the credit x_i = (κ+1)·(c_i − π_i)/π_i.

    E[c] = π and Cov(c) = (diag(π) − π·πᵀ)/(κ+1), so that a reward y = r·c gives E[x_i·y] = r_i − π·r: the
    gain of facet i over the mixture, unbiased. (EXP3's own x gives E[x_i·y] = r_i: the same up to a constant
    that all weights share and the softmax does not see.)

    κ → 0: c is one facet, drawn with π, and x → 1[a]/π − 1. κ = 0 leaves out that −1, and is EXP3 pull for
    pull: the draw of `policy.draw` with the same number, and its credit 1[a]/π.
    κ = ∞: c = π, which varies nothing and therefore teaches nothing; it needs no random draw.
    """
    if not kappa >= 0:
        raise ValueError(f"kappa must be at least 0, not {kappa}")
    if kappa == 0:
        pull = draw(probs, rng)
        return Composition(frozen(np.eye(probs.size)[pull.arm]), pull.credit)
    if math.isinf(kappa):
        return Composition(probs, ())
    drawable = np.flatnonzero(probs)  # a share of 0 stays 0, and earns nothing
    shares = np.zeros(probs.size)
    shares[drawable] = rng.dirichlet(kappa * probs[drawable])
    gain = (kappa + 1) * (shares[drawable] / probs[drawable] - 1)
    credit = tuple(zip(drawable.tolist(), gain.tolist(), strict=True))
    return Composition(frozen(shares), credit)
