"""transfer.json in words: what stands out of the matrix, what it was computed from, whether it is current."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.text import Text

from facetmt.errors import UserError
from facetmt.report.student import student_quantile
from facetmt.report.words import listed
from facetmt.runlog import TRANSFER, Run

Floats = npt.NDArray[np.float64]

RISK = 0.05  # that any finding of a matrix is luck, all its comparisons taken together
TESTS = 3  # of each cell: against the facet's own text, against the average, against 0
STRONG = 0.25  # of the average effect: differences below it are not worth a sentence
NOTHING = "Nothing stands out: no facet helps or harms another by an amount that is clear of its error."
SAMPLES = {"not drawn": "drawn at random", "not chosen": "as chosen"}  # why facets are left out; in words
WIDE = 12  # columns of a table on a terminal


@dataclass(frozen=True)
class Transfer:
    """A[k, j], the effect of training on j on the dev loss of k, relative to the mean of row k."""

    content: dict[str, Any]  # the whole file
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    matrix: Floats  # [K, F]; NaN where a row's mean is not clear of its error
    errors: Floats
    freedom: Floats
    over_own: Floats  # A[k, j] − A[k, k]
    over_own_errors: Floats
    over_own_freedom: Floats


def read_transfer(run: Run) -> Transfer | None:
    """None until it is measured."""
    found = run.transfer
    if found is None:
        return None
    planes = ("matrix", "errors", "freedom", "over_own", "over_own_errors", "over_own_freedom")
    try:
        rows, columns = tuple(found["rows"]), tuple(found["columns"])
        arrays = [np.array(found[name], np.float64).reshape(len(rows), len(columns)) for name in planes]
        int(found["step"]), int(found["trained_steps"]), found["left_out"].items()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{run.directory / TRANSFER}: damaged; measure again with `facetmt transfer`"
        ) from error
    return Transfer(found, rows, columns, *arrays)


def findings(found: Transfer) -> list[str]:
    """A sentence on each facet for which something stands out by more than luck, or that nothing does."""
    sentences = [sentence for row in range(len(found.rows)) for sentence in row_findings(found, row)]
    return [*(sentences or [NOTHING]), *own_text(found)]


def own_text(found: Transfer) -> Iterator[str]:
    """The facets that their own text clearly helps more than other text does."""
    margin = margins(found.errors, found.freedom)
    chosen = [
        f"{name} ({amount(found.matrix[row, own], found.errors[row, own])})"
        for row, name in enumerate(found.rows)
        for own in range(len(found.columns))
        if found.columns[own] == name and found.matrix[row, own] - 1 > max(margin[row, own], STRONG)
    ]
    if chosen:
        yield f"Gaining more than average from their own text: {listed(chosen)}."


def row_findings(found: Transfer, row: int) -> Iterator[str]:
    name = found.rows[row]
    if np.isnan(found.matrix[row]).all():
        yield f"{name}: its dev gradient is mostly noise, so nothing can be said; give more --tokens."
        return
    value, error = found.matrix[row], found.errors[row]
    margin = margins(found.errors, found.freedom)[row]
    own_margin = margins(found.over_own_errors, found.over_own_freedom)[row]
    others = np.array([column != name for column in found.columns])
    over = found.over_own[row] > np.maximum(own_margin, STRONG)  # NaN compares as False
    more = others & ~over & (value - 1 > np.maximum(margin, STRONG))
    harmful = value < -margin
    useless = ~harmful & (np.abs(value) + margin < STRONG)

    def shown(chosen: npt.NDArray[np.bool_]) -> str:
        order = sorted(np.flatnonzero(chosen).tolist(), key=lambda place: -value[place])
        return listed([f"{found.columns[j]} ({amount(value[j], error[j])})" for j in order])

    if over.any():
        own = found.columns.index(name)
        text = amount(value[own], error[own])
        yield f"{name} gains more from {shown(over)} than from its own text ({text})."
    if more.any():
        yield f"{name} gains more than average from {shown(more)}."
    if harmful.any():
        yield f"Training on {shown(harmful)} harms {name}."
    if useless.any():
        yield f"{name} gains next to nothing from {shown(useless)}."


def margins(errors: Floats, freedom: Floats) -> Floats:
    """What is more than luck: Student's quantile, divided among all comparisons (Bonferroni); [K, F]."""
    share = 1 - RISK / 2 / (TESTS * errors.size)
    known = np.isfinite(freedom)
    times = [student_quantile(share, nu) for nu in freedom[known].tolist()]
    found = np.full(errors.shape, np.inf)
    found[known] = errors[known] * np.array(times)
    return found


