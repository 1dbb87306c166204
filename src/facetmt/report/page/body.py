"""The content of the page, in the order in which people ask: headline, health, charts, tables."""

from __future__ import annotations

from collections.abc import Sequence

from facetmt.report.digest import Digest
from facetmt.report.figures.charts import described
from facetmt.report.page import sections
from facetmt.report.page.headline import cards, health, subtitle, title_of, warnings
from facetmt.report.page.markup import chart, grid, safe
from facetmt.report.page.transfer import any_measured, transfer_findings

ORDERS = {
    "share": "most drawn",
    "size": "largest",
    "bleu": "best BLEU",
    "gain": "largest gain",
    "name": "name",
}


def body(runs: Sequence[Digest], facets: Sequence[str]) -> str:
    """The page without its data and scripts."""

    def charts(*keys: str) -> str:
        parts = []
        for key in keys:
            title, read, absent, per_run, style = described(key, runs)
            parts.append(chart(key, title, read, absent, per_run=per_run and len(runs) > 1, style=style))
        return grid(parts, min(len(parts), 2))

    parts = [
        f'<section class="cards">{cards(runs)}</section>',
        warnings(runs),
        f"<h2>Health</h2>{health(runs)}",
        controls(runs, len(facets)),
        "<h2>What it drew</h2>",
        charts("probs"),
        charts("shares"),
        sections.changes(runs),
        charts("epochs", "scaled"),
        "<h2>What it achieved</h2>",
        charts("bleu", "loss", "facet-bleu", "facet-loss"),
        *(
            ["<h2>Which facet helps which</h2>", charts("transfer"), transfer_findings(runs)]
            if any_measured(runs)
            else []
        ),
        "<h2>What it learned from, and what it cost</h2>",
        charts("raw", "training"),
        charts("costs"),
        "<h2>Tables</h2>",
        sections.overview(runs),
        sections.scores(runs, facets),
        sections.batches(runs),
        "<h2>Behind it</h2>",
        sections.samples(runs, facets),
        sections.recipes(runs),
    ]
    return (
        f'<header class="top"><p class="brand">facetmt</p><h1>{safe(title_of(runs))}</h1>'
        f'<p class="sub">{safe(subtitle(runs))}</p></header><main>{"".join(parts)}</main>'
        "<noscript><main><p>The charts need JavaScript; all of it is in this file.</p></main></noscript>"
    )


def controls(runs: Sequence[Digest], facets: int) -> str:
    """What the reader can choose: run, facets, horizontal axis."""
    tabs = "".join(
        f'<button type="button" data-run="{index}">{safe(run.name)}</button>'
        for index, run in enumerate(runs)
    )
    chosen = f'<div>Run <span class="segments">{tabs}</span></div>' if len(runs) > 1 else ""
    tops = "".join(f'<option value="{top}">{top}</option>' for top in (5, 10, 20, 50) if top < facets)
    sorts = "".join(f'<option value="{key}">{label}</option>' for key, label in ORDERS.items())
    return (
        f'<nav class="controls" aria-label="What is shown">{chosen}'
        '<label class="search">Facets '
        '<input type="search" id="search" placeholder="name, name …" autocomplete="off">'
        f'</label><label>show <select id="top">{tops}<option value="all">all {facets}</option></select>'
        f"</label>"
        f'<label>by <select id="sort">{sorts}</select></label>'
        '<div>over <span class="segments"><button type="button" data-axis="step">steps</button>'
        '<button type="button" data-axis="time">time</button></span></div></nav>'
    )
