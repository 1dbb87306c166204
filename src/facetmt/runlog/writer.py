"""The writer of a run's logs."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TextIO, TypeVar

import numpy as np
import numpy.typing as npt

from facetmt.errors import UserError
from facetmt.runlog.names import METRICS, PROBS, PULL_COLUMNS, PULLS, VALIDATION

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _explained(
    write: Callable[Concatenate[RunLog, Given], Result],
) -> Callable[Concatenate[RunLog, Given], Result]:
    """Turn a full disk into one sentence, whichever write meets it."""

    @wraps(write)
    def explained(self: RunLog, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return write(self, *args, **kwargs)
        except OSError as error:
            raise UserError(
                f"cannot write the logs in {self.directory} ({error.strerror or error}); "
                "make room, then continue with --resume"
            ) from error

    return explained


class RunLog:
    """Writes the logs of a run. Each checkpoint holds their lengths; resuming cuts the logs back to them."""

    def __init__(self, directory: Path, facets: Sequence[str], *, fresh: bool) -> None:
        """`fresh` restarts the logs; otherwise they are continued, after `cut`."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, TextIO] = {
            name: (directory / name).open("w" if fresh else "a", encoding="utf-8", newline="")
            for name in (PULLS, PROBS, METRICS, VALIDATION)
        }
        self._pulls = csv.writer(self._files[PULLS], lineterminator="\n")
        self._probs = csv.writer(self._files[PROBS], lineterminator="\n")
        if fresh:
            self._pulls.writerow(PULL_COLUMNS)
            self._probs.writerow(("step", *facets))

    @_explained
    def pull(self, step: int, facet: str, values: Sequence[float]) -> None:
        """One step: `values` are prob, before, after, raw, scaled; NaN is left empty."""
        self._pulls.writerow((step, facet, *(_cell(value) for value in values)))

    @_explained
    def probs(self, step: int, probs: npt.NDArray[np.float64]) -> None:
        self._probs.writerow((step, *probs.tolist()))

    @_explained
    def metrics(self, row: Mapping[str, Any]) -> None:
        self._files[METRICS].write(json.dumps(_plain(row)) + "\n")

    @_explained
    def validation(self, row: Mapping[str, Any]) -> None:
        self._files[VALIDATION].write(json.dumps(_plain(row)) + "\n")

    @_explained
    def flush(self) -> None:
        """Let readers, such as a live report, see what was logged so far."""
        for file in self._files.values():
            file.flush()

    @_explained
    def position(self) -> dict[str, int]:
        """The length of each log in bytes, once it is safely on disk."""
        self.flush()
        for file in self._files.values():
            os.fsync(file.fileno())
        return {name: file.tell() for name, file in self._files.items()}

    def cut(self, position: Mapping[str, int]) -> None:
        """Drop what was logged after `position` was taken."""
        if missing := sorted(set(self._files) - set(position)):
            raise UserError(
                f"{self.directory / missing[0]}: the checkpoint does not record its length; delete that "
                "checkpoint to resume from an older one"
            )
        for name, length in position.items():
            file = self._files[name]
            if file.seek(0, os.SEEK_END) < length:
                raise UserError(
                    f"{self.directory / name}: shorter than when the checkpoint was saved; restore the log "
                    "from a copy, or start again in another run directory"
                )
            file.truncate(length)
            file.seek(0, os.SEEK_END)

    @_explained
    def close(self) -> None:
        with ExitStack() as stack:  # closes every file, even if one fails
            for file in self._files.values():
                stack.callback(file.close)


class SilentLog(RunLog):
    """For processes that leave the writing to the first one: takes everything, keeps nothing."""

    def __init__(self) -> None:
        self._files = {}

    def pull(self, step: int, facet: str, values: Sequence[float]) -> None:
        pass

    def probs(self, step: int, probs: npt.NDArray[np.float64]) -> None:
        pass

    def metrics(self, row: Mapping[str, Any]) -> None:
        pass

    def validation(self, row: Mapping[str, Any]) -> None:
        pass

    def cut(self, position: Mapping[str, int]) -> None:
        pass


def _cell(value: float) -> float | str:
    return value if math.isfinite(value) else ("" if math.isnan(value) else str(value))


def _plain(value: Any) -> Any:
    """JSON has no NaN: values that are not finite become null."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
