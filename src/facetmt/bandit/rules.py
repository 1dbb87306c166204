"""The rules of `auto`: what each kind of evidence says about the log of every facet's share.

Each is a pure function of estimates and their errors. A *target* is where a log factor should be; a *drift*
is how fast it should move per e-fold of training.
"""

from __future__ import annotations

import math

import numpy as np

from facetmt.bandit.evidence import Estimate, Values, shrunk

SURE = 1.5  # standard errors that a difference must have before it is acted on
LOWEST = math.log(0.02)  # no kind of evidence takes more than 98 % of a share: it may yet change
LEAST_SLOPE = 0.1  # of the mean: a facet that stands still keeps this part of its share
USEFUL = 0.3  # of the median source use of the facets that count: the least that honest text has
SUSPECT = 1 / 4  # odds that text is useless before anything is known of it
MARGIN = 1.0  # log of a likelihood ratio that is no evidence yet
LARGEST = 1.0  # of the mean: an alignment that differs by more makes shares move no faster
REPEATED = 4.0  # epochs that are as good as new text (Muennighoff et al. 2023)
FADING = 15.0  # epochs beyond them in which text loses an e-fold of its worth (likewise)


def slope_target(slopes: Estimate, counts: Values) -> Values | None:
    """If L_k = c − a_k·ln n_k − b_k·ln N, the best shares are ∝ v_k·a_k; s_k = a_k + b_k stands in."""
    mean, apart = shrunk(slopes, counts)
    if mean <= SURE * typical_error(slopes, counts):
        return None  # nothing is being learned that could be compared
    with np.errstate(divide="ignore"):
        wanted = np.log(np.maximum(1.0 + apart / mean, LEAST_SLOPE)) + np.log(counts)
    target: Values = counts * np.where(counts > 0, wanted, 0.0)  # what counts little is little moved
    return target


def use_target(use: Estimate, counts: Values) -> Values:
    """f = P(honest | u)/P(honest), where honest text has u ≥ c = 0.3·median and useless text has 0.

    log[p(u | 0)/p(u | c)] = (c²/2 − u·c)/σ².
    """
    median, error = usual_use(use, counts)
    weakest = USEFUL * max(median, 0.0)
    variance = np.where(use.known, use.error, math.inf) ** 2 + (USEFUL * error) ** 2
    ratio = (weakest * weakest / 2 - use.value * weakest) / np.maximum(variance, 1e-12)
    useless = np.exp(np.clip(ratio - MARGIN, 0.0, 50.0))
    target: Values = np.maximum(np.log1p(SUSPECT) - np.log1p(SUSPECT * useless), LOWEST)
    return target


def usual_use(use: Estimate, counts: Values) -> tuple[float, float]:
    """Median source use of the facets that count, and its error."""
    counting = use.known & (counts > 0)
    if not counting.any():
        return 0.0, 0.0
    error = 1.25 * float(np.sqrt(np.mean(use.error[counting] ** 2) / counting.sum()))
    return float(np.median(use.value[counting])), error


def alignment_drift(alignment: Estimate, helps: Estimate, counts: Values) -> Values | None:
    """z − 1 with z = r/mean; facets that count go together."""
    if helps.value[0] <= SURE * helps.error[0]:
        return None
    _, apart = shrunk(alignment, np.ones(counts.size))
    z = np.clip(apart / helps.value[0], -LARGEST, LARGEST)
    z = (1.0 - counts) * z + counts * float(counts @ z) / counts.sum()
    drift: Values = z - z.mean()
    return drift


def overfitting_drift(slopes: Estimate, epochs: Values) -> Values:
    """Down where a dev loss rises while its text repeats, up where it falls, as far as that is sure."""
    error = SURE * np.where(slopes.known, slopes.error, 0.0)
    sure = slopes.known & (np.abs(slopes.value) > error)
    trust = np.where(sure, 1.0 - (error / np.where(sure, slopes.value, 1.0)) ** 2, 0.0)
    drift: Values = np.where(slopes.value > 0, trust, np.where(epochs > REPEATED, -trust, 0.0))
    return drift


def worn(epochs: Values) -> Values:
    """What repeated text has lost of its worth."""
    lost: Values = np.maximum(-np.maximum(epochs - REPEATED, 0.0) / FADING, LOWEST)
    return lost


def typical_error(estimate: Estimate, weights: Values) -> float:
    """Standard error of the weighted mean."""
    weights = np.where(estimate.known, weights, 0.0)
    if not weights.any():
        return math.inf
    error = np.where(estimate.known, estimate.error, 0.0)
    return float(np.sqrt(weights**2 @ error**2)) / float(weights.sum())
