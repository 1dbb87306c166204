"""Figures for papers: SVG, PDF or PNG files, drawn by plotly through a headless browser (kaleido)."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from facetmt.errors import UserError
from facetmt.report.digest import digests
from facetmt.report.figures.charts import all_figures, described, ranked_facets
from facetmt.report.figures.plots import OTHER, TOP, curve, line_styles, text
from facetmt.runlog import Run

FORMATS = ("svg", "pdf", "png")
SIZE = {"width": 760, "height": 420, "scale": 2}  # scale matters for PNG: 1,520 pixels wide
FONT = {"family": "Helvetica, Arial, sans-serif", "size": 14, "color": "#222222"}


def write_figures(runs: Sequence[Path], directory: Path, format: str = "svg") -> list[Path]:
    """Write every figure of the report into a folder; needs the extra `figures` and Chrome or Chromium."""
    if format not in FORMATS:
        raise UserError(f"there is no figure format {format}; choose one of {', '.join(FORMATS)}")
    kaleido = load_kaleido()
    directory.mkdir(parents=True, exist_ok=True)
    jobs = [
        {"fig": figure, "path": directory / f"{name}.{format}", "opts": {"format": format, **SIZE}}
        for name, figure in paper_figures([Run(Path(run)) for run in runs])
    ]
    try:
        # mathjax=False: kaleido would otherwise fetch it from the network
        kaleido.write_fig_from_object_sync(jobs, kopts={"mathjax": False})
    except Exception as error:  # kaleido's and its browser driver's errors share no base class
        raise UserError(
            f"{directory}: the figures could not be drawn ({type(error).__name__}); install Chrome or "
            "Chromium, or set BROWSER_PATH to its path"
        ) from error
    return [job["path"] for job in jobs]


def load_kaleido() -> Any:
    try:
        return importlib.import_module("kaleido")
    except ImportError:
        raise UserError(
            "figures as files need kaleido; install it with: pip install 'facetmt[figures]'"
        ) from None


def paper_figures(runs: Sequence[Run]) -> Iterator[tuple[str, go.Figure]]:
    """(file name, figure) of everything that the report draws, each with its own title and legend."""
    seen = digests(runs)
    facets = ranked_facets(seen)
    shown = facets[:TOP] if len(facets) > 2 * TOP else facets
    for key, value in all_figures(seen, facets, line_styles(facets)).items():
        several = isinstance(value, list)
        for index, figure in enumerate(value if several else [value]):
            if figure is not None:
                name = f"{key}-{file_name(seen[index].name)}" if several else key
                about = described(key, [seen[index]] if several else seen)
                title = about.title + (f": {seen[index].name}" if several and len(seen) > 1 else "")
                yield name, for_paper(figure, title, shown)


def file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"


def for_paper(figure: go.Figure, title: str, shown: Sequence[str]) -> go.Figure:
    """With a title and plotly's own legend; of many facets, the most drawn and the mean of the others."""
    traces = [trace for trace in figure.data if not (trace.meta and "facet" in trace.meta)]
    lines = [trace for trace in figure.data if trace.meta and "facet" in trace.meta]
    kept = [trace for trace in lines if trace.meta["facet"] in shown]
    rest = [trace for trace in lines if trace.meta["facet"] not in shown]
    if rest:
        values = np.ma.masked_invalid(np.stack([trace.y for trace in rest]))  # [facets, points]
        mean = values.mean(axis=0).filled(np.nan)
        look = {"color": OTHER, "dash": "dot"}
        kept.append(curve(rest[0].x, mean, f"mean of {len(rest)} others", look))
    paper = go.Figure([*traces, *kept], figure.layout)
    for trace in paper.data:
        if trace.meta and "bars" in trace.meta:
            places = [index for index, facet in enumerate(trace.meta["bars"]) if facet in shown]
            trace.update(x=[trace.x[index] for index in places], y=[trace.y[index] for index in places])
    return paper.update_layout(
        title={"text": text(title), "x": 0.01, "font": {"size": 16}},
        font=FONT,
        margin={"t": 48, "b": 90},
        showlegend=len(paper.data) > 1,
        legend={"traceorder": "normal"},
    )
