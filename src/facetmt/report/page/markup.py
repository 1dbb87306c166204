"""Pieces of HTML; all text from outside passes through `safe`."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass


def safe(text: object) -> str:
    return html.escape(str(text), quote=True)


LEFT, LEFTMOST = ' class="left"', ("System", "Scored")  # columns of words, not of numbers


@dataclass(frozen=True)
class Cell:
    """A table cell: its HTML, already escaped, and the number to sort by."""

    html: str
    value: float | None = None
    left: bool = False


def text_cell(text: str) -> Cell:
    return Cell(safe(text), left=True)


def number_cell(value: float | None, pattern: str = "{:.2f}") -> Cell:
    if value is None or value != value:
        return Cell("–", float("-inf"))
    return Cell(pattern.format(value).replace("-", "−"), value)


def cell_html(cell: Cell) -> str:
    value = "" if cell.value is None else f' data-value="{cell.value:g}"'
    look = ' class="left"' if cell.left else ""
    return f"<td{value}{look}>{cell.html}</td>"


def row_html(cells: Sequence[Cell], facet: str | None = None, style: str = "") -> str:
    mark = f' data-facet="{safe(facet)}"' if facet is not None else ""
    look = f' class="{style}"' if style else ""
    return f"<tr{mark}{look}>{''.join(cell_html(cell) for cell in cells)}</tr>"


def table_html(
    head: Sequence[str], rows: Sequence[str], *, sortable: bool = False, tall: bool = False
) -> str:
    """`head` is escaped HTML; a tall table scrolls inside its panel."""
    sort = ' data-sort="1"' if sortable else ""
    headings = "".join(f"<th{sort}{LEFT if name in LEFTMOST else ''}>{name}</th>" for name in head)
    return (
        f'<div class="scroll{" tall" if tall else ""}"><table><thead><tr>{headings}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def panel(title: str, read: str, body: str, *, per_run: bool = False, style: str = "") -> str:
    """A titled box with a sentence on how to read it; `per_run` shows the name of the run that is chosen."""
    tag = '<span class="tag run-name"></span>' if per_run else ""
    look = f"panel {style}".strip()
    return (
        f'<section class="{look}"><h3>{safe(title)}{tag}</h3><p class="read">{safe(read)}</p>{body}</section>'
    )


def chart(key: str, title: str, read: str, absent: str, *, per_run: bool = False, style: str = "") -> str:
    """The box of a chart; `absent` is shown where a run has nothing to draw."""
    tag = '<span class="tag run-name"></span>' if per_run else ""
    return (
        f'<figure class="panel {style}" data-chart="{safe(key)}"><h3>{safe(title)}{tag}</h3>'
        f'<p class="read">{safe(read)}</p><div class="plot"></div><p class="absent">{safe(absent)}</p>'
        '<div class="legend"></div></figure>'
    )


def grid(parts: Sequence[str], columns: int = 1) -> str:
    return f'<div class="grid{" two" if columns == 2 else ""}">{"".join(parts)}</div>'
