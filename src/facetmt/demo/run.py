"""`facetmt demo`: the mixed baseline and the bandit trained on the demo corpus with the same budget."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from facetmt.bandit import Exp3, Static
from facetmt.demo import classifier
from facetmt.errors import UserError
from facetmt.report.figures.plots import probs_figure, write_figure

WHAT = {
    "grammar": "half of the dev set",
    "lexicon": "the other half",
    "copies": "16 examples of grammar, repeated",
    "noise": "random labels",
}

# Five facets with the size ratios of the paper's multi-domain task; a model small enough for two CPU cores.
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
# chosen by dev BLEU: docs/bandit.md
schedule: {policy: exp3, reward: dev-pgnorm, learning_rate: 0.03, exploration: 0.5}
train: {steps: 600, validate_every: 100, log_every: 50}
decode: {beam: 4, max_length: 60}
"""
MARKER = "facetmt-demo"  # marks a folder made by the demo, which the demo may therefore empty
SYSTEMS = {"mixed": ["schedule.policy=mixed"], "bandit": []}
SAMPLES = 5


def translation_demo(out: Path, *, steps: int | None) -> None:
    """Generate the corpus, train both systems, score them, and write the report."""
    from facetmt.demo.corpus import DemoConfig, write
    from facetmt.recipe import load_recipe
    from facetmt.report.page import write_report
    from facetmt.train.apply import evaluate_run
    from facetmt.train.run import train

    clear(out)
    console = Console()
    write(DemoConfig(), out / "corpus")
    (out / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    runs = {name: out / name for name in SYSTEMS}
    budget = [] if steps is None else [f"train.steps={steps}", f"train.validate_every={max(1, steps // 6)}"]
    for name, overrides in SYSTEMS.items():
        console.rule(f"training: {name}")
        outcome = train(load_recipe(out / "recipe.yaml", [*overrides, *budget]), runs[name])
        if not outcome.finished:
            raise UserError("demo: interrupted before the end; run it again")
        evaluate_run(runs[name], [], quiet=True)
    console.rule("results")
    console.print(score_table(runs))
    console.print(share_table(runs["bandit"]))
    print_samples(runs["bandit"], console)
    page = write_report(list(runs.values()), out / "report.html")
    console.print(f"Report: {page}")


def clear(out: Path) -> None:
    """Empty the folder and mark it as the demo's; refuse a folder that the demo did not make."""
    if out.exists() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UserError(f"{out}: not empty and not made by the demo; choose another --out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / MARKER).write_text(
        "made by facetmt demo, which empties this folder when it is run again\n", encoding="utf-8"
    )


def score_table(runs: dict[str, Path]) -> Table:
    """Test BLEU of each system, on average and per facet."""
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
    """Each facet's share of the corpus and of the bandit's batches."""
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
    """One translation per facet, for the first facets."""
    console.print("Translations by the bandit's model:")
    for path in sorted((run / "translations").glob("*.jsonl"))[:SAMPLES]:
        row = json.loads(path.read_text(encoding="utf-8").splitlines()[3])
        console.print(
            f"  {path.stem}: {row['source']}\n  → {row['hypothesis']}", highlight=False, markup=False
        )


def bandit_demo(out: Path, *, steps: int, seed: int) -> None:
    """Run the bandit and uniform sampling on the same data; print the shares and write the plot."""
    check_every = max(1, steps // 80)
    bandit = classifier.run(
        Exp3(4, learning_rate=0.1, exploration=0.25), steps=steps, seed=seed, check_every=check_every
    )
    uniform = classifier.run(Static([0.25] * 4), steps=steps, seed=seed, check_every=check_every)
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
