"""The heat map of what training on each facet does for the dev loss of each."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from facetmt.report.digest import Digest
from facetmt.report.figures.plots import framed, text
from facetmt.report.transfer import amount, read_transfer

LABELLED = 16  # columns up to which the figures fit into the cells
# below the average, the average, above it; readable on white and on near-black
SCALE = [[0.0, "#c9503c"], [0.5, "#d9dde2"], [1.0, "#2f6fbd"]]


def transfer(run: Digest) -> go.Figure | None:
    """A[k, j] relative to the mean of each row; a cell says how sure it is."""
    found = read_transfer(run.logs)
    if found is None:
        return None
    known = np.isfinite(found.matrix)
    values = [
        [round(value, 6) if there else None for value, there in zip(row, seen, strict=True)]
        for row, seen in zip(found.matrix.tolist(), known.tolist(), strict=True)
    ]
    words = [
        [amount(value, error) if there else "unknown" for value, error, there in zip(*row, strict=True)]
        for row in zip(found.matrix.tolist(), found.errors.tolist(), known.tolist(), strict=True)
    ]
    reach = max(0.5, float(np.nanmax(np.abs(found.matrix - 1)))) if known.any() else 0.5
    labels = {"texttemplate": "%{z:.2f}"} if len(found.columns) <= LABELLED else {}
    trace = go.Heatmap(
        x=[text(name) for name in found.columns],
        y=[text(name) for name in found.rows],
        z=values,
        customdata=words,
        zmin=1 - reach,
        zmax=1 + reach,
        colorscale=SCALE,
        colorbar={"thickness": 12, "outlinewidth": 0},
        xgap=1,
        ygap=1,
        hovertemplate="dev loss of %{y}, training on %{x}: %{customdata}<extra></extra>",
        meta={"label": "effect"},
        **labels,
    )
    figure = framed([trace], x="training on", y="dev loss of", hovermode="closest")
    figure.update_xaxes(type="category", showgrid=False, rangemode="normal")
    figure.update_yaxes(type="category", autorange="reversed", rangemode="normal")
    return figure
