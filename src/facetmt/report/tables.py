"""The paper's tables of scores, for a terminal, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from facetmt.errors import UserError
from facetmt.report.comparable import sentences
from facetmt.report.systems import WIDE, Cell, Column, Metric, Scoreboard, scoreboard
from facetmt.runlog import Run

COST = "ms/step"
BEST = "*"  # marks the best of a column where bold may not show
Format = Literal["terminal", "markdown", "latex", "csv"]
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    character: f"\\{character}" for character in "&%$#_{}"
}


def compare(runs: Sequence[Path], format: Format = "terminal", metric: Metric = "bleu") -> str:
    """Test scores of the runs in the paper's layout: average first, best in bold, significance marked."""
    if format not in FORMATS:
        raise UserError(f"there is no table format {format}; choose one of {', '.join(FORMATS)}")
    opened = [Run(Path(run)) for run in runs]
    if not opened:
        raise UserError("RUN: no run is named; name at least one run directory")
    return FORMATS[format](scoreboard(opened, metric, intervals=format == "csv"), known_sizes(opened))


def known_sizes(runs: Sequence[Run]) -> dict[str, int]:
    """Training pairs of each facet, where a run knows them."""
    return {name: int(row["train"]) for run in reversed(runs) for name, row in run.facet_table.items()}


def size_of(column: Column, sizes: dict[str, int]) -> str:
    """In thousands, as the paper's table 3 has it; the average column has the mean."""
    if column.kind == "average" and sizes:
        return thousands(sum(sizes.values()) / len(sizes))
    return thousands(sizes[column.name]) if column.kind == "facet" and column.name in sizes else ""


def thousands(count: float) -> str:
    return f"{count / 1000:.1f}" if count >= 100 else f"{count / 1000:.3f}"


def grid(
    board: Scoreboard,
    sizes: dict[str, int],
    plain: Callable[[str], str],
    show: Callable[[Cell], str],
) -> list[list[str]]:
    """The table as text, heading first; with many columns it is transposed, so that facets are rows."""
    timed = any(board.costs)
    rows = [["", "", *(plain(column.name) for column in board.columns), *[COST] * timed]]
    if sizes:
        rows.append(["", "Size (k)", *(size_of(column, sizes) for column in board.columns), *[""] * timed])
    kind = ""
    for system, cells, cost in zip(board.systems, board.cells, board.costs, strict=True):
        shown = plain(system.kind) if system.kind != kind else ""
        kind = system.kind
        scores = ["–" if cell is None else show(cell) for cell in cells]
        rows.append([shown, plain(system.name), *scores, *[milliseconds(cost)] * timed])
    if len(board.columns) <= WIDE:
        return rows
    turned = [list(column) for column in zip(*rows, strict=True)][1:]  # the kinds of systems fall away
    turned[0][0] = ""
    return turned


def milliseconds(cost: float | None) -> str:
    return f"{1000 * cost:,.0f}" if cost else "–"


def decimals(cell: Cell) -> str:
    return f"{cell.mean:.2f}" if cell.std is None else f"{cell.mean:.2f} ± {cell.std:.2f}"


def warnings(board: Scoreboard) -> list[str]:
    """Why rows cannot be compared like for like; the first lines below a table."""
    return [f"Careful: {line}" for line in sentences(board.caveats)]


def foot(board: Scoreboard) -> list[str]:
    name = {"bleu": "BLEU", "chrf": "chrF"}[board.metric]
    return [*board.notes, f"{name}: {board.signature}"]


