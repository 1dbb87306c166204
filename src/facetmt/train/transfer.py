"""`facetmt transfer`: what training on each facet does for the dev loss of each, written to transfer.json."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from facetmt.console import progress, say
from facetmt.data.prepared import Prepared, open_prepared
from facetmt.data.store import Store
from facetmt.errors import UserError
from facetmt.files import sha256, write_whole
from facetmt.model.transformer import count_parameters
from facetmt.permutation import permuted, stream_key
from facetmt.runlog import TRANSFER, Run
from facetmt.train.checkpoint import MANIFEST
from facetmt.train.jackknife import Estimate, Floats, two_samples
from facetmt.train.place import Placement
from facetmt.train.products import GROUPS, TOKENS, Plan, Text, make_plan, measure
from facetmt.train.restore import TrainedState, load_state

FORMAT = 1
MOST_FACETS = 16  # rows of the matrix where the user names none: its cost grows with them
CLEAR = 3.0  # errors that the mean of a row must be from 0, or nothing can be relative to it


@dataclass(frozen=True)
class TransferConfig:
    """What the user may choose."""

    facets: Sequence[str] = ()  # whose dev loss is looked at; none: all, or a sample of many
    tokens: int = TOKENS  # of dev and of training text, of each facet
    seed: int = 1  # of the choice of text

    def __post_init__(self) -> None:
        if self.tokens < GROUPS:
            raise UserError(f"--tokens {self.tokens}: too few for {GROUPS} groups of text; give more")


def transfer_run(run: Path, config: TransferConfig) -> Path:
    """Measure at the checkpoint that `evaluate` would score, and replace RUN/transfer.json as a whole."""
    trained = load_state(run)
    prepared = open_prepared(Path(trained.recipe.prepared))
    check_corpus(trained, prepared)
    rows, columns, left_out = choose_facets(trained, prepared, config)
    why = "best by dev BLEU" if has_validated(Run(run), trained.saved.step) else "no validation yet"
    for note in trained.notes:
        say(note)
    if short := [store.name for store in prepared.stores("train") if store not in columns]:
        say(f"without a column, for having fewer than {GROUPS} training pairs: {', '.join(short)}")
    say(f"measuring at the checkpoint of step {trained.saved.step:,} ({why})")
    parameters = count_parameters(trained.state.params)
    plan = make_plan(rows, columns, trained.recipe.batch, parameters, config.tokens, config.seed)
    with progress("gradients", "groups", plan.groups) as pace:
        products = measure(
            trained.graph, trained.state, trained.recipe.optimiser, plan, Placement(), pace.worked
        )
    content = {**about(trained, why, config, left_out), **effects(plan, products)}
    try:
        write_whole(run / TRANSFER, json.dumps(plain(content), indent=1) + "\n")
    except OSError as error:
        raise UserError(f"{run / TRANSFER}: cannot be written ({error.strerror}); make room") from error
    return run / TRANSFER


def check_corpus(trained: TrainedState, prepared: Prepared) -> None:
    """The ids of the text must be the model's, and its facets those that it was trained on."""
    if prepared.vocabulary.fingerprint != trained.codec.vocabulary.fingerprint:
        raise UserError(
            f"{prepared.directory}: prepared again with another vocabulary since the run was trained; "
            "restore the former folder"
        )
    facets = [f"facet {facet.name}" for facet in prepared.facets]
    saved = [key for key in trained.fingerprint if key.startswith("facet ")]
    if changed := sorted(set(facets) ^ set(saved)):
        raise UserError(
            f"{prepared.directory}: prepared again since the run was trained ({', '.join(changed)} came or "
            "went); restore the former folder"
        )
    if changed := [key for key in facets if trained.fingerprint[key] != prepared.fingerprint[key]]:
        say(
            f"{prepared.directory} was prepared again after the run was trained ({', '.join(changed)} "
            "changed); the text that is there now is read"
        )


def has_validated(run: Run, step: int) -> bool:
    return any(row["step"] == step for row in run.validation)


