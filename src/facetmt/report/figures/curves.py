"""Figures over steps: quality of the runs, quality of each facet, training loss, rewards."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from facetmt.report.digest import Digest
from facetmt.report.figures.plots import DASHES, RUN_COLOURS, Style, curve, framed, probs_figure
from facetmt.report.progress import best

LABELS = {"bleu": "dev BLEU", "loss": "dev loss"}


def run_colour(index: int, runs: Sequence[Digest]) -> str:
    """The same in all figures; grey is for the baseline, so a single run is not grey."""
    return RUN_COLOURS[index % len(RUN_COLOURS) if len(runs) > 1 else 1]


def run_line(index: int, runs: Sequence[Digest]) -> dict[str, str]:
    return {"color": run_colour(index, runs), "dash": DASHES[index // len(RUN_COLOURS) % len(DASHES)]}


def number(value: float | None) -> float:
    return math.nan if value is None else value


def probabilities(run: Digest, styles: Style) -> go.Figure | None:
    """π of each facet over the steps (paper, appendix D); its shares where batches mix facets."""
    if run.probs is None or not len(run.prob_step):
        return None
    figure = probs_figure(run.prob_step, run.probs, run.facets, styles, run.seconds_at(run.prob_step))
    return figure.update_yaxes(title_text="share of a batch") if run.composed else figure


def average_quality(runs: Sequence[Digest], metric: str) -> go.Figure | None:
    """Average dev BLEU or loss of every run (paper, figure 2); a dotted line is the baseline's best BLEU."""
    traces = [
        curve(
            [row["step"] for row in run.validation],
            [number(row[metric]["average"]) for row in run.validation],
            run.name,
            run_line(index, runs),
            seconds=np.array([row["seconds"] for row in run.validation], dtype=np.float32),
        ).update(mode="lines+markers", marker={"size": 5})
        for index, run in enumerate(runs)
        if run.validation
    ]
    if not traces:
        return None
    figure = framed(traces, x="step", y=LABELS[metric])
    target = best(runs[0])
    if metric == "bleu" and target and len(runs) > 1:
        figure.add_hline(y=target.bleu, line={"dash": "dot", "width": 1, "color": RUN_COLOURS[0]})
    if metric == "loss":
        figure.update_yaxes(rangemode="normal")
    return figure


def facet_quality(run: Digest, styles: Style, metric: str) -> go.Figure | None:
    """Dev BLEU or loss of each facet of one run."""
    if not run.validation:
        return None
    steps = [row["step"] for row in run.validation]
    seconds = np.array([row["seconds"] for row in run.validation], dtype=np.float32)
    present = [name for name in run.facets if name in run.validation[-1][metric]["facets"]]
    traces = [
        curve(
            steps,
            [number(row[metric]["facets"].get(name)) for row in run.validation],
            name,
            styles[name],
            facet=name,
            seconds=seconds,
        )
        for name in present
    ]
    figure = framed(traces, x="step", y=LABELS[metric])
    if metric == "loss":
        figure.update_yaxes(rangemode="normal")
    return figure


def training_loss(runs: Sequence[Digest]) -> go.Figure | None:
    """Loss of the training batches of every run."""
    traces = [
        curve(
            [row["step"] for row in run.metrics],
            [number(row.get("loss")) for row in run.metrics],
            run.name,
            {**run_line(index, runs), "width": 1.5},
            seconds=np.array([row["seconds"] for row in run.metrics], dtype=np.float32),
        )
        for index, run in enumerate(runs)
        if run.metrics
    ]
    return framed(traces, x="step", y="training loss", yaxis={"rangemode": "normal"}) if traces else None


def raw_rewards(run: Digest, colour: str) -> go.Figure | None:
    """Median raw reward and the two quantiles that rewards are clipped to, in the colour of the run."""
    rewards = run.rewards
    if rewards is None:
        return None
    seconds = run.seconds_at(rewards.step).astype(np.float32)
    schedule = run.recipe.schedule
    band = {"color": colour, "width": 1, "dash": "dot"}
    low = curve(rewards.step, rewards.low, f"{schedule.low:.0%} quantile", band, seconds=seconds)
    high = curve(rewards.step, rewards.high, f"{schedule.high:.0%} quantile", band, seconds=seconds)
    red, green, blue = (int(colour[index : index + 2], 16) for index in (1, 3, 5))
    high.update(fill="tonexty", fillcolor=f"rgba({red}, {green}, {blue}, 0.12)")
    middle = curve(
        rewards.step, rewards.raw, "median reward", {"color": colour, "width": 1.5}, seconds=seconds
    )
    figure = framed([low, high, middle], x="step", y=f"raw {schedule.reward}", yaxis={"rangemode": "normal"})
    # the first rewards are larger by orders of magnitude and would flatten all others
    settled = slice(len(rewards.step) // 20, None)
    floor, ceiling = float(rewards.low[settled].min()), float(rewards.high[settled].max())
    room = 0.15 * (ceiling - floor)
    return figure.update_yaxes(range=[floor - room, ceiling + room]) if room > 0 else figure


def facet_rewards(run: Digest, styles: Style) -> go.Figure | None:
    """Mean scaled reward of each facet along the run."""
    rewards = None if run.rewards is None else run.rewards.by_facet
    if rewards is None:
        return None
    seconds = run.seconds_at(rewards.step).astype(np.float32)
    traces = [
        curve(rewards.step, rewards.scaled[:, arm], name, styles[name], facet=name, seconds=seconds)
        for arm, name in enumerate(run.facets)
    ]
    for trace in traces:
        trace.update(connectgaps=True)
    figure = framed(traces, x="step", y="scaled reward", yaxis={"rangemode": "normal"})
    unscaled = np.nanmax(np.abs(rewards.scaled)) > 1  # odm learns from rewards as they are measured
    return figure if unscaled else figure.update_yaxes(range=[-1, 1])
