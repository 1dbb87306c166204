"""Markdown tables of a study, from its summary alone: the same text each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from facetmt.report.studies.rows import ENOUGH, Cell, Row, facets_of, few_count, groups_of, rows_of
from facetmt.report.systems import AVERAGE, mark
from facetmt.report.tables import markdown_text
from facetmt.report.words import duration

NONE = "–"
FEW = "†"  # marks rows with few seeds
Read = Callable[[Cell], float | None]
Summary = dict[str, Any]


def score_table(summary: Summary, metric: str) -> str:
    """Test scores: the average (unless few facets count), groups, facets; the best of a column in bold."""
    rows = rows_of(summary)
    facets, groups = facets_of(rows), groups_of(rows)
    reads: list[tuple[str, str, Read]] = [
        *([] if few_count(rows) else [(AVERAGE, "", average_of(metric))]),
        *((name, "", score_of("groups", name, metric)) for name in groups),
        *((name, name, score_of("facets", name, metric)) for name in facets),
    ]
    columns = [[row.spread(read) for row in rows] for _, _, read in reads]
    best = [max((round(value[0], 2) for value in column if value), default=None) for column in columns]
    lines = []
    for index, row in enumerate(rows):
        cells = []
        for (_, facet, _), column, top in zip(reads, columns, best, strict=True):
            value = column[index]
            bold = value is not None and len(rows) > 1 and round(value[0], 2) == top
            body = f"**{spread(value)}**" if bold else spread(value)
            cells.append(f"{body} {verdict(row, facet) if metric == 'bleu' else ''}".rstrip())
        lines.append([name_of(row), seeds_of(row), *cells])
    head = ["system", "seeds", *(markdown_text(name) for name, _, _ in reads)]
    tests = list(summary["notes"]) if metric == "bleu" else []
    return table(head, lines, [*tests, *signatures(rows, metric), *foot(summary, rows, deviations=True)])


def average_of(metric: str) -> Read:
    return lambda cell: cell["test"]["average"][metric]


def score_of(kind: str, name: str, metric: str) -> Read:
    return lambda cell: cell["test"][kind].get(name, {}).get(metric)


def verdict(row: Row, facet: str) -> str:
    """Better or worse than the baseline, as in `compare`."""
    tested = row.significance.get(facet)
    return "" if tested is None else mark((tested["p"], tested["gain"]))


def loss_table(summary: Summary) -> str:
    """Dev losses at the end of the training."""
    rows = rows_of(summary)
    facets = list(
        dict.fromkeys(
            name for row in rows for cell in row.cells for name in cell["dev"]["final"]["loss"]["facets"]
        )
    )
    reads: list[Read] = [
        lambda cell: cell["dev"]["final"]["loss"]["average"],
        *(dev_loss(name) for name in facets),
    ]
    columns = [[row.spread(read) for row in rows] for read in reads]
    lowest = [min((round(value[0], 3) for value in column if value), default=None) for column in columns]
    lines = []
    for index, row in enumerate(rows):
        cells = []
        for column, top in zip(columns, lowest, strict=True):
            value = column[index]
            bold = value is not None and len(rows) > 1 and round(value[0], 3) == top
            cells.append(f"**{spread(value, 3)}**" if bold else spread(value, 3))
        lines.append([name_of(row), seeds_of(row), *cells])
    head = ["system", "seeds", AVERAGE, *map(markdown_text, facets)]
    note = "Dev loss per token after the last step; lower is better. Avg is over the facets that count."
    return table(head, lines, [note, *foot(summary, rows, deviations=True)])


def dev_loss(name: str) -> Read:
    return lambda cell: cell["dev"]["final"]["loss"]["facets"].get(name)


def speed_table(summary: Summary) -> str:
    """Best dev BLEU, the way to the baseline's best, and what a step costs."""
    rows = rows_of(summary)
    base = rows[0] if rows and rows[0].name == summary["baseline"] else None
    lines = []
    for row in rows:
        top = row.spread(lambda cell: cell["dev"]["best"] and cell["dev"]["best"]["bleu"])
        cost = row.spread(lambda cell: cell["timing"]["ms_per_step"])
        share = row.spread(lambda cell: cell["timing"]["measuring_share"])
        lines.append(
            [
                name_of(row),
                seeds_of(row),
                spread(top),
                *way(row, base, reach_step, lambda steps: f"{steps:,.0f}"),
                *way(row, base, reach_seconds, duration),
                NONE if cost is None else f"{cost[0]:,.0f}",
                NONE if share is None else f"{share[0]:.1%}",
            ]
        )
    head = ["system", "seeds", "best dev BLEU", "steps to the baseline’s best", "of its steps"]
    head += ["time to it", "of its time", "ms/step", "choosing"]
    notes = [
        "The baseline’s best is its highest average dev BLEU with the same seed; steps and time to it are "
        "means over seeds, given where every seed reached it. Time is wall-clock with compiling and "
        "validation; ms/step leaves both out. “Choosing” is the share of the whole time that reward passes "
        "and measurements took."
    ]
    return table(head, lines, [*notes, *foot(summary, rows, deviations=True)])


