"""UniMax (Chung et al. 2023): uniform shares, but nobody is repeated more than a few times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from facetmt.bandit.policy import Probs, State, Static, check_kind, checked_probs, frozen


def unimax_probs(
    tokens: Sequence[float] | npt.NDArray[Any],
    budget: float,
    cap: float = 10.0,
    weights: Sequence[float] | npt.NDArray[Any] | None = None,
) -> Probs:
    """Shares of `budget` training tokens, as even as `cap` epochs of each facet's `tokens` allow.

    Facet i gets min(cap·tokens_i, an even part of what is left) of the budget, the smallest facet first;
    with `weights`, a part in proportion to its weight.
    Where the budget is more than cap epochs of everything, shares are in proportion to size.
    """
    sizes = np.asarray(tokens, dtype=np.float64)
    parts = np.ones(sizes.size) if weights is None else np.asarray(weights, dtype=np.float64)
    if sizes.ndim != 1 or sizes.size == 0 or not np.all(np.isfinite(sizes)) or np.any(sizes <= 0):
        raise ValueError("tokens must be a non-empty list of positive finite numbers")
    if parts.shape != sizes.shape or not np.all(np.isfinite(parts)) or np.any(parts <= 0):
        raise ValueError("weights must be positive finite numbers, one per facet")
    if not (budget > 0 and np.isfinite(budget) and cap > 0):
        raise ValueError(f"budget and cap must be positive, not {budget} and {cap}")
    given = np.empty(sizes.size)
    left, order = float(budget), np.argsort(sizes / parts, kind="stable")
    for place, facet in enumerate(order):
        given[facet] = min(cap * sizes[facet], left * parts[facet] / parts[order[place:]].sum())
        left -= given[facet]
    shares: Probs = given / given.sum()
    return shares


class Unimax(Static):
    """Fixed shares that depend on the planned length; a run given more steps keeps its first shares."""

    kind = "unimax"

    def state(self) -> State:
        return {"kind": self.kind, "probs": self._probs.tolist()}

    def restore(self, state: Mapping[str, Any], arms: Sequence[int | None]) -> None:
        check_kind(state, self.kind)
        # with other facets the shares are planned again
        if None not in arms and len(state["probs"]) == len(arms):
            self._probs = frozen(checked_probs([state["probs"][arm] for arm in arms if arm is not None]))
