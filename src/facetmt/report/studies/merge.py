"""Summaries of parts of one study, made on machines that share no files, as one summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from facetmt.errors import UserError
from facetmt.report.studies.summary import Content

SAME = ("baseline", "recipe_sha256")  # what makes two summaries parts of one study
OF_ITS_OWN = ("timing", "versions")  # what differs between two runs of one cell


def merged(own: Content, other: Content, file: Path) -> Content:
    """Both must be of one study, and agree on the results of cells that both have."""
    for key in SAME:
        if own[key] != other[key]:
            raise UserError(
                f"{file}: of another study: its {key} is {other[key]} instead of {own[key]}; "
                "add summaries of the same study only"
            )
    for part, place in ((own, "the study’s folder"), (other, str(file))):
        check_baseline(part, place)
    names = dict.fromkeys([*own["systems"], *other["systems"]])
    systems = {
        name: merged_system(name, own["systems"].get(name), other["systems"].get(name), file)
        for name in names
    }
    return own | {
        "missing": [
            f"{name},{seed}"
            for name, system in systems.items()
            for seed in system["seeds"]
            if str(seed) not in system["cells"]
        ],
        "notes": merged_notes([*own["notes"], *other["notes"]]),
        "caveats": merged_caveats([*own["caveats"], *other["caveats"]]),
        "systems": systems,
    }


def merged_system(name: str, own: Content | None, other: Content | None, file: Path) -> Content:
    if own is None or other is None:
        found = own or other
        assert found is not None  # the name is of one of them
        return found
    if own["overrides"] != other["overrides"]:
        raise UserError(
            f"{file}: its {name} changes {other['overrides']} instead of {own['overrides']}; "
            "give systems with different settings different names"
        )
    for seed in own["cells"].keys() & other["cells"].keys():
        check_same(f"{name},{seed}", own["cells"][seed], other["cells"][seed], file)
    cells = other["cells"] | own["cells"]
    return {
        "overrides": own["overrides"],
        "seeds": sorted({*own["seeds"], *other["seeds"]}),
        "significance": merged_significance(own, other),
        "cells": dict(sorted(cells.items(), key=lambda item: int(item[0]))),
    }


def check_baseline(part: Content, place: str) -> None:
    """A cell is compared with the baseline's of the same seed, whose translations a summary has not."""
    baseline = part["baseline"]
    for name, system in part["systems"].items():
        for seed in system["cells"]:
            if seed not in part["systems"][baseline]["cells"]:
                raise UserError(
                    f"{place}: {name},{seed} was not compared with {baseline},{seed}, which is not there; "
                    "run that cell too and write the summary again"
                )


def check_same(cell: str, own: Content, other: Content, file: Path) -> None:
    differ = [key for key in own if key not in OF_ITS_OWN and own[key] != other.get(key)]
    if differ:
        raise UserError(
            f"{file}: {cell} has other results there ({', '.join(differ)}); a cell has the same results on "
            "machines with the same processor, versions and number of cores: remove one of the two"
        )


def merged_significance(own: Content, other: Content) -> Mapping[str, Any]:
    """Of the side that has all cells; where each has its own, the least certain counts and all must agree."""
    for one, rest in ((own, other), (other, own)):
        if rest["cells"].keys() <= one["cells"].keys():
            found: Mapping[str, Any] = one["significance"]
            return found
    first, second = own["significance"], other["significance"]
    return {facet: least_certain(first[facet], second[facet]) for facet in first if facet in second}


def least_certain(one: Mapping[str, float], other: Mapping[str, float]) -> Mapping[str, float]:
    least = max(one, other, key=lambda tested: tested["p"])
    same = one["gain"] * other["gain"] > 0
    return least if same else {"p": 1.0, "gain": least["gain"]}


def merged_notes(notes: Sequence[str]) -> list[str]:
    """Each once; of two that begin alike, the one that says more."""
    return [
        one
        for one in dict.fromkeys(notes)
        if not any(other != one and other.startswith(one.removesuffix(".")) for other in notes)
    ]


def merged_caveats(lines: Sequence[str]) -> list[str]:
    """`NAME, NAME: what`; what is said of several rows is said once."""
    rows: dict[str, dict[str, None]] = {}
    for line in lines:
        names, _, what = line.partition(": ")
        rows.setdefault(what, {}).update(dict.fromkeys(names.split(", ")))
    return [f"{', '.join(names)}: {what}" for what, names in rows.items()]
