"""Figures with bars: training by facet, effective epochs, where the time went."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from facetmt.bandit import temperature_probs
from facetmt.report.digest import Digest
from facetmt.report.figures.curves import run_colour
from facetmt.report.figures.plots import PART_COLOURS, framed, text
from facetmt.report.progress import PARTS, seconds_by_part
from facetmt.report.rewards import Floats

TAUS = {"proportional": 1.0, "τ = 5": 5.0, "uniform": np.inf}
SYMBOLS = {"proportional": "line-ew-open", "τ = 5": "diamond-open", "uniform": "circle-open"}


def on_facets(values: dict[str, float], facets: Sequence[str]) -> Floats:
    return np.array([values.get(name, np.nan) for name in facets], dtype=np.float64)


def facet_bars(runs: Sequence[Digest], facets: Sequence[str], field: str) -> list[go.Bar]:
    """One bar per facet and run."""
    bars = []
    for index, run in enumerate(runs):
        values = getattr(run, field)
        if values is None:
            continue
        known = dict(zip(run.facets, values.tolist(), strict=True))
        bars.append(
            go.Bar(
                x=[text(name) for name in facets],
                y=on_facets(known, facets).astype(np.float32),
                name=text(run.name),
                marker={"color": run_colour(index, runs)},
                meta={"label": run.name, "bars": list(facets)},
            )
        )
    return bars


def strategy_marks(names: Sequence[str], sizes: Floats, strategy: str, facets: Sequence[str]) -> go.Scatter:
    """Where the bars would end under a static strategy."""
    known = dict(zip(names, temperature_probs(sizes, TAUS[strategy]).tolist(), strict=True))
    return go.Scatter(
        x=[text(facet) for facet in facets],
        y=on_facets(known, facets).astype(np.float32),
        name=strategy,
        mode="markers",
        marker={"symbol": SYMBOLS[strategy], "size": 11, "color": "#5b6470", "line": {"width": 2}},
        meta={"label": strategy, "bars": list(facets), "ink": True},
    )


def training_shares(runs: Sequence[Digest], facets: Sequence[str]) -> go.Figure | None:
    """What each facet got of the training, against three static strategies (paper, figures 3 and 4)."""
    bars = facet_bars(runs, facets, "share")
    if not bars:
        return None
    sized = next(((run.facets, run.sizes) for run in runs if run.sizes is not None), None)
    marks = [strategy_marks(*sized, name, facets) for name in TAUS] if sized else []
    return framed(
        [*bars, *marks], x="", y="share of training", yaxis={"tickformat": "~%"}, barmode="group", bargap=0.25
    )


def effective_epochs(runs: Sequence[Digest], facets: Sequence[str]) -> go.Figure | None:
    """How often each pair of a facet was seen."""
    bars = facet_bars(runs, facets, "epochs")
    return framed(bars, x="", y="epochs", barmode="group", bargap=0.25) if bars else None


def costs(runs: Sequence[Digest]) -> go.Figure | None:
    """Where the wall-clock of each run went."""
    known = [(run.name, parts) for run in reversed(runs) if (parts := seconds_by_part(run))]
    if not known:
        return None
    bars = [
        go.Bar(
            y=[text(name) for name, _ in known],
            x=np.array([parts[part] / sum(parts.values()) for _, parts in known], dtype=np.float32),
            customdata=np.array([parts[part] / 60 for _, parts in known], dtype=np.float32),
            hovertemplate="%{x:.1%} (%{customdata:.1f} min)",
            name=part,
            orientation="h",
            marker={"color": colour},
            meta={"label": part},
        )
        for part, colour in zip(PARTS, PART_COLOURS, strict=True)
        if any(parts[part] > 0 for _, parts in known)
    ]
    return framed(
        bars,
        x="share of wall-clock",
        y="",
        barmode="stack",
        bargap=0.4,
        hovermode="closest",
        xaxis={"tickformat": "~%", "range": [0, 1]},
        yaxis={"automargin": True},
    )
