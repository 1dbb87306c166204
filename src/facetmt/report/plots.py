"""Figures, made with plotly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

POINTS = 1000  # more than a screen can show; longer runs are thinned to this many


def probs_figure(
    steps: Sequence[int] | npt.NDArray[np.int64], probs: npt.NDArray[np.float64], facets: Sequence[str]
) -> go.Figure:
    """Evolution of the arm probabilities (paper, appendix D); probs [points, facets]."""
    chosen = thinned(len(probs))
    x = np.asarray(steps)[chosen]
    figure = go.Figure(
        [go.Scatter(x=x, y=probs[chosen, arm], mode="lines", name=name) for arm, name in enumerate(facets)]
    )
    figure.update_layout(
        title="Probability of each facet",
        xaxis_title="step",
        yaxis_title="π",
        yaxis_rangemode="tozero",
        hovermode="x unified",
        template="plotly_white",
    )
    return figure


def thinned(points: int) -> npt.NDArray[np.int64]:
    """Indices of at most POINTS evenly spaced points, the last one among them."""
    return np.unique(np.linspace(0, points - 1, min(points, POINTS)).round().astype(np.int64))


def write_figure(figure: go.Figure, path: Path) -> None:
    """One self-contained HTML page, plotly's script inside: it opens without a network."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs=True, full_html=True)
