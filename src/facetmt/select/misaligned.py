"""How much of a text is misaligned: its scores beside those of pairs that are wrong for certain."""

from __future__ import annotations

import numpy as np

from facetmt.select.shards import Floats

MOST = 0.9  # of the wrong pairs score below the limit, and hardly any right one if the model is good


def misaligned_share(values: Floats) -> float:
    """π = P(score ≤ t) / P(score of a wrong pair ≤ t), the mean over directions: [D, P, 2] -> share.

    Too high by the right pairs below t (a weak model), too low by the wrong ones that the model learned.
    """
    shares = []
    for scores, wrong in values.transpose(0, 2, 1):
        scores, wrong = scores[np.isfinite(scores)], wrong[np.isfinite(wrong)]
        if len(scores) and len(wrong):
            limit = np.quantile(wrong, MOST)
            shares.append(min(1.0, float(np.mean(scores <= limit) / np.mean(wrong <= limit))))
    return float(np.mean(shares)) if shares else 0.0
