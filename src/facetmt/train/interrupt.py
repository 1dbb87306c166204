"""SIGTERM and SIGINT: the handler sets a flag, and the loop leaves at the next safe place."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Self

EXIT_CODE = 75  # "try again later": everything is saved, and work can continue
Check = Callable[[], None]  # called where it is safe to stop; raises Interrupted if a signal came


class Interrupted(Exception):
    """Raised where it is safe to stop; the state is that of the last finished step."""


class Interrupt:
    """Turns the two signals into a flag, inside a `with`. A second signal changes nothing: saving continues."""

    SIGNALS = (signal.SIGTERM, signal.SIGINT)

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> Self:
        self._former = {number: signal.signal(number, self._handle) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Leave from here if a signal came."""
        if self.asked:
            raise Interrupted

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
