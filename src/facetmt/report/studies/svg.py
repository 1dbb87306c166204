"""Small plots as plain SVG: axes, lines, dots with error bars. The same bytes for the same figures."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

FONT = 'font-family="sans-serif" font-size="11"'
INK, GRID = "#333333", "#e3e6ea"
LETTER = 6.5  # width of a letter, at most
DASHES = {"solid": "", "dash": "6 3", "dot": "2 2", "dashdot": "6 3 2 3", "longdash": "10 4"}


@dataclass(frozen=True)
class Line:
    """A curve and its name in the legend."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    dash: str = "solid"


@dataclass(frozen=True)
class Frame:
    """Where the axes of a panel are, and what they show."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]  # lowest and highest value
    y: tuple[float, float]

    def across(self, value: float) -> float:
        return self.left + self.width * (value - self.x[0]) / (self.x[1] - self.x[0])

    def down(self, value: float) -> float:
        return self.top + self.height * (self.y[1] - value) / (self.y[1] - self.y[0])


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers between two values."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def spanned(values: Sequence[float], *, zero: bool = False) -> tuple[float, float]:
    """From the lowest to the highest value with some room; never empty."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    low = min(low, 0.0) if zero else low
    room = 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    return (low if zero else low - room), high + room


def shown(value: float) -> str:
    """A tick's label, without an exponent or a minus zero."""
    text = f"{value:,.10g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return "0" if text == "-0" else text


def text(x: float, y: float, words: str, anchor: str = "start", extra: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}" {FONT}{extra}>'
        f"{html.escape(words)}</text>"
    )


def segment(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.0) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width:g}"/>'
    )


def axes(frame: Frame, title: str, x_label: str, y_label: str) -> list[str]:
    """Grid, ticks and labels; an empty label leaves out its ticks."""
    right, bottom = frame.left + frame.width, frame.top + frame.height
    parts = [text(frame.left, frame.top - 10, title, extra=' font-weight="bold"')] if title else []
    for value in ticks(*frame.y) if y_label else ():
        y = frame.down(value)
        parts += [segment(frame.left, y, right, y, GRID), text(frame.left - 6, y + 4, shown(value), "end")]
    for value in ticks(*frame.x) if x_label else ():
        x = frame.across(value)
        parts += [segment(x, frame.top, x, bottom, GRID), text(x, bottom + 15, shown(value), "middle")]
    parts.append(segment(frame.left, bottom, right, bottom, INK))
    parts.append(segment(frame.left, frame.top, frame.left, bottom, INK))
    if x_label:
        parts.append(text(frame.left + frame.width / 2, bottom + 31, x_label, "middle"))
    if y_label:
        x, y = frame.left - 44, frame.top + frame.height / 2
        parts.append(text(x, y, y_label, "middle", f' transform="rotate(-90 {x:.1f} {y:.1f})"'))
    return parts


def curve(frame: Frame, line: Line) -> str:
    points = " ".join(
        f"{frame.across(x):.1f},{frame.down(y):.1f}" for x, y in zip(line.x, line.y, strict=True)
    )
    return f'<polyline points="{points}" fill="none" {stroke(line.colour, line.dash)}/>'


def stroke(colour: str, dash: str) -> str:
    pattern = f' stroke-dasharray="{DASHES[dash]}"' if DASHES[dash] else ""
    return f'stroke="{colour}" stroke-width="1.6"{pattern}'


def legend(lines: Sequence[Line], x: float, y: float) -> list[str]:
    """One name below the other."""
    parts = []
    for index, line in enumerate(lines):
        height = y + 16 * index
        parts.append(
            f'<line x1="{x:.1f}" y1="{height:.1f}" x2="{x + 22:.1f}" y2="{height:.1f}" '
            f"{stroke(line.colour, line.dash)}/>"
        )
        parts.append(text(x + 28, height + 4, line.name))
    return parts


def room_for(names: Sequence[str]) -> float:
    """The width that names need beside a panel, with the line before them."""
    return 50.0 + LETTER * max(map(len, names), default=0)


def dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'


def document(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    """A whole file; `label` is read out to those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{html.escape(label)}">\n'
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
