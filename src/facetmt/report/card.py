"""The model card: what the model is, what it was trained on, how much each facet mattered, how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import yaml

from facetmt.errors import UserError
from facetmt.recipe import dump_recipe
from facetmt.report.comparable import caveats, sentences
from facetmt.report.digest import Digest, digest
from facetmt.report.health import examine
from facetmt.report.outcomes import all_outcomes, described, plain
from facetmt.report.progress import best
from facetmt.report.tables import markdown_text
from facetmt.report.words import duration
from facetmt.runlog import Run

FILL = "TO FILL IN"
REASONS = 8  # the latest changes of shares that a card explains


def model_card(run: Run) -> str:
    """Markdown with the front matter of a Hugging Face repository; what was not logged is left to fill in."""
    seen = digest(run)
    if languages(seen) == ([FILL], [FILL]) and seen.recipe.data.pivot is None:
        raise UserError(
            f"{run.directory}: trained by another loop, whose model is unknown here; name a run of "
            "`facetmt train`"
        )
    parts = [
        front_matter(seen),
        f"# {markdown_text(seen.name)}\n\n{summary(seen)}",
        uses(),
        data_use(seen),
        training(seen),
        evaluation(seen),
        limits(seen),
        recipe_section(seen),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def languages(run: Digest) -> tuple[list[str], list[str]]:
    """Source and target languages, each once."""
    rows = run.logs.facet_table.values()
    source, target = (
        sorted({str(row[side]) for row in rows if row.get(side)}) for side in ("source", "target")
    )
    config = run.recipe.data
    return source or [config.source or FILL], target or [config.target or FILL]


def front_matter(run: Digest) -> str:
    source, target = languages(run)
    front: dict[str, Any] = {
        "language": sorted({*source, *target} - {FILL}) or [FILL],
        "license": FILL,
        "library_name": "facetmt",
        "pipeline_tag": "translation",
        "tags": ["translation", "multi-armed-bandit", "curriculum-learning"],
        "datasets": [FILL],
        "metrics": ["bleu", "chrf"],
    }
    if results := scored(run):
        front["model-index"] = [{"name": run.name, "results": results}]
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---"


def scored(run: Digest) -> list[dict[str, Any]]:
    """Test scores in the form of a model index."""
    scores = run.logs.scores or {}
    return [
        {
            "task": {"type": "translation"},
            "dataset": {"name": f"{facet} (test)", "type": FILL},
            "metrics": [
                {"type": kind, "name": label, "value": round(float(values[kind]), 2)}
                for kind, label in (("bleu", "BLEU"), ("chrf", "chrF"))
                if kind in values
            ],
        }
        for facet, values in scores.get("facets", {}).items()
    ]


def summary(run: Digest) -> str:
    source, target = (", ".join(side) for side in languages(run))
    model = run.recipe.model
    return (
        f"Machine translation from {source} to {target}: a Transformer (`{model.preset}`) trained with "
        f"facetmt on {len(run.facets)} facets of data, sampled by {run.recipe.schedule.label}. "
        f"It was trained for {run.steps:,} steps in {duration(run.seconds)} of wall-clock"
        + (
            "."
            if run.finished
            else f"; the training is unfinished: {run.recipe.train.steps:,} steps are planned."
        )
    )


def uses() -> str:
    return (
        f"## Intended use\n\n- Meant for: {FILL}\n- Not meant for: text that decides about people "
        f"(medical, legal, administrative) without a translator who checks it. {FILL}\n- Contact: {FILL}"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def data_use(run: Digest) -> str:
    """How much each facet mattered (the paper's closing proposal), and why where the policy said so."""
    if run.share is None:
        return f"## Training data\n\n{FILL}"
    head = ["Facet", "Training pairs", "Share of training", "Share of the data", "Epochs", "Mean reward"]
    rows = []
    for index in (-run.share).argsort(kind="stable").tolist():
        natural = None if run.sizes is None else float(run.sizes[index] / run.sizes.sum())
        rows.append(
            [
                markdown_text(run.facets[index]),
                shown(None if run.sizes is None else float(run.sizes[index]), "{:,.0f}"),
                shown(float(run.share[index]), "{:.1%}"),
                shown(natural, "{:.1%}"),
                shown(None if run.epochs is None else float(run.epochs[index]), "{:.2f}"),
                shown(None if run.mean_rewards is None else float(run.mean_rewards[index]), "{:+.3f}"),
            ]
        )
    parts = [
        "## Training data: how much each facet mattered",
        how_shared(run),
        table(head, rows),
        *reasons(run),
    ]
    return "\n\n".join([*parts, f"Origin and licence of each facet: {FILL}"])


def how_shared(run: Digest) -> str:
    """What the shares were computed from."""
    if run.composed:
        return "The share of training is the mean share of the rows of a batch, over all steps."
    if run.batches is None:
        return "The share of training is the share of the data: all facets were shuffled together."
    if run.mean_rewards is None:
        return "The share of training is the share of the batches."
    return (
        "The share of training is the share of batches that the bandit drew; the mean reward is the progress "
        "that it saw there, scaled to [−1, 1]. The facet that was drawn most did not necessarily teach most."
    )


def reasons(run: Digest) -> list[str]:
    """The latest changes of shares, in the policy's own words."""
    lines = [f"- {markdown_text(sentence)}" for sentence in run.news[-REASONS:]]
    count = f"the last {REASONS} of {len(run.news)}" if len(run.news) > REASONS else "all"
    return [f"Why shares changed ({count}):", "\n".join(lines)] if lines else []


def shown(value: float | None, pattern: str) -> str:
    return "–" if value is None or value != value else pattern.format(value)


def training(run: Digest) -> str:
    schedule, optimiser, batch = run.recipe.schedule, run.recipe.optimiser, run.recipe.batch
    lines = [
        f"- Sampling: {run.recipe.schedule.label}",
        f"- Batches: {batch.rows} rows of {batch.length} tokens" + ", of several facets" * run.composed,
        f"- Optimiser: Adam, learning rate {optimiser.learning_rate:g} ({optimiser.schedule}), "
        f"{optimiser.warmup:,} steps of warm-up, label smoothing {optimiser.label_smoothing:g}",
        f"- Seed: {run.recipe.seed}",
    ]
    if schedule.step_reward:
        lines.insert(
            1, f"- Bandit: learning rate {schedule.learning_rate:g}, exploration {schedule.exploration:g}"
        )
    if mark := best(run):
        lines.append(f"- Chosen by dev BLEU: {mark.bleu:.2f} at step {mark.step:,}")
    return "## Training\n\n" + "\n".join(lines) + f"\n- Hardware and energy: {FILL}"


def evaluation(run: Digest) -> str:
    """A table per outcome, with the checkpoint and the decoding behind it."""
    found = all_outcomes(run.logs)
    if not found:
        return f"## Evaluation\n\nNot evaluated yet. {FILL}"
    warnings = [f"**Careful: {markdown_text(line)}**" for line in sentences(caveats([run.logs]))]
    parts = []
    for outcome in found:
        scores, title = outcome.scores, f"Outcome `{outcome.name}`: " if outcome.name else ""
        rows = [["**Average**", *figures(scores["average"], "**{:.2f}**")]]
        for part in ("groups", "facets"):
            rows += [
                [markdown_text(name), *figures(row, "{:.2f}")] for name, row in scores.get(part, {}).items()
            ]
        parts += [
            f"{title}checkpoint and decoding: {described(outcome)}",
            table(["Test set", "BLEU", "chrF"], rows),
        ]
    signatures = "\n".join(f"- `{signature}`" for signature in found[0].scores["signature"].values())
    return "\n\n".join(["## Evaluation", *warnings, *parts, "SacreBLEU signatures:", signatures])


def figures(row: Mapping[str, Any], pattern: str) -> list[str]:
    return [shown(row.get(kind), pattern) for kind in ("bleu", "chrf")]


def limits(run: Digest) -> str:
    notes = [f"- {markdown_text(finding.what)}" for finding in examine(run)]
    return "## Limitations\n\n" + "\n".join([*notes, f"- Biases of the training data: {FILL}"])


def recipe_section(run: Digest) -> str:
    """The recipe without paths of the machine that it ran on, and with the decoding behind the scores."""
    recipe, outcome = run.recipe, plain(run.logs)
    data = replace(recipe.data, root=PurePath(recipe.data.root).name)
    used = {} if outcome is None else outcome.scores.get("decode", {})
    decode = replace(recipe.decode, **{key: used[key] for key in vars(recipe.decode) if key in used})
    text = dump_recipe(replace(recipe, data=data, prepared=PurePath(recipe.prepared).name, decode=decode))
    other = ""
    if decode != recipe.decode:
        other = "`decode` is that of the scores above, not of the training recipe.\n\n"
    fence = "````" if "```" in text else "```"
    return f"## Recipe\n\n{other}{fence}yaml\n{text}{fence}"
