"""All figures of a report: what each is called, how to read it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from facetmt.report.digest import Digest
from facetmt.report.figures import bars, curves, heat
from facetmt.report.figures.plots import Style

NO_ARMS = "This run draws from all facets at once: one arm, no curriculum."
NO_REWARDS = "This run learned from no rewards."
NO_FACET_REWARDS = "No reward of this run belongs to a single facet."
NOT_MEASURED = "Not measured for this run; measure it with `facetmt transfer RUN`."
NOT_YET = "Nothing of this kind is logged yet."


class Chart(NamedTuple):
    title: str
    read: str  # one sentence: how to read it
    absent: str = NOT_YET  # shown where a run has nothing to draw
    per_run: bool = False  # shows the run that the reader chose, not all of them
    style: str = ""


CHARTS = {
    "probs": Chart(
        "Probability of each facet",
        "What would be drawn next, from the start on: a rising line is a facet that paid off.",
        NO_ARMS,
        per_run=True,
        style="wide",
    ),
    "shares": Chart(
        "Training by facet",
        "Bars: share of the training; marks: what proportional, τ = 5 and uniform sampling would have given.",
        style="wide",
    ),
    "epochs": Chart(
        "Effective epochs", "How often each sentence pair of a facet was seen; far above 20 is repetition."
    ),
    "scaled": Chart(
        "Scaled reward by facet",
        "What the bandit learned from: above 0 raises a facet's probability, below 0 lowers it. "
        "`facetmt diagnose RUN` says whether the differences are more than noise.",
        NO_FACET_REWARDS,
        per_run=True,
    ),
    "bleu": Chart("Average dev BLEU", "Higher is better; the dotted line is the first run’s best."),
    "loss": Chart("Average dev loss", "Lower is better; a rise at the end is overfitting."),
    "facet-bleu": Chart("Dev BLEU by facet", "Whether one facet pays for another’s gain.", per_run=True),
    "facet-loss": Chart("Dev loss by facet", "The same by loss, which is less noisy.", per_run=True),
    "transfer": Chart(
        "Effect of training on one facet on the dev loss of another",
        "Relative to the average of the row, 1: above it training there helps more, below 0 it harms.",
        NOT_MEASURED,
        per_run=True,
        style="wide",
    ),
    "raw": Chart(
        "Raw rewards",
        "Median, and the two quantiles that rewards are clipped to; near one of them the scale is saturated.",
        NO_REWARDS,
        per_run=True,
    ),
    "training": Chart("Training loss", "Loss of the batches as they were drawn, so easy facets lower it."),
    "costs": Chart("Where the time went", "Shares of the wall-clock of each run.", style="short"),
}
COMPOSED = CHARTS["probs"]._replace(
    title="Share of each facet", read="Of the rows of a batch, from the start on; below, why shares changed."
)


def described(key: str, runs: Sequence[Digest]) -> Chart:
    """The chart, in the words that fit these runs."""
    chart = CHARTS[key]
    if key == "bleu" and len(runs) == 1:
        return chart._replace(read="Higher is better.")
    drawn = [run for run in runs if run.probs is not None]
    if key == "probs" and drawn and all(run.composed for run in drawn):
        return COMPOSED
    return chart


def leader(runs: Sequence[Digest]) -> Digest:
    """The run to look at first: the first one that learns what to draw."""
    return next((run for run in runs if run.learns), runs[0])


def ranked_facets(runs: Sequence[Digest]) -> list[str]:
    """All facets of all runs, by what the leading run gave them, most first."""
    names = list(dict.fromkeys(name for run in runs for name in run.facets))
    first = leader(runs)
    share = {} if first.share is None else dict(zip(first.facets, first.share.tolist(), strict=True))
    return sorted(names, key=lambda name: -share.get(name, 0.0))


def all_figures(runs: Sequence[Digest], facets: Sequence[str], styles: Style) -> dict[str, Any]:
    """By key: one figure, or a list with one per run; None where there is nothing to draw."""
    return {
        "probs": [curves.probabilities(run, styles) for run in runs],
        "shares": bars.training_shares(runs, facets),
        "epochs": bars.effective_epochs(runs, facets),
        "scaled": [curves.facet_rewards(run, styles) for run in runs],
        "bleu": curves.average_quality(runs, "bleu"),
        "loss": curves.average_quality(runs, "loss"),
        "facet-bleu": [curves.facet_quality(run, styles, "bleu") for run in runs],
        "facet-loss": [curves.facet_quality(run, styles, "loss") for run in runs],
        "transfer": [heat.transfer(run) for run in runs],
        "raw": [curves.raw_rewards(run, curves.run_colour(index, runs)) for index, run in enumerate(runs)],
        "training": curves.training_loss(runs),
        "costs": bars.costs(runs),
    }
