"""Numbers and names in words."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 5  # names that a sentence lists


def signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def apart(first: float, second: float) -> tuple[str, str]:
    """Two scores with as many decimals as it takes to tell them apart."""
    for decimals in range(1, 7):
        shown = f"{first:.{decimals}f}", f"{second:.{decimals}f}"
        if shown[0] != shown[1]:
            break
    return shown


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def listed(names: Sequence[str]) -> str:
    """The first few names, and the number of the others."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
