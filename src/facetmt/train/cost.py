"""What the reward's own passes cost: measured once a run, for they hide inside the one compiled step."""

from __future__ import annotations

import time
from typing import Any

import jax

from facetmt.train.session import Session
from facetmt.train.step import PASSES, make_facet_loss

REPEATS = 3


class RewardCost:
    """Times the reward's forward pass alone, on a batch of its real shape, at the first log point."""

    def __init__(self, session: Session, reward: str) -> None:
        self._session = session
        self._passes = PASSES[reward]
        self._batch: Any = None
        self._seconds: float | None = 0.0 if self._passes == "nothing" else None

    def show(self, batch: Any, dev: Any) -> None:
        """Remember the kind of batch that the reward looks at."""
        if self._batch is None and self._seconds is None:
            self._batch = batch if self._passes == "train" else dev

    def share(self, step_seconds: float) -> float:
        """Share of a step that goes to the reward."""
        if self._seconds is None:
            self._seconds = self._measure()
        return round(min(1.0, self._seconds / max(step_seconds, 1e-9)), 4)

    def _measure(self) -> float:
        session = self._session
        batch = self._batch
        if batch.source.ndim == 3:  # micro-batches: one is timed, and counts for all
            batch = jax.tree.map(lambda leaf: leaf[0], batch)
        forward = make_facet_loss(session.graph, len(session.prepared.facets))
        forward(session.state.params, batch).loss.block_until_ready()
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            forward(session.state.params, batch).loss.block_until_ready()
            times.append(time.perf_counter() - start)
        once = sorted(times)[REPEATS // 2] * (len(self._batch.source) if self._batch.source.ndim == 3 else 1)
        # a held dev batch needs its "before" only when it is new
        return once * (1 + 1 / session.recipe.train.dev_hold) if self._passes == "dev-both" else once