def reach_step(cell: Cell) -> float | None:
    step: float | None = cell["dev"]["reach"]["step"]
    return step


def reach_seconds(cell: Cell) -> float | None:
    seconds: float | None = cell["timing"]["reach_seconds"]
    return seconds


def way(row: Row, base: Row | None, read: Read, shown: Callable[[float], str]) -> tuple[str, str]:
    """To the baseline's best dev BLEU, and relative to the baseline's own way."""
    values = row.values(read)
    if base is None or not values:
        return "not reached", NONE
    if len(values) < len(row.cells):
        return f"reached by {len(values)} of {len(row.cells)} seeds", NONE
    by_seed = dict(zip(base.seeds, base.cells, strict=True))
    own = [read(by_seed.get(seed, base.cells[0])) for seed in row.seeds]
    known = [value for value in own if value]
    relative = f"{fmean(values) / fmean(known):.0%}" if known and len(known) == len(own) else NONE
    return shown(fmean(values)), relative


def share_table(summary: Summary) -> str:
    """What each facet got of the training, and how often each of its pairs was seen."""
    rows = rows_of(summary)
    facets = list(summary["sizes"])
    lines = []
    for row in rows:
        cells = []
        for name in facets:
            share = row.spread(facet_share("training", name))
            epochs = row.spread(facet_share("epochs", name))
            shown = NONE if share is None else f"{share[0]:.1%}"
            cells.append(shown if epochs is None else f"{shown} ({epochs[0]:.3g})")
        lines.append([name_of(row), seeds_of(row), *cells])
    sizes = ["*pairs*", "", *(f"{summary['sizes'][name]:,}" for name in facets)]
    head = ["system", "seeds", *map(markdown_text, facets)]
    note = "Share of the training (in brackets: epochs), mean over seeds."
    return table(head, [sizes, *lines], [note, *foot(summary, rows)])


def facet_share(kind: str, name: str) -> Read:
    return lambda cell: (cell["shares"][kind] or {}).get(name)


def settings_table(summary: Summary) -> str:
    """What each system changes in the base recipe, and what the figures were made with."""
    rows = rows_of(summary)
    lines = [[name_of(row), ", ".join(row.seeds), code(row.overrides)] for row in rows]
    found = {tuple(sorted(one.items())) for row in rows for cell in row.cells for one in cell["versions"]}
    versions = ["; ".join(f"{key} {value}" for key, value in one) for one in sorted(found, key=repr)]
    notes = [f"Base recipe: SHA-256 {summary['recipe_sha256'][:16]}…, in full in the summary."]
    return table(
        ["system", "seeds", "changes to the base recipe"],
        lines,
        [*notes, *(f"Run with {one}." for one in versions), *foot(summary, rows)],
        words=3,
    )


def code(text: str) -> str:
    """Text from outside as code in a cell of a Markdown table."""
    escaped = text.replace("|", "\\|").replace("`", "'")
    return f"`{escaped}`"


def name_of(row: Row) -> str:
    return markdown_text(row.name) + (f" {FEW}" if row.few else "")


def seeds_of(row: Row) -> str:
    return str(len(row.cells))


def spread(value: tuple[float, float | None] | None, digits: int = 2) -> str:
    if value is None:
        return NONE
    mean, std = value
    return f"{mean:.{digits}f}" if std is None else f"{mean:.{digits}f} ± {std:.{digits}f}"


def signatures(rows: Sequence[Row], metric: str) -> list[str]:
    found = dict.fromkeys(cell["test"]["signature"][metric] for row in rows for cell in row.cells)
    return [f"{'BLEU' if metric == 'bleu' else 'chrF'}: {one}" for one in found]


def foot(summary: Summary, rows: Sequence[Row], *, deviations: bool = False) -> list[str]:
    """What a reader must know about the rows."""
    several = deviations and any(len(row.cells) > 1 for row in rows)
    notes = ["± is the standard deviation over seeds."] if several else []
    notes += [f"{FEW} fewer than {ENOUGH} seeds."] if any(row.few for row in rows) else []
    notes += [f"Not finished: {'; '.join(summary['missing'])}."] if summary["missing"] else []
    return notes + [f"Careful: {by_system(line, rows)}" for line in summary["caveats"]]


def by_system(caveat: str, rows: Sequence[Row]) -> str:
    """`SYSTEM/SEED, SYSTEM/SEED: what`, with the system's name alone where it is said of all its seeds."""
    names, colon, what = caveat.partition(": ")
    said = names.split(", ")
    for row in rows:
        seeds = [f"{row.name}/{seed}" for seed in row.seeds]
        if set(seeds) <= set(said):
            said = [row.name if name == seeds[0] else name for name in said if name not in seeds[1:]]
    return f"{', '.join(said)}{colon}{what}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str], words: int = 1) -> str:
    """`words` columns hold words, the others figures."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    lines = ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)]) + "\n"


TABLES: dict[str, Callable[[Summary], str]] = {
    "bleu": lambda summary: score_table(summary, "bleu"),
    "chrf": lambda summary: score_table(summary, "chrf"),
    "loss": loss_table,
    "speed": speed_table,
    "shares": share_table,
    "settings": settings_table,
}
