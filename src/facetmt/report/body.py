"""What stands on the page, in the order in which people ask: headline, health, charts, tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from facetmt.report import sections
from facetmt.report.digest import Digest
from facetmt.report.headline import cards, health, subtitle, title_of, warnings
from facetmt.report.markup import chart, grid, safe

MIXED = "The mixed baseline has one arm and no curriculum; choose another run above."
NO_REWARD = "This run learned from no rewards; choose another run above."
NOT_YET = "Nothing of this kind is logged yet."
ORDERS = {
    "share": "most drawn",
    "size": "largest",
    "bleu": "best BLEU",
    "gain": "largest gain",
    "name": "name",
}


class Chart(NamedTuple):
    title: str
    read: str  # one sentence: how to read it
    absent: str = NOT_YET  # said where a run has nothing to draw
    of_run: bool = False  # shows the run that the reader chose, not all of them
    style: str = ""
    alone: str = ""  # how to read it where there is but one run


CHARTS = {
    "probs": Chart(
        "Probability of each facet",
        "What the bandit would draw next, from the start on: a line that rises is a facet that paid off.",
        MIXED,
        of_run=True,
        style="wide",
    ),
    "shares": Chart(
        "Batches by facet",
        "Bars: the share of all batches; marks: what proportional, τ = 5 and uniform sampling would have given.",
        style="wide",
    ),
    "epochs": Chart(
        "Effective epochs", "How often each sentence pair of a facet was seen; far above 20 is repetition."
    ),
    "scaled": Chart(
        "Scaled reward by facet",
        "What the bandit learned from: above 0 pulls a facet up, below 0 down.",
        NO_REWARD,
        of_run=True,
    ),
    "bleu": Chart(
        "Average dev BLEU",
        "Higher is better; the dotted line is the first run’s best.",
        alone="Higher is better.",
    ),
    "loss": Chart("Average dev loss", "Lower is better; a rise at the end is overfitting."),
    "facet-bleu": Chart("Dev BLEU by facet", "Whether one facet pays for another’s gain.", of_run=True),
    "facet-loss": Chart("Dev loss by facet", "The same by loss, which is less noisy.", of_run=True),
    "raw": Chart(
        "Raw rewards",
        "The median between the two quantiles to which rewards are clipped; near an edge, the scale is saturated.",
        NO_REWARD,
        of_run=True,
    ),
    "training": Chart("Training loss", "Loss of the batches as they were drawn, so easy facets lower it."),
    "costs": Chart("Where the time went", "Shares of the wall-clock of each run.", style="short"),
}


def body(runs: Sequence[Digest], facets: Sequence[str]) -> str:
    """All of the page but its data and scripts."""
    several = len(runs) > 1

    def read(about: Chart) -> str:
        return about.read if several or not about.alone else about.alone

    def charts(*keys: str) -> str:
        parts = [
            chart(
                key,
                about.title,
                read(about),
                about.absent,
                of_run=about.of_run and several,
                style=about.style,
            )
            for key, about in ((key, CHARTS[key]) for key in keys)
        ]
        return grid(parts, min(len(parts), 2))

    parts = [
        f'<section class="cards">{cards(runs)}</section>',
        warnings(runs),
        f"<h2>Health</h2>{health(runs)}",
        controls(runs, len(facets)),
        "<h2>What it drew</h2>",
        charts("probs"),
        charts("shares"),
        charts("epochs", "scaled"),
        "<h2>What it achieved</h2>",
        charts("bleu", "loss", "facet-bleu", "facet-loss"),
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
        "<noscript><main><p>The charts need JavaScript; all of it is inside this file.</p></main></noscript>"
    )


def controls(runs: Sequence[Digest], facets: int) -> str:
    """What the reader can choose: a run, facets, the horizontal axis."""
    tabs = "".join(
        f'<button type="button" data-run="{place}">{safe(run.name)}</button>'
        for place, run in enumerate(runs)
    )
    chosen = f'<div>Run <span class="segments">{tabs}</span></div>' if len(runs) > 1 else ""
    tops = "".join(f'<option value="{top}">{top}</option>' for top in (5, 10, 20, 50) if top < facets)
    sorts = "".join(f'<option value="{key}">{label}</option>' for key, label in ORDERS.items())
    return (
        f'<nav class="controls" aria-label="What is shown">{chosen}'
        '<label class="search">Facets <input type="search" id="search" placeholder="name, name …" autocomplete="off">'
        f'</label><label>show <select id="top">{tops}<option value="all">all {facets}</option></select></label>'
        f'<label>by <select id="sort">{sorts}</select></label>'
        '<div>over <span class="segments"><button type="button" data-axis="step">steps</button>'
        '<button type="button" data-axis="time">time</button></span></div></nav>'
    )