def choose_facets(
    trained: TrainedState, prepared: Prepared, config: TransferConfig
) -> tuple[list[Store], list[Store], dict[str, str]]:
    """Dev stores of the rows, training stores of the columns, and why other facets are not among the rows."""
    dev = {store.name: store for store in prepared.stores("dev")}
    train = [store for store in prepared.stores("train") if len(store) >= GROUPS]
    where = trained.saved.path.parent.parent
    if len(train) < 2:
        raise UserError(
            f"{where}: it has {len(train)} facet of {GROUPS} or more training pairs, but transfer is between "
            "facets; name a run with several"
        )
    left_out = {
        name: f"{len(store)} dev pairs, fewer than {GROUPS}" if len(store) else "no dev text"
        for name, store in dev.items()
        if len(store) < GROUPS
    }
    for name in config.facets:
        if name not in dev:
            near = difflib.get_close_matches(name, dev, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(list(dev)[:10])}"
            raise UserError(f"--facets {name}: the run has no such facet; {hint}")
        if name in left_out:
            raise UserError(f"--facets {name}: {left_out[name]}; choose a facet with more dev text")
    able = [name for name in dev if name not in left_out]
    if not able:
        raise UserError(
            f"{where}: no facet has {GROUPS} or more pairs of dev text, so there is no dev loss to lower; "
            "add dev text and prepare again"
        )
    chosen = list(dict.fromkeys(config.facets)) or sampled(able, trained, config.seed)
    why = "not chosen" if config.facets else "not drawn"
    left_out |= {name: why for name in able if name not in chosen}
    return [dev[name] for name in chosen], train, left_out


def sampled(names: Sequence[str], trained: TrainedState, seed: int) -> list[str]:
    """At most MOST_FACETS, at random; those that count go first."""
    if len(names) <= MOST_FACETS:
        return list(names)
    weights = dict(zip(names, trained.recipe.schedule.weights(names), strict=True))
    order = permuted(np.arange(len(names)), len(names), stream_key(seed, "transfer facets"))
    ranked = sorted((names[place] for place in order.tolist()), key=lambda name: weights[name] <= 0)
    chosen = set(ranked[:MOST_FACETS])
    return [name for name in names if name in chosen]


def about(
    trained: TrainedState, why: str, config: TransferConfig, left_out: dict[str, str]
) -> dict[str, Any]:
    """What the figures were computed from."""
    return {
        "format": FORMAT,
        "step": trained.saved.step,
        "trained_steps": trained.trained_steps,
        "chosen": why,
        "checkpoint": trained.saved.path.name,
        "checkpoint_sha256": sha256(trained.saved.path / MANIFEST),  # it has the hash of each other file
        "seed": config.seed,
        "tokens": config.tokens,
        "groups": GROUPS,
        "objective": trained.recipe.schedule.objective,
        "left_out": left_out,
    }


def effects(plan: Plan, products: Floats) -> dict[str, Any]:
    """The matrix relative to the mean of each row, A[k, j]; its difference from the facet's own text; errors.

    A row whose mean is not clear of its error is left empty: nothing is relative to it.
    """
    names = [text.store.name for text in plan.train]
    rows = [relative(one, own_place(text, names)) for text, one in zip(plan.dev, products, strict=True)]
    means = [two_samples(one, lambda found: found.mean(keepdims=True)) for one in products]
    return {
        "rows": [text.store.name for text in plan.dev],
        "columns": names,
        "matrix": [row.value for row, _ in rows],
        "errors": [row.error for row, _ in rows],
        "freedom": [row.freedom for row, _ in rows],
        "over_own": [own.value for _, own in rows],
        "over_own_errors": [own.error for _, own in rows],
        "over_own_freedom": [own.freedom for _, own in rows],
        "mean": [float(mean.value[0]) for mean in means],
        "mean_errors": [float(mean.error[0]) for mean in means],
        "dev_text": {text.store.name: amount(text) for text in plan.dev},
        "train_text": {text.store.name: amount(text) for text in plan.train},
    }


def own_place(text: Text, names: Sequence[str]) -> int | None:
    return names.index(text.store.name) if text.store.name in names else None


def relative(products: Floats, own: int | None) -> tuple[Estimate, Estimate]:
    """Of one row [G, F, H]: A = a/mean a, and A − A[own]; NaN where they cannot be told."""
    nothing = Estimate(*(np.full(products.shape[1], np.nan) for _ in range(3)))
    mean = two_samples(products, lambda found: found.mean(keepdims=True))
    if not mean.value[0] > CLEAR * mean.error[0]:
        return nothing, nothing
    shares = two_samples(products, lambda found: found / found.mean())
    if own is None:
        return shares, nothing
    return shares, two_samples(products, lambda found: (found - found[own]) / found.mean())


def amount(text: Text) -> dict[str, int]:
    """Rows of packed text and pairs that were read, over all groups."""
    return {"rows": GROUPS * text.shape.rows, "pairs": text.pairs}


def plain(value: Any) -> Any:
    """For JSON, which has no arrays and no NaN."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