def amount(value: float, error: float) -> str:
    return f"{value:.2f} ± {error:.2f}".replace("-", "−")


def source(found: Transfer) -> str:
    """What the figures were computed from."""
    content = found.content
    rows = "".join(
        f"; rows: {len(found.rows)} of {len(found.rows) + count} facets, {how}"
        for why, how in SAMPLES.items()
        if (count := list(content["left_out"].values()).count(why))
    )
    return (
        f"Measured at the checkpoint of step {content['step']:,} ({content['chosen']}), from about "
        f"{content['tokens']:,} tokens of dev text of each facet{rows}; seed {content['seed']}."
    )


def outdated(run: Run, found: Transfer) -> str:
    """A sentence if the run has a newer checkpoint; empty where the figures are current."""
    then, now = int(found.content["trained_steps"]), run.saved_step
    if now <= then:
        return ""
    return (
        f"Out of date: measured when the run was at step {then:,}, but it has a checkpoint of step {now:,} "
        "now; measure again with `facetmt transfer`."
    )


def transfer_text(run: Run, found: Transfer) -> str:
    """The matrix, what stands out and what it was computed from, for a terminal."""
    console = Console(
        width=max(80, 14 + 14 * min(len(found.columns), WIDE)), highlight=False, color_system=None
    )
    with console.capture() as capture:
        console.print(Text(f"Effect of training on each column on the dev loss of each row, {run.directory}"))
        console.print("1 = the row's average; ± standard error; own text in brackets\n")
        if len(found.columns) <= WIDE:
            for line in wide_lines(found):
                console.print(Text(line), soft_wrap=True)
        else:
            for line in long_lines(found):
                console.print(Text(line), soft_wrap=True)
        console.print()
        for sentence in [*findings(found), source(found)]:
            console.print(Text(sentence), soft_wrap=True)
        for name, why in found.content["left_out"].items():
            if why not in SAMPLES:
                console.print(Text(f"{name} has no row: {why}."), soft_wrap=True)
    return capture.get()


def wide_lines(found: Transfer) -> Iterator[str]:
    """One line per row of the matrix."""
    first = max(map(len, found.rows))
    width = max(14, *(len(name) + 2 for name in found.columns))
    yield " " * first + "".join(f"{name:>{width}}" for name in found.columns)
    for row, name in enumerate(found.rows):
        cells = [cell(found, row, column) for column in range(len(found.columns))]
        yield f"{name:<{first}}" + "".join(f"{text:>{width}}" for text in cells)


def cell(found: Transfer, row: int, column: int) -> str:
    value = found.matrix[row, column]
    if np.isnan(value):
        return "–"
    text = amount(value, found.errors[row, column])
    return f"[{text}]" if found.rows[row] == found.columns[column] else text


def long_lines(found: Transfer) -> Iterator[str]:
    """Where there are many columns: the own text, and the most and least helpful others of each row."""
    first = max(map(len, found.rows))
    for row, name in enumerate(found.rows):
        if np.isnan(found.matrix[row]).all():
            yield f"{name:<{first}}  –"
            continue
        order = [j for j in np.argsort(-found.matrix[row]).tolist() if found.columns[j] != name]
        own = [j for j in range(len(found.columns)) if found.columns[j] == name]
        parts = [f"{found.columns[j]} {cell(found, row, j)}" for j in [*own, *order[:3]]]
        parts += ["…", *(f"{found.columns[j]} {cell(found, row, j)}" for j in order[-2:])]
        yield f"{name:<{first}}  " + "  ".join(parts)
