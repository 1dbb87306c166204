"""What `facetmt demo` shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from facetmt.bandit import Exp3, Static
from facetmt.bandit import demo as linear
from facetmt.report.plots import probs_figure, write_figure

WHAT = {
    "grammar": "half of the dev set asks for it",
    "lexicon": "the other half",
    "copies": "16 examples of grammar, repeated",
    "noise": "random labels",
}


def bandit_demo(out: Path, *, steps: int, seed: int) -> None:
    """Run the bandit and uniform sampling on the same data; print the shares, write the plot."""
    check_every = max(1, steps // 80)
    bandit = linear.run(
        Exp3(4, learning_rate=0.1, exploration=0.25), steps=steps, seed=seed, check_every=check_every
    )
    uniform = linear.run(Static([0.25] * 4), steps=steps, seed=seed, check_every=check_every)
    table = Table(title=f"Share of {steps:,} batches that the bandit gave to each facet")
    for column in ("facet", "what it is", "share", "final π"):
        table.add_column(column, justify="left" if column in ("facet", "what it is") else "right")
    for arm, name in enumerate(bandit.facets):
        share = bandit.counts[name] / steps
        table.add_row(name, WHAT[name], f"{share:.1%}", f"{bandit.probs[-1, arm]:.3f}")
    console = Console()
    console.print(table)
    console.print(
        f"Dev loss at the end: bandit {bandit.dev_loss[-1]:.3f}, uniform {uniform.dev_loss[-1]:.3f}"
    )
    path = out / "bandit.html"
    write_figure(probs_figure(np.arange(1, steps + 1), bandit.probs, bandit.facets), path)
    console.print(f"Plot of π over time: {path}")
