"""The tables and lists of the page: runs, scores, facets, changes of shares, sample translations, recipes."""

from __future__ import annotations

from collections.abc import Sequence

from facetmt.report.digest import Digest
from facetmt.report.figures.charts import NOT_YET
from facetmt.report.outcomes import all_outcomes, described
from facetmt.report.page.markup import Cell, number_cell, panel, row_html, safe, table_html, text_cell
from facetmt.report.progress import Standing, choosing_share, mean_of, median_of, standings
from facetmt.report.systems import Cell as Score
from facetmt.report.systems import Scoreboard, scoreboard
from facetmt.report.words import duration
from facetmt.runlog import RECIPE, Run

MOST_LINES = 40_000  # test sentences that the paired test may read for a page: about 20 seconds
LONGEST = 400  # characters of a sample sentence
SAMPLES = ((20, 3), (60, 2), (10_000, 1))  # (at most this many facets, samples of each)


def overview(runs: Sequence[Digest]) -> str:
    """One row per run."""
    base = runs[0].name
    head = ["Run", "System", "Steps", "Wall-clock", "Tokens/s", "Best dev BLEU", "Test BLEU", "Scored"]
    head += ["Gain", "Steps to base’s best", "Time to base’s best"] if len(runs) > 1 else []
    head += ["Padding", "Time on rewards"]
    rows, all_rows = [], standings(runs)
    dev = max((row.dev.bleu for row in all_rows if row.dev), default=None)
    test = max((row.test for row in all_rows if row.test is not None), default=None)
    for row in all_rows:
        run = row.digest
        cells = [
            text_cell(run.name),
            text_cell(run.recipe.schedule.label),
            steps_cell(run),
            Cell(duration(run.seconds), run.seconds),
            number_cell(median_of(run, "tokens_per_second"), "{:,.0f}"),
            dev_cell(row, dev, len(runs)),
            *scored_cells(row, test, len(runs)),
        ]
        if len(runs) > 1:
            cells += [number_cell(row.gain, "{:+.2f}")]
            cells += [number_cell(ratio, "{:.0%}") for ratio in (row.step_ratio, row.time_ratio)]
        cells += [
            number_cell(mean_of(run, "padding"), "{:.1%}"),
            number_cell(choosing_share(run), "{:.1%}"),
        ]
        rows.append(row_html(cells))
    read = "Each run so far; Scored says which checkpoint was scored, and how it was decoded."
    if len(runs) > 1:
        read += f" Gain, steps and time are relative to the first run, {base}; below 100 % is faster."
    return panel("Runs", read, table_html([safe(name) for name in head], rows))


def steps_cell(run: Digest) -> Cell:
    if run.finished:
        return number_cell(run.steps, "{:,.0f}")
    return Cell(
        f'{run.steps:,} of {run.recipe.train.steps:,} <span class="unfinished">unfinished</span>', run.steps
    )


def bold_best(score: float, best: float | None, runs: int) -> str:
    shown = f"{score:.2f}"
    return f"<b>{shown}</b>" if runs > 1 and best is not None and shown == f"{best:.2f}" else shown


def dev_cell(row: Standing, best: float | None, runs: int) -> Cell:
    if row.dev is None:
        return Cell("–")
    return Cell(
        f'{bold_best(row.dev.bleu, best, runs)} <span class="std">@ {row.dev.step:,}</span>', row.dev.bleu
    )


def scored_cells(row: Standing, best: float | None, runs: int) -> list[Cell]:
    """The average of each outcome, named ones in brackets (the paper's "28.05 (29.37)"); what was scored."""
    found = all_outcomes(row.digest.logs)
    if not found:
        return [Cell("–"), Cell("–", left=True)]
    scores, ways = [], []
    for outcome in found:
        score = float(outcome.scores["average"]["bleu"])
        name = safe(outcome.name)
        scores.append(
            f'<span class="std">({name} {score:.2f})</span>' if name else bold_best(score, best, runs)
        )
        ways.append((f"{name}: " if name else "") + safe(described(outcome)))
    return [Cell(" ".join(scores), row.test), Cell("<br>".join(ways), left=True)]