def terminal(board: Scoreboard, sizes: dict[str, int]) -> str:
    """For people; colours only where the output is a terminal."""

    def show(cell: Cell) -> str:
        body = decimals(cell) + BEST * cell.best + cell.mark
        return f"[bold]{body}[/bold]" if cell.best else body

    head, *rows = grid(board, sizes, escape, show)
    table = Table(*head, header_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    labels = 2 if len(board.columns) <= WIDE else 1
    for index, column in enumerate(table.columns):
        column.justify = "left" if index < labels else "right"
        column.no_wrap = True
    for row in rows:
        table.add_row(*row)
    live = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if live else 400
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=live, width=width, highlight=False)
    console.print(table)
    for line in warnings(board):
        console.print(escape(line), style="yellow", soft_wrap=True)
    legend = [f"{BEST} the best system."] if len(board.systems) > 1 else []
    for line in [*legend, *foot(board)]:
        console.print(escape(line), style="dim", soft_wrap=True)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def markdown(board: Scoreboard, sizes: dict[str, int]) -> str:
    def show(cell: Cell) -> str:
        body = f"**{decimals(cell)}**" if cell.best else decimals(cell)
        return f"{body} {cell.mark}".rstrip()

    head, *rows = grid(board, sizes, markdown_text, show)
    labels = 2 if len(board.columns) <= WIDE else 1
    rule = ["---"] * labels + ["---:"] * (len(head) - labels)
    lines = ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]
    below = [*(f"**{line}**" for line in map(markdown_text, warnings(board))), *foot(board)]
    return "\n".join([*lines, "", *(f"- {line}" for line in below), ""])


def markdown_text(text: str) -> str:
    """Text from outside, for a cell of a Markdown table."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return text


def latex(board: Scoreboard, sizes: dict[str, int]) -> str:
    """For the package booktabs; the notes are comments."""

    def show(cell: Cell) -> str:
        body = f"{cell.mean:.2f}"
        body = f"\\textbf{{{body}}}" if cell.best else body
        mark = f"$^{{{cell.mark}}}$" if cell.mark else ""
        return body + mark + ("" if cell.std is None else f" {{\\scriptsize $\\pm$ {cell.std:.2f}}}")

    head, *rows = grid(board, sizes, latex_text, show)
    wide = len(board.columns) > WIDE
    costs = "|c" if not wide and head[-1] == COST else ""
    spec = "l|" + "c" * (len(head) - 1) if wide else "ll|c|" + "c" * (len(board.columns) - 1) + costs
    lines = [f"% {line}" for line in (*warnings(board), *foot(board))]
    lines += [f"\\begin{{tabular}}{{{spec}}}", "\\toprule"]
    lines.append(" & ".join(f"\\textbf{{{name}}}" if name else "" for name in head) + r" \\")
    for number, row in enumerate(rows):
        first = not wide and row[0] != ""
        if number == 0 or first:
            lines.append("\\midrule")
        lines.append(" & ".join(row).replace("–", "--") + r" \\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def latex_text(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


CSV_COLUMNS = ("column", "name", "metric", "mean", "std", "interval", "best", "mark", "caveat")


def csv_table(board: Scoreboard, sizes: dict[str, int]) -> str:
    """For programs: one row per system and column, four decimals; `interval` is half of the 95 % interval."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("system", "kind", "seeds", *CSV_COLUMNS))
    for system, cells, cost in zip(board.systems, board.cells, board.costs, strict=True):
        own = (system.name, system.kind, len(system.outcomes))
        caveat = "; ".join(sentences([one for one in board.caveats if one.row in system.rows]))
        for column, cell in zip(board.columns, cells, strict=True):
            if cell is not None:
                spread = ("" if value is None else f"{value:.4f}" for value in (cell.std, cell.interval))
                figures = (f"{cell.mean:.4f}", *spread, int(cell.best), cell.mark, caveat)
                writer.writerow((*own, column.kind, column.name, board.metric, *figures))
        if cost:
            writer.writerow((*own, "cost", "step", "ms", f"{1000 * cost:.4f}", "", "", "", "", caveat))
    return buffer.getvalue()


FORMATS: dict[str, Callable[[Scoreboard, dict[str, int]], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "latex": latex,
    "csv": csv_table,
}
