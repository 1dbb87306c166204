"""What a summary says of a study: everything that its tables and plots are made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from facetmt.report.comparable import caveats, sentences
from facetmt.report.digest import Digest, digest
from facetmt.report.outcomes import plain
from facetmt.report.progress import Mark, best, choosing_share, reached
from facetmt.report.significance import compared
from facetmt.report.studies.folder import Cell, Folder
from facetmt.report.systems import step_seconds
from facetmt.report.tables import known_sizes
from facetmt.runlog import Run

VERSION = 1
CURVE, SHARES = 100, 40  # points of a dev curve, and of shares over time
OF_TEST = ("facets", "average", "groups", "signature", "signature_of", "steps", "trained_steps", "tag")

Content = dict[str, Any]


def summary(folder: Folder) -> Content:
    """The content of summary.json; what depends on the clock is in each cell's `timing` alone."""
    digests = {cell: digest(Run(cell.run(folder.path)), SHARES) for cell in folder.finished()}
    runs = [one.logs for one in digests.values()]
    tested, notes = significance(folder, digests)
    recipe = without_places(folder.recipe)
    return {
        "version": VERSION,
        "baseline": folder.baseline,
        "sizes": known_sizes(runs),
        "missing": [str(cell) for cell in folder.cells if cell not in digests],
        "notes": notes,
        "caveats": sentences(caveats(runs)),
        "systems": {
            name: {
                "overrides": system.overrides,
                "seeds": list(system.seeds),
                "significance": tested.get(name, {}),
                "cells": {
                    str(cell.seed): cell_summary(folder, cell, digests)
                    for cell in digests
                    if cell.system == name
                },
            }
            for name, system in folder.systems.items()
        },
        "recipe_sha256": hashlib.sha256(recipe.encode()).hexdigest(),
        "recipe": recipe,
    }


def significance(folder: Folder, digests: Mapping[Cell, Digest]) -> tuple[dict[str, Content], list[str]]:
    """By system and facet: p and gain over the baseline, as `compare` tests them on BLEU."""
    outcomes: dict[str, list[Any]] = {}
    for cell, one in digests.items():  # the baseline's come first
        outcomes.setdefault(cell.system, []).append(plain(one.logs))
    names = list(outcomes)
    if names[0] != folder.baseline:
        return {}, [f"Significance not tested: no cell of the baseline {folder.baseline} is finished."]
    rows = [outcome.scores["facets"] for seeds in outcomes.values() for outcome in seeds]
    facets = list(dict.fromkeys(facet for row in rows for facet in row))
    found = compared(list(outcomes.values()), facets, "bleu")
    tested: dict[str, Content] = {}
    for (index, facet), (p, gain) in sorted(found.values.items(), key=lambda item: item[0][0]):
        tested.setdefault(names[index], {})[facet] = {"p": rounded(p, 4), "gain": rounded(gain, 4)}
    return tested, found.notes


def cell_summary(folder: Folder, cell: Cell, digests: Mapping[Cell, Digest]) -> Content:
    one = digests[cell]
    test = one.logs.scores or {}
    top, target = best(one), baseline_best(folder, cell, digests)
    reach = None if target is None else reached(one, target.bleu)
    rows = [one.validation[index] for index in thinned(len(one.validation), CURVE)]
    last = one.validation[-1]
    return {
        "policy": one.recipe.schedule.policy,
        "test": {key: test[key] for key in OF_TEST if test.get(key) is not None},
        "dev": {
            "best": None if top is None else {"bleu": rounded(top.bleu, 4), "step": top.step},
            "final": {kind: rounded(last[kind], 4) for kind in ("step", "loss", "bleu")},
            "reach": {
                "bleu": None if target is None else rounded(target.bleu, 4),
                "step": None if reach is None else reach.step,
            },
            "curve": {
                "step": [row["step"] for row in rows],
                "loss": [rounded(row["loss"]["average"], 4) for row in rows],
                "bleu": [rounded(row["bleu"]["average"], 3) for row in rows],
            },
        },
        "shares": shares(one),
        "versions": versions(cell.about(folder.path)),
        "timing": {
            "seconds": round(one.seconds, 1),
            "ms_per_step": rounded(milliseconds(one.logs), 2),
            "measuring_share": rounded(choosing_share(one), 4),
            "best_seconds": None if top is None else round(top.seconds, 1),
            "reach_seconds": None if reach is None else round(reach.seconds, 1),
            "curve_seconds": [round(row["seconds"], 1) for row in rows],
        },
    }


def baseline_best(folder: Folder, cell: Cell, digests: Mapping[Cell, Digest]) -> Mark | None:
    """Best dev BLEU of the baseline with the same seed; of its first finished seed if it has no such one."""
    bases = [one for one in digests if one.system == folder.baseline]
    base = next((one for one in bases if one.seed == cell.seed), bases[0] if bases else None)
    return None if base is None else best(digests[base])


def shares(one: Digest) -> Content:
    """Over time where the policy decides them, and over the whole training; epochs in the end."""
    over_time = None
    if one.probs is not None:
        columns = zip(one.facets, one.probs.T.tolist(), strict=True)
        over_time = {
            "step": one.prob_step.tolist(),
            "facets": {name: rounded(values, 4) for name, values in columns},
        }
    return {
        "over_time": over_time,
        "training": by_facet(one, one.share),
        "epochs": by_facet(one, one.epochs),
    }


def by_facet(one: Digest, values: Any) -> Content | None:
    return None if values is None else dict(zip(one.facets, rounded(values.tolist(), 4), strict=True))


def milliseconds(run: Run) -> float | None:
    seconds = step_seconds(run)
    return None if seconds is None else 1000 * seconds


def versions(path: Path) -> list[Content]:
    """Of every process that worked on a cell; none where the file did not travel along."""
    found: list[Content] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return found


def without_places(recipe: str) -> str:
    """A resolved recipe whose folders are mere names: it says nothing about the machine."""
    tree = yaml.safe_load(recipe)
    tree["prepared"] = Path(tree["prepared"]).name
    tree["data"]["root"] = Path(tree["data"]["root"]).name
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def thinned(length: int, points: int) -> list[int]:
    """Evenly spaced places, the first and the last among them."""
    chosen: list[int] = np.unique(
        np.linspace(0, length - 1, min(length, points)).round().astype(int)
    ).tolist()
    return chosen


def rounded(value: Any, digits: int) -> Any:
    """Numbers anywhere in a value, with at most this many decimals."""
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, Mapping):
        return {key: rounded(item, digits) for key, item in value.items()}
    return [rounded(item, digits) for item in value] if isinstance(value, list | tuple) else value