def scores(runs: Sequence[Digest], facets: Sequence[str]) -> str:
    """Test BLEU and chrF of every system, by facet and by further test set."""
    scored = [run.logs for run in runs if all_outcomes(run.logs)]
    if not scored:
        return panel("Test scores", "No run is scored yet; score one with `facetmt evaluate RUN`.", "")
    boards = [scoreboard(scored, "bleu", MOST_LINES, intervals=True), scoreboard(scored, "chrf", 0)]
    head = [
        "Facet",
        *(
            f"{safe(system.name)}<br>{name}"
            for board, name in zip(boards, ("BLEU", "chrF"), strict=True)
            for system in board.systems
        ),
    ]
    rows = []
    for index, column in enumerate(boards[0].columns):
        cells = [
            score_cell(board.cells[system][index]) for board in boards for system in range(len(board.systems))
        ]
        facet = column.name if column.kind == "facet" and column.name in facets else None
        name = {"average": "Average", "group": f"{column.name} (group)"}.get(column.kind, column.name)
        rows.append(row_html([text_cell(name), *cells], facet, "" if column.kind == "facet" else "average"))
    notes = "".join(f'<p class="foot">{safe(line)}</p>' for line in score_notes(boards, scored[0]))
    body = table_html(head, rows, sortable=True, tall=len(rows) > 16) + f'<p class="more foot"></p>{notes}'
    return panel("Test scores", "The best system of each row is bold; click a heading to sort.", body)


def score_notes(boards: Sequence[Scoreboard], run: Run) -> list[str]:
    """What the marks mean, and the signatures, including those of sets that have their own."""
    signatures = [f"{name} {board.signature}" for board, name in zip(boards, ("BLEU", "chrF"), strict=True)]
    other: dict[str, list[str]] = {}
    for name, one in (run.scores or {}).get("signature_of", {}).items():
        other.setdefault(one["bleu"], []).append(name)
    own = [f"BLEU of {', '.join(names[:10])}: {signature}" for signature, names in other.items()]
    return [*boards[0].notes, *signatures, *own]


def score_cell(score: Score | None) -> Cell:
    if score is None:
        return Cell("–", float("-inf"))
    body = f"{score.mean:.2f}"
    body = f"<b>{body}</b>" if score.best else body
    side = "up" if score.mark.startswith("+") else "down"
    mark = f'<sup class="{side}">{score.mark.replace("-", "−")}</sup>' if score.mark else ""
    spread = score.std if score.std is not None else score.interval
    shown = f' <span class="std">± {spread:.2f}</span>' if spread is not None else ""
    return Cell(body + mark + shown, score.mean)


def batches(runs: Sequence[Digest]) -> str:
    """The most sampled facets of each run (paper, table 8), switched with the run."""
    panels = "".join(
        f'<div data-run-panel="{index}">{batch_table(run)}</div>' for index, run in enumerate(runs)
    )
    read = "How much of the training each facet got, and what it brought; the most sampled first."
    return panel("Facets", read, f'{panels}<p class="more foot"></p>', per_run=len(runs) > 1)


def batch_table(run: Digest) -> str:
    if run.share is None:
        return f'<p class="read">{NOT_YET}</p>'
    head = [
        "Facet",
        "Training pairs",
        "Share of training",
        "× proportional",
        "Epochs",
        "Mean reward",
        "Test BLEU",
    ]
    tested = (run.logs.scores or {}).get("facets", {})
    rows = []
    for index in (-run.share).argsort(kind="stable").tolist():
        name, share = run.facets[index], float(run.share[index])
        size = None if run.sizes is None else float(run.sizes[index])
        proportional = None if run.sizes is None else share / float(run.sizes[index] / run.sizes.sum())
        cells = [
            text_cell(name),
            number_cell(size, "{:,.0f}"),
            number_cell(share, "{:.1%}"),
            number_cell(proportional, "{:.2f}"),
            number_cell(None if run.epochs is None else float(run.epochs[index]), "{:.2f}"),
            number_cell(None if run.mean_rewards is None else float(run.mean_rewards[index]), "{:+.3f}"),
            number_cell(tested.get(name, {}).get("bleu")),
        ]
        rows.append(row_html(cells, name))
    return table_html(head, rows, sortable=True, tall=len(rows) > 16)


