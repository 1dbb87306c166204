"""What `facetmt demo` shows: on its own corpus, the same budget for the mixed baseline and for the bandit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from facetmt.bandit import Exp3, Static
from facetmt.bandit import demo as linear
from facetmt.errors import UserError
from facetmt.report.plots import probs_figure, write_figure

WHAT = {
    "grammar": "half of the dev set asks for it",
    "lexicon": "the other half",
    "copies": "16 examples of grammar, repeated",
    "noise": "random labels",
}

# Five facets with the size ratios of the paper's multi-domain task; a model that learns them on two CPU cores.
RECIPE = """\
data:
  root: corpus
  source: de
  target: en
  max_length: 48
  dev_pairs: 60
  vocab: {size: 2000}
batch: {rows: 24, length: 64}
model: {preset: tiny}
optimiser: {schedule: peak-rsqrt, learning_rate: 0.003, warmup: 200}
schedule: {policy: exp3, reward: dev-pgnorm, learning_rate: 0.03, exploration: 0.5}  # by dev BLEU: docs/bandit.md
train: {steps: 600, validate_every: 100, log_every: 50}
decode: {beam: 4, max_length: 60}
"""
MARKER = "facetmt-demo"  # in a folder that the demo made, and may therefore make again
SYSTEMS = {"mixed": ["schedule.policy=mixed"], "bandit": []}
SAMPLES = 5


def translation_demo(out: Path, *, steps: int | None) -> None:
    """Make the corpus, train both systems, score them, and write the report."""
    from facetmt.data.demo import DemoConfig, write
    from facetmt.recipe import load_recipe
    from facetmt.report.page import write_report
    from facetmt.train.apply import evaluate_run
    from facetmt.train.run import train

    clear(out)
    console = Console()
    write(DemoConfig(), out / "corpus")
    (out / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    runs = {name: out / name for name in SYSTEMS}
    for name, overrides in SYSTEMS.items():
        console.rule(f"training: {name}")
        budget = (
            [] if steps is None else [f"train.steps={steps}", f"train.validate_every={max(1, steps // 6)}"]
        )
        outcome = train(load_recipe(out / "recipe.yaml", [*overrides, *budget]), runs[name])
        if not outcome.finished:
            raise UserError("the demo was interrupted; run it again")
        evaluate_run(runs[name], [], quiet=True)
    console.rule("results")
    console.print(score_table(runs))
    console.print(share_table(runs["bandit"]))
    print_samples(runs["bandit"], console)
    page = write_report(list(runs.values()), out / "report.html")
    console.print(f"Report: {page}")


def clear(out: Path) -> None:
    """An empty folder that is known to be the demo's."""
    if out.exists() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UserError(f"{out} is not empty and not a folder of the demo; give another --out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / MARKER).write_text(
        "made by facetmt demo, which empties this folder when it runs again\n", encoding="utf-8"
    )


def score_table(runs: dict[str, Path]) -> Table:
    scores = {
        name: json.loads((run / "scores.json").read_text(encoding="utf-8")) for name, run in runs.items()
    }
    table = Table(title="Test BLEU after the same number of steps")
    table.add_column("system")
    facets = list(next(iter(scores.values()))["facets"])
    for column in ("average", *facets):
        table.add_column(column, justify="right")
    for name, score in scores.items():
        cells = [score["average"]["bleu"], *(score["facets"][facet]["bleu"] for facet in facets)]
        table.add_row(name, *(f"{cell:.1f}" for cell in cells))
    return table


def share_table(run: Path) -> Table:
    """What the bandit chose, beside what the corpus holds."""
    from facetmt.runlog import Run

    pulls = Run(run).pulls
    counts = np.bincount(pulls.facet, minlength=len(pulls.names))
    sizes = {name: row["train"] for name, row in json.loads((run / "facets.json").read_text("utf-8")).items()}
    table = Table(title="Share of each facet")
    for column in ("facet", "of the corpus", "of the bandit's batches"):
        table.add_column(column, justify="left" if column == "facet" else "right")
    for name, count in zip(pulls.names, counts.tolist(), strict=True):
        table.add_row(name, f"{sizes[name] / sum(sizes.values()):.1%}", f"{count / len(pulls.facet):.1%}")
    return table


def print_samples(run: Path, console: Console) -> None:
    """One translation of each of the first facets."""
    console.print("Translations by the bandit's model:")
    for path in sorted((run / "translations").glob("*.jsonl"))[:SAMPLES]:
        row = json.loads(path.read_text(encoding="utf-8").splitlines()[3])
        console.print(
            f"  {path.stem}: {row['source']}\n  → {row['hypothesis']}", highlight=False, markup=False
        )


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
