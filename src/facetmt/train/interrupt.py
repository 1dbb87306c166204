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
    """Turns the two signals into a flag, inside a `with`. A second signal changes nothing.

    One inside another takes over what the outer one was asked, and hands back what it was asked itself.
    """

    SIGNALS = (signal.SIGTERM, signal.SIGINT)

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> Self:
        self._former = {number: signal.signal(number, self._handle) for number in self.SIGNALS}
        self.asked = self.asked or any(outer.asked for outer in self._outer())
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)
        for outer in self._outer():
            outer.asked = outer.asked or self.asked

    def _outer(self) -> list[Interrupt]:
        owners = [getattr(handler, "__self__", None) for handler in self._former.values()]
        return [owner for owner in owners if isinstance(owner, Interrupt)]

    def check(self) -> None:
        """Leave from here if a signal came."""
        if self.asked:
            raise Interrupted

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