def changes(runs: Sequence[Digest]) -> str:
    """What the policy said about its changes of shares, switched with the run; nothing where none did."""
    if not any(run.news for run in runs):
        return ""
    panels = "".join(f'<div data-run-panel="{index}">{news(run)}</div>' for index, run in enumerate(runs))
    read = "Every notable change of a facet's share, and the evidence for it, as logged during training."
    return panel("What it changed, and why", read, panels, per_run=len(runs) > 1)


def news(run: Digest) -> str:
    if not run.news:
        return '<p class="read">This run logged no notable change of shares.</p>'
    items = "".join(news_item(sentence) for sentence in run.news)
    return f'<ol class="news tall">{items}</ol>'


def news_item(sentence: str) -> str:
    """`step 400: noise reduced to …` with the step set apart."""
    step, colon, rest = sentence.partition(": ")
    if not colon or not step.startswith("step "):
        return f"<li>{safe(sentence)}</li>"
    return f"<li><b>{safe(step)}</b> {safe(rest)}</li>"


def samples(runs: Sequence[Digest], facets: Sequence[str]) -> str:
    """The same test sentences by every run, evenly spaced through the test set."""
    count = next(count for limit, count in SAMPLES if len(facets) <= limit or limit == SAMPLES[-1][0])
    further = [
        name
        for run in runs
        for outcome in all_outcomes(run.logs)
        for name in outcome.scores["facets"]
        if name not in facets
    ]
    blocks: list[str] = []
    for name in [*facets, *dict.fromkeys(further)]:
        mark = f' data-facet="{safe(name)}"' if name in facets else ""
        items = facet_samples(runs, name, count)
        state = "" if blocks else " open"
        if items:
            blocks.append(f"<details{mark}{state}><summary>{safe(name)}</summary>{items}</details>")
    if not blocks:
        return ""
    read = "Evenly spaced sentences of each test set, not hand-picked."
    return panel("Sample translations", read, "".join(blocks))


def facet_samples(runs: Sequence[Digest], facet: str, count: int) -> str:
    translated = [
        (outcome.label(run.name), outcome.few_translations(facet, count))
        for run in runs
        for outcome in all_outcomes(run.logs)
    ]
    known = [(name, rows) for name, rows in translated if rows]
    if not known:
        return ""
    items = []
    for index, row in enumerate(known[0][1]):
        outputs = [
            (name, rows[index]["hypothesis"], "")
            for name, rows in known
            if index < len(rows) and rows[index]["source"] == row["source"]
        ]
        lines = [("Source", row["source"], ""), ("Reference", row["reference"], "reference"), *outputs]
        items.append(f'<dl class="sample">{"".join(sample_line(*line) for line in lines)}</dl>')
    return "".join(items)


def sample_line(label: str, text: str, style: str) -> str:
    short = text if len(text) <= LONGEST else text[:LONGEST] + " …"
    look = f' class="{style}"' if style else ""
    return f'<dt>{safe(label)}</dt><dd dir="auto"{look}>{safe(short)}</dd>'


def recipes(runs: Sequence[Digest]) -> str:
    """The resolved recipes, as in the run directories."""
    blocks = []
    for run in runs:
        text = (run.logs.directory / RECIPE).read_text(encoding="utf-8")
        blocks.append(f"<details><summary>{safe(run.name)}</summary><pre>{safe(text)}</pre></details>")
    return panel(
        "Recipes", "Everything that each run depended on, with every default written out.", "".join(blocks)
    )
