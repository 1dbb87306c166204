"""The plots of a study, from its summary alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facetmt.report.figures.plots import line_styles
from facetmt.report.studies.rows import Row, counting, few_count, mean_curve, rows_of
from facetmt.report.studies.svg import (
    GRID,
    INK,
    Frame,
    Line,
    axes,
    curve,
    document,
    dot,
    legend,
    room_for,
    segment,
    spanned,
    text,
)

Summary = dict[str, Any]
WIDE, HIGH = 480.0, 300.0  # of a panel
LEFT, TOP, BELOW = 60.0, 30.0, 40.0
SMALL, ACROSS = (250.0, 150.0), 3  # panels of shares
STILL = 0.005  # shares that never move more than this are a table's, not a plot's


def seeds_note(row: Row) -> str:
    count = len(row.cells)
    return f"{row.name} ({count} seed{'s' if count > 1 else ''})"


def dev_plot(summary: Summary, key: str, label: str) -> str | None:
    """The dev curves of all systems, each the mean over its seeds."""
    rows = rows_of(summary)
    styles = line_styles([row.name for row in rows])
    lines = []
    for row in rows:
        steps, values = mean_curve([cell["dev"]["curve"] for cell in row.cells], key)
        lines.append(
            Line(seeds_note(row), steps, values, styles[row.name]["color"], styles[row.name]["dash"])
        )
    drawn = [line for line in lines if len(line.x) > 1]
    if not drawn:
        return None
    x = (0.0, float(max(step for line in drawn for step in line.x)))
    y = spanned([value for line in drawn for value in line.y])
    height = max(HIGH, 16.0 * len(drawn))
    frame = Frame(LEFT, TOP, WIDE, height, x, y)
    parts = axes(frame, "", "step", label)
    parts += [curve(frame, line) for line in drawn]
    parts += legend(drawn, LEFT + WIDE + 14, TOP + 8)
    width = LEFT + WIDE + room_for([line.name for line in drawn])
    return document(width, TOP + height + BELOW, f"{label} over the training", parts)


def score_plot(summary: Summary) -> str | None:
    """Test BLEU of what counts, with its standard deviation over seeds; a line at the baseline."""
    rows = rows_of(summary)
    values = [row.spread(lambda cell: counting(cell, "bleu")) for row in rows]
    known = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
    ends = [mean + sign * (std or 0.0) for _, (mean, std) in known for sign in (-1, 1)]
    height, left = 24.0 * len(known), room_for([seeds_note(row) for row, _ in known])
    frame = Frame(left, TOP, WIDE, height, spanned(ends), (0.0, 1.0))
    label = "test BLEU of the objective" if few_count(rows) else "average test BLEU"
    parts = axes(frame, "", label, "")
    styles = line_styles([row.name for row in rows])
    if known[0][0].name == summary["baseline"]:
        x = frame.across(known[0][1][0])
        parts.append(segment(x, TOP, x, TOP + height, INK))
    for index, (row, (mean, std)) in enumerate(known):
        y = TOP + 24.0 * index + 12.0
        colour = styles[row.name]["color"]
        parts += [segment(left, y, left + WIDE, y, GRID), text(left - 8, y + 4, seeds_note(row), "end")]
        if std is not None:
            parts.append(segment(frame.across(mean - std), y, frame.across(mean + std), y, colour, 2.0))
        parts.append(dot(frame.across(mean), y, colour))
    return document(left + WIDE + 20, TOP + height + BELOW, f"{label} by system", parts)


def share_plot(summary: Summary) -> str | None:
    """Shares over time, one panel for each system whose shares move, mean over seeds."""
    styles = line_styles(list(summary["sizes"]))
    panels = [(row, lines) for row in rows_of(summary) if (lines := share_lines(row, styles))]
    if not panels:
        return None
    wide, high = SMALL[0] + LEFT + 10, SMALL[1] + TOP + BELOW
    parts = []
    for index, (row, lines) in enumerate(panels):
        left, top = (index % ACROSS) * wide + LEFT, (index // ACROSS) * high + TOP
        x = (0.0, float(max(step for line in lines for step in line.x)))
        frame = Frame(left, top, *SMALL, x, spanned([value for line in lines for value in line.y], zero=True))
        parts += axes(frame, seeds_note(row), "step", "share")
        parts += [curve(frame, line) for line in lines]
    columns, stacked = min(ACROSS, len(panels)), -(-len(panels) // ACROSS)
    named = list({line.name: line for _, lines in panels for line in lines}.values())
    parts += legend(named, columns * wide + 14, TOP + 8)
    height = max(stacked * high, TOP + 16 * len(named))
    width = columns * wide + room_for([line.name for line in named])
    return document(width, height, "share of each facet over the training", parts)


def share_lines(row: Row, styles: dict[str, dict[str, str]]) -> list[Line]:
    """A line for each facet; none where shares are fixed or the policy has none."""
    over_time = [cell["shares"]["over_time"] for cell in row.cells]
    if not all(over_time):
        return []
    lines = []
    for name in over_time[0]["facets"]:
        curves = [{"step": one["step"], "share": one["facets"][name]} for one in over_time]
        steps, values = mean_curve(curves, "share")
        style = styles.get(name, {"color": INK, "dash": "solid"})
        lines.append(Line(name, steps, values, style["color"], style["dash"]))
    moved = max((max(line.y) - min(line.y) for line in lines if line.y), default=0.0)
    return lines if moved > STILL and len(lines[0].x) > 1 else []


PLOTS: dict[str, Callable[[Summary], str | None]] = {
    "scores": score_plot,
    "bleu": lambda summary: dev_plot(summary, "bleu", "average dev BLEU"),
    "loss": lambda summary: dev_plot(summary, "loss", "average dev loss"),
    "shares": share_plot,
}
