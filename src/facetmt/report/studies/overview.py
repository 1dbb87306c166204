"""One picture of several studies: what each system gains over its study's baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from facetmt.report.figures.plots import line_styles
from facetmt.report.studies.rows import Row, counting, rows_of
from facetmt.report.studies.svg import GRID, INK, Frame, axes, document, dot, room_for, segment, spanned, text

Summary = dict[str, Any]
Gain = tuple[str, float, float]  # system, mean and standard deviation over seeds
WIDE, LINE, TOP, BELOW = 420.0, 20.0, 34.0, 44.0
LABEL = "gain in test BLEU over the baseline, same seeds"


def overview(summaries: Mapping[str, Summary]) -> str | None:
    """A panel for each study, all on one scale: systems with enough seeds, the baseline's among them."""
    panels = {}
    for name, summary in summaries.items():
        rows = rows_of(summary)
        if rows and rows[0].name == summary["baseline"] and (some := gains(rows)):
            panels[name] = rows[0], some
    if not panels:
        return None
    found = [gain for _, some in panels.values() for gain in some]
    x = spanned([0.0, *(mean + sign * std for _, mean, std in found for sign in (-1, 1))])
    styles = line_styles(list(dict.fromkeys(name for name, _, _ in found)))
    left, top, parts = room_for([name for name, _, _ in found]), 0.0, []
    for name, (base, some) in panels.items():
        frame = Frame(left, top + TOP, WIDE, LINE * len(some), x, (0.0, 1.0))
        steps = base.cells[0]["dev"]["final"]["step"]
        title = f"{name}: {steps:,} steps, {len(base.cells)} seeds; baseline: {base.name}"
        parts += axes(frame, title, LABEL, "")
        zero = frame.across(0.0)
        parts.append(segment(zero, frame.top, zero, frame.top + frame.height, INK))
        parts += [
            part
            for index, gain in enumerate(some)
            for part in drawn(frame, index, gain, styles[gain[0]]["color"])
        ]
        top += TOP + frame.height + BELOW
    return document(left + WIDE + 20, top, LABEL, parts)


def gains(rows: Sequence[Row]) -> list[Gain]:
    """Of the systems with enough seeds, all of which the baseline (the first row) has too."""
    base = dict(zip(rows[0].seeds, rows[0].cells, strict=True))
    found = []
    for row in rows[1:]:
        if not row.few and set(row.seeds) <= set(base):
            own = [
                counting(cell, "bleu") - counting(base[seed], "bleu")
                for seed, cell in zip(row.seeds, row.cells, strict=True)
            ]
            found.append((row.name, fmean(own), stdev(own)))
    return found


def drawn(frame: Frame, index: int, gain: Gain, colour: str) -> list[str]:
    """A name, a dot and its standard deviation."""
    name, mean, std = gain
    y = frame.top + LINE * (index + 0.5)
    return [
        segment(frame.left, y, frame.left + frame.width, y, GRID),
        text(frame.left - 8, y + 4, name, "end"),
        segment(frame.across(mean - std), y, frame.across(mean + std), y, colour, 2.0),
        dot(frame.across(mean), y, colour),
    ]
