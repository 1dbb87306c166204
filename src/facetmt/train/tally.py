"""What a run counts: steps, time, scores so far. All of it is in the checkpoint."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from jax import Array

from facetmt.bandit import Pull
from facetmt.errors import UserError
from facetmt.train.step import Metrics, read_metrics

KINDS_OF_WORK = ("compile", "train", "input", "probe", "validate", "save")


class Pending(NamedTuple):
    """A step whose reward is not fed back yet."""

    step: int
    pull: Pull
    values: Metrics | Array  # what `read_metrics` reads, until it was read

    def metrics(self) -> Metrics:
        """Its figures; this waits for the step."""
        return self.values if isinstance(self.values, Metrics) else read_metrics(self.values)


@dataclass
class Tally:
    """Where the run stands."""

    step: int = 0
    validated: int = 0  # step of the last validation
    saved: int = -1  # step of the last checkpoint
    stale: int = 0  # validations since the best one
    best: list[tuple[float, int]] = field(default_factory=list)  # (dev BLEU, step), best first
    seconds: float = 0.0  # wall-clock of all sessions of the run
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS_OF_WORK, 0.0))
    pending: list[Pending] = field(default_factory=list)  # the oldest first
    news: list[str] = field(default_factory=list)  # sentences since the last log point

    def rank(self, score: float, keep: int) -> bool:
        """Take a validation's score; True if it is the best so far (the earlier of equals stays best)."""
        ranked = sorted([*self.best, (score, self.step)], key=lambda pair: (-pair[0], pair[1]))
        self.best = ranked[:keep]
        improved = self.best[0][1] == self.step
        self.stale = 0 if improved else self.stale + 1
        return improved

    def state(self) -> dict[str, Any]:
        pending = [
            [
                one.step,
                one.pull.arm,
                one.pull.prob,
                {**one.metrics()._asdict(), "dev_loss": [], "dev_tokens": []},
                one.pull.rows,
                one.pull.shared,
            ]
            for one in self.pending
        ]
        return {**vars(self), "pending": pending}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Tally:
        """As saved; a missing count must not silently restart at 0."""
        if differ := sorted({one.name for one in fields(cls)} - {"news"} ^ set(state) - {"news"}):
            raise UserError(
                f"the checkpoint's counts are not those of this version ({', '.join(differ)}); "
                "resume with the version that saved it, or start a new run"
            )
        pending = [pending_of(*row) for row in state["pending"]]
        best = [(float(score), int(step)) for score, step in state["best"]]
        spent = {**dict.fromkeys(KINDS_OF_WORK, 0.0), **state["spent"]}  # 0.1.0 counted compiling as training
        return cls(**{**state, "pending": pending, "best": best, "spent": spent})


def pending_of(
    step: int,
    arm: int,
    prob: float,
    metrics: Mapping[str, Any],
    rows: Sequence[int] | None = None,
    shared: Sequence[tuple[int, float]] = (),
) -> Pending:
    """As `Tally.state` wrote it; version 0.1.0 had no compositions."""
    credit = tuple((int(facet), float(x)) for facet, x in shared)
    pull = Pull(int(arm), float(prob), None if rows is None else tuple(rows), credit)
    return Pending(int(step), pull, Metrics(**metrics))


class Clock:
    """Wall-clock of the run across sessions, and what it was spent on."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._offset = tally.seconds - time.perf_counter()

    def seconds(self) -> float:
        return time.perf_counter() + self._offset

    @contextmanager
    def spend(self, kind: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self._tally.spent[kind] += time.perf_counter() - start


class Window:
    """Means since the last log point."""

    def __init__(self, tally: Tally) -> None:
        self._tally, self._start = tally, tally.spent["train"]
        self._loss = self._tokens = 0.0
        self._filled = self._room = self._steps = 0
        self._last: Metrics | None = None

    def add_batch(self, tokens: int, room: int) -> None:
        """`tokens` of the batch's room on both sides are not padding."""
        self._steps += 1
        self._filled += tokens
        self._room += room

    def add_metrics(self, metrics: Metrics) -> None:
        if metrics.finite:
            self._loss += metrics.loss * metrics.tokens
            self._tokens += metrics.tokens
        self._last = metrics

    def step_seconds(self) -> float:
        """Mean duration of a step."""
        return (self._tally.spent["train"] - self._start) / max(1, self._steps)

    def summary(self) -> dict[str, Any]:
        """Loss per token, target tokens per second, rate, gradient norm, share of padding."""
        elapsed = max(self._tally.spent["train"] - self._start, 1e-9)
        last = self._last
        return {
            "loss": self._loss / self._tokens if self._tokens else None,
            "tokens_per_second": round(self._tokens / elapsed, 1),
            "lr": last.learning_rate if last else None,
            "gradient_norm": last.gradient_norm if last else None,
            "padding": round(1 - self._filled / self._room, 4) if self._room else None,
            "skipped_in_row": last.skipped_in_row if last else 0,
        }
