"""The page of a search: which setting is best, how each got there, and where its run is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import plotly.graph_objects as go

from facetmt.files import write_whole
from facetmt.report.figures.plots import COLOURS, curve, framed, trials_figure
from facetmt.report.page.headline import card
from facetmt.report.page.markup import Cell, chart, grid, number_cell, panel, row_html, safe, table_html
from facetmt.report.page.pack import Packer
from facetmt.report.page.render import document
from facetmt.report.progress import best_of
from facetmt.report.words import duration
from facetmt.runlog import RECIPE, REPORT, VALIDATION, Run


@dataclass(frozen=True)
class Tried:
    """A setting of a search, and its run directory, which exists once the run was started."""

    settings: Mapping[str, object]
    score: float | None  # best dev BLEU
    state: str
    run: Path

    @property
    def validation(self) -> list[dict[str, Any]]:
        """Its validations so far."""
        there = (self.run / RECIPE).is_file() and (self.run / VALIDATION).is_file()
        return Run(self.run).validation if there else []


def write_trials(keys: Sequence[str], tried: Sequence[Tried], out: Path) -> Path:
    """Write the page of these settings, given best first; it needs only a browser."""
    packer = Packer()
    charts = {"trials": scores_figure(keys, tried), "curves": curves_figure(keys, tried)}
    data = {
        "charts": {key: packer.figure(figure) for key, figure in charts.items()},
        "arrays": packer.arrays,
        "facets": [],
        "runs": [""],
        "run": 0,
        "seconds": 0,
        "reload": 0,
        "tag": "",
    }
    write_whole(out, document(out.parent.resolve().name, body(keys, tried, out), data))
    return out


def named(keys: Sequence[str], settings: Mapping[str, object]) -> str:
    """A setting in a few words."""
    return ", ".join(f"{key.rsplit('.', 1)[-1]} {settings.get(key)}" for key in keys)


def scores_figure(keys: Sequence[str], tried: Sequence[Tried]) -> go.Figure | None:
    """Best dev BLEU of every setting over the first key; one line for each value of the others."""
    rows = [(one.settings, one.score) for one in tried if one.score is not None]
    if not rows:
        return None
    figure = trials_figure(keys, rows)
    figure.update_layout(title=None, margin={"l": 52, "r": 16, "t": 16, "b": 44})
    for index, trace in enumerate(figure.data):
        trace.update(line={"color": COLOURS[index % len(COLOURS)]}, meta={"label": trace.name})
    return figure


def curves_figure(keys: Sequence[str], tried: Sequence[Tried]) -> go.Figure | None:
    """Dev BLEU of every setting over its steps."""
    traces = []
    for index, one in enumerate(tried):
        if rows := one.validation:
            steps, scores = [row["step"] for row in rows], [row["bleu"]["average"] for row in rows]
            line = {"color": COLOURS[index % len(COLOURS)]}
            traces.append(curve(steps, scores, named(keys, one.settings), line).update(mode="lines+markers"))
    return framed(traces, x="step", y="dev BLEU") if traces else None


def body(keys: Sequence[str], tried: Sequence[Tried], out: Path) -> str:
    """Headline, charts, and one row per setting."""
    states = [one.state for one in tried]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "none yet"
    best = next((one for one in tried if one.score is not None), None)
    cards = [card("Settings", f"{len(tried)}", counts)]
    if best is not None:
        score = f"{best.score:.2f}"
        cards = [
            card("Best setting", named(keys, best.settings), best.run.name, "name"),
            card("Its best dev BLEU", score, f"{best.state}; of the balanced dev set, not a test score"),
            *cards,
        ]
    charts = [
        chart(
            "trials",
            "Best dev BLEU",
            "One point per setting; higher is better.",
            "No setting has a score yet.",
        ),
        chart(
            "curves", "Dev BLEU", "One line per setting, over its training.", "No setting was validated yet."
        ),
    ]
    heads = [*map(safe, keys), "best dev BLEU", "at step", "steps", "time", "state", "run"]
    rows = [row_html(cells(keys, one, out)) for one in tried]
    hint = "Best first. For a full report: facetmt report RUN..."
    return (
        f'<header class="top"><p class="brand">facetmt</p><h1>{safe(out.parent.resolve().name)}</h1>'
        f'<p class="sub">a search over {safe(", ".join(keys))}</p></header><main>'
        f'<section class="cards">{"".join(cards)}</section><h2>Scores</h2>{grid(charts, 2)}'
        f"<h2>Settings</h2>{panel('Every setting', hint, table_html(heads, rows))}</main>"
    )


def cells(keys: Sequence[str], one: Tried, out: Path) -> list[Cell]:
    """A setting's row."""
    rows = one.validation
    best = best_of(rows)
    page = one.run / REPORT
    target = page if page.is_file() else one.run
    link = quote(target.relative_to(out.parent).as_posix()) if target.is_relative_to(out.parent) else ""
    name = safe(one.run.name)
    return [
        *(Cell(safe(one.settings.get(key))) for key in keys),
        number_cell(one.score),
        number_cell(None if best is None else best.step, "{:,.0f}"),
        number_cell(rows[-1]["step"] if rows else None, "{:,.0f}"),
        Cell(safe(duration(rows[-1]["seconds"])) if rows else "–"),
        Cell(safe(one.state), left=True),
        Cell(f'<a href="{safe(link)}">{name}</a>' if link else name, left=True),
    ]
