"""The run directory of another training loop: `facetmt report`, `compare` and `replay` read it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from facetmt.adapters.draws import FacetDraws, State
from facetmt.bandit import REWARDS, FacetScheduler, Record
from facetmt.bandit.schedules import NOTHING, POLICIES
from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.runlog import FACETS, PULLS, RECIPE, SCORES, RunLog, SilentLog

UNSIGNED = "as given by the training loop"
HEAD = "# Trained by a loop of its own; what facetmt decided there:\n"


class FacetLog:
    """Logs every batch, and every `every` batches where training stands. Only rank 0 writes.

    Save `state_dict` with the model: what is logged after it is dropped when it is loaded.
    """

    def __init__(
        self, directory: str | Path, batches: FacetDraws, *, steps: int, every: int = 50, seed: int = 1
    ) -> None:
        """`steps` is the number of batches of the whole training."""
        self._directory, self._batches, self._every = Path(directory), batches, every
        self._recipe = {
            "data": {"root": "."},
            "seed": seed,
            "schedule": schedule_of(batches.scheduler),
            "train": {"steps": steps, "log_every": every},
        }
        self._first = None if batches.used_batches else batches.scheduler.probs()
        self._log: RunLog | None = None
        self._since = time.perf_counter()
        self._losses: list[float] = []

    def __call__(self, record: Record, *, loss: float | None = None) -> None:
        """A batch was used: what `feedback` or `used` returned, and its training loss where that is known."""
        log = self._log or self._start()
        step = self._batches.used_batches
        log.pull(step, record.facet, (record.prob, record.before, record.after, record.raw, record.scaled))
        if loss is not None:
            self._losses.append(loss)
        if step % self._every == 0:
            self._point(log, step)

    @property
    def started(self) -> bool:
        return self._log is not None

    def state_dict(self) -> State:
        """How long the logs are, once they are safely on disk."""
        log = self._log or self._start()
        return {"position": log.position(), "seconds": self._seconds(), "losses": list(self._losses)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue the logs as they were when the state was saved."""
        self.close()
        self._since = time.perf_counter() - float(state["seconds"])
        self._losses = [float(loss) for loss in state["losses"]]
        if self._batches.rank:
            self._log = SilentLog()
            return
        if not (self._directory / PULLS).is_file():
            raise UserError(f"{self._directory}: the logs to continue are missing; restore them from a copy")
        self._log = RunLog(self._directory, self._batches.scheduler.facets, fresh=False)
        self._log.cut(state["position"])

    def scores(
        self, facets: Mapping[str, Mapping[str, float]], signature: Mapping[str, str] | None = None
    ) -> None:
        """Test scores of each facet, `bleu` and `chrf`, for `facetmt compare`; `signature` says for each of
        the two how it was computed."""
        if self._batches.rank:
            return
        if not facets or any(set(row) != {"bleu", "chrf"} for row in facets.values()):
            raise ValueError("give bleu and chrf of each facet")
        average = {kind: sum(row[kind] for row in facets.values()) / len(facets) for kind in ("bleu", "chrf")}
        signed = {**dict.fromkeys(average, UNSIGNED), **(signature or {})}
        content = {"facets": facets, "average": average, "signature": signed}
        write_whole(self._directory / SCORES, json.dumps(content, indent=1, ensure_ascii=False))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write out what is buffered; a `with` does so at its end."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _start(self) -> RunLog:
        """New logs, with π before the first batch."""
        if self._batches.rank:
            self._log = SilentLog()
            return self._log
        if (self._directory / PULLS).exists():
            raise UserError(
                f"{self._directory}: the logs of another training are there; load the state that was saved "
                "with them, or give another folder"
            )
        scheduler = self._batches.scheduler
        self._directory.mkdir(parents=True, exist_ok=True)
        sizes = {name: {"train": size} for name, size in self._batches.sizes().items()}
        write_whole(self._directory / FACETS, json.dumps(sizes, indent=1, ensure_ascii=False))
        recipe = json.dumps(self._recipe, indent=1, ensure_ascii=False)  # JSON is YAML, and needs no package
        write_whole(self._directory / RECIPE, f"{HEAD}{recipe}\n")
        self._log = RunLog(self._directory, scheduler.facets, fresh=True)
        if self._first is not None:
            self._log.probs(0, self._first)
        return self._log

    def _seconds(self) -> float:
        return time.perf_counter() - self._since

    def _point(self, log: RunLog, step: int) -> None:
        scheduler = self._batches.scheduler
        log.metrics(
            {
                "step": step,
                "seconds": round(self._seconds(), 3),
                "loss": sum(self._losses) / len(self._losses) if self._losses else None,
                "epochs": {name: round(value, 4) for name, value in self._batches.epochs().items()},
                "health": asdict(scheduler.health()),
            }
        )
        log.probs(step, scheduler.probs())
        log.flush()
        self._losses = []


def schedule_of(scheduler: FacetScheduler) -> State:
    """The `schedule` section of a recipe that describes a scheduler; ValueError where none can."""
    policy, scaler = scheduler.policy, scheduler.scaler
    kind = str(policy.state().get("kind"))
    if kind not in POLICIES:
        raise ValueError(f"the log needs a policy of facetmt ({', '.join(POLICIES)}), not {kind!r}")
    if scheduler.reward_name not in REWARDS:
        raise ValueError(f"the log needs one of the rewards {', '.join(REWARDS)} by name")
    schedule: State = {
        "policy": kind,
        "reward": scheduler.reward_name,
        "window": scaler.window,
        "low": scaler.low,
        "high": scaler.high,
        "batches": "homogeneous" if scheduler.rows is None else "mixed",
    }
    rates = {key: getattr(policy, key, None) for key in ("learning_rate", "exploration")}
    schedule |= {key: value for key, value in rates.items() if value is not None}
    if scheduler.rows is not None and math.isfinite(scheduler.kappa):
        schedule["kappa"] = scheduler.kappa
    if POLICIES[kind].signal == NOTHING:  # such shares never change
        shares = zip(scheduler.facets, policy.probs().tolist(), strict=True)
        schedule |= {"policy": "static", "shares": dict(shares)}
    return schedule
