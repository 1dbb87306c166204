"""Figures, made with plotly: what they share, and the evolution of the arm probabilities."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

POINTS = 1000  # more than a screen can show; longer runs are thinned to this many
TOP = 10  # facets with a line of their own where there are many; the rest is "other"

# Readable on white and on near-black. A colour means one thing on a page: a facet, a run, or (browns) a part
# of the time, so the three have no colour in common. There are few of each, as nobody can tell more apart.
COLOURS = (
    "#3b82d6",
    "#e07b29",
    "#2a9d74",
    "#d1477a",
    "#8b6ad6",
    "#1aa0b8",
    "#c9503c",
    "#6d9a2d",
)  # of facets
# of runs; the first, grey, is the baseline's
RUN_COLOURS = ("#6b7785", "#c026d3", "#c9a100", "#22b422", "#4b4bff", "#e60026")
# of parts of the time
PART_COLOURS = ("#5a3a1c", "#7a5632", "#99754c", "#a9855b", "#b89a73", "#cbb08d", "#dccab0", "#ebe1d1")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
OTHER = "#b0b7bf"  # the mean of facets without a line of their own

Style = Mapping[str, dict[str, str]]  # facet -> colour and dash of its line


def line_styles(ranked: Sequence[str]) -> dict[str, dict[str, str]]:
    """A colour and a dash for each facet, most drawn first, the same in every figure of a page."""
    return {
        name: {"color": COLOURS[rank % len(COLOURS)], "dash": DASHES[rank // len(COLOURS) % len(DASHES)]}
        for rank, name in enumerate(ranked)
    }


def text(name: str) -> str:
    """A name for plotly, which would read <b>, <i> and <a> in it as markup."""
    return html.escape(name, quote=False)


def curve(x: npt.ArrayLike, y: npt.ArrayLike, name: str, line: Mapping[str, Any], **meta: Any) -> go.Scatter:
    """One line; `meta` says what it shows (facet, label, seconds)."""
    return go.Scatter(
        x=np.asarray(x, dtype=np.float32),
        y=np.asarray(y, dtype=np.float32),
        name=text(name),
        mode="lines",
        line={"width": 2, **line},
        meta={"label": name, **meta},
    )


def framed(traces: Sequence[Any], *, x: str, y: str, title: str | None = None, **layout: Any) -> go.Figure:
    """The look that all figures share."""
    figure = go.Figure(list(traces))
    figure.update_layout(
        template="plotly_white",
        hovermode="x unified",
        xaxis={"title": {"text": x, "standoff": 8}, "rangemode": "tozero", "showgrid": bool(x)},
        yaxis={"title": {"text": y, "standoff": 8}, "rangemode": "tozero", "exponentformat": "e"},
        legend={"orientation": "h", "y": -0.2},
        margin={"l": 52, "r": 16, "t": 50 if title else 16, "b": 44 if x else 26},
        title={"text": title} if title else None,
    )
    figure.update_layout(**layout)
    return figure


def probs_figure(
    steps: Sequence[int] | npt.NDArray[np.int64],
    probs: npt.NDArray[np.float64],
    facets: Sequence[str],
    styles: Style | None = None,
    seconds: npt.NDArray[np.float64] | None = None,
) -> go.Figure:
    """Evolution of the arm probabilities (paper, appendix D); probs [points, facets]."""
    chosen = thinned(len(probs))
    x = np.asarray(steps)[chosen]
    look = styles or line_styles(facets)
    time = {} if seconds is None else {"seconds": seconds[chosen].astype(np.float32)}
    traces = [
        curve(x, probs[chosen, arm], name, look[name], facet=name, **time) for arm, name in enumerate(facets)
    ]
    title = None if styles else "Probability of each facet"
    return framed(traces, x="step", y="π", title=title)


def thinned(points: int) -> npt.NDArray[np.int64]:
    """Indices of at most POINTS evenly spaced points, including the last."""
    return np.unique(np.linspace(0, points - 1, min(points, POINTS)).round().astype(np.int64))


def write_figure(figure: go.Figure, path: Path) -> None:
    """One self-contained HTML page, with plotly's script inside: it opens without a network."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs=True, full_html=True)


def in_order(value: object) -> tuple[bool, float, str]:
    """Numbers by their size, then other values by their text."""
    return (False, float(value), "") if isinstance(value, int | float) else (True, 0.0, str(value))


def trials_figure(keys: Sequence[str], trials: Sequence[tuple[Mapping[str, object], float]]) -> go.Figure:
    """Score of every trial of a search over the first key; one line for each setting of the others."""
    first = sorted({settings.get(keys[0]) for settings, _ in trials}, key=in_order)
    groups: dict[str, list[tuple[int, float]]] = {}
    for settings, score in trials:
        rest = ", ".join(f"{key.rsplit('.', 1)[-1]} {settings.get(key)}" for key in keys[1:])
        groups.setdefault(text(rest), []).append((first.index(settings.get(keys[0])), score))
    order = [text(str(value)) for value in first]
    figure = go.Figure(
        [
            go.Scatter(
                x=[order[index] for index, _ in sorted(rows)],
                y=[score for _, score in sorted(rows)],
                mode="lines+markers",
                name=name,
            )
            for name, rows in sorted(groups.items())
        ]
    )
    figure.update_layout(
        title="Dev BLEU of the trials",
        xaxis_title=text(keys[0]),
        yaxis_title="dev BLEU",
        template="plotly_white",
    )
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=order)
    return figure
