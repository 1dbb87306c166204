"""Why runs cannot be compared like for like: other text, steps or decoding, old scores, unfinished runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from facetmt.recipe import Recipe, load_recipe
from facetmt.report.digest import finished, unique_names
from facetmt.report.outcomes import Outcome, all_outcomes, numbered, plain, same_text
from facetmt.report.progress import best_of
from facetmt.report.words import listed
from facetmt.runlog import RECIPE, VALIDATION, Run


@dataclass(frozen=True)
class Caveat:
    """Why a row of a table is not like the others; `what` follows the row's name in a sentence."""

    row: str
    what: str


@dataclass(frozen=True)
class Entry:
    """A run among those that are compared."""

    run: Run
    name: str
    recipe: Recipe


def caveats(runs: Sequence[Run]) -> list[Caveat]:
    """Of each run alone, then of each against the first one, the baseline."""
    entries = [
        Entry(run, name, load_recipe(run.directory / RECIPE))
        for run, name in zip(runs, unique_names(runs), strict=True)
    ]
    found: list[Caveat] = []
    for entry in entries:
        found += [Caveat(entry.name, what) for what in unfinished(entry)]
        for outcome in all_outcomes(entry.run):
            found += [Caveat(outcome.label(entry.name), what) for what in outdated(outcome)]
    for entry in entries[1:]:
        found += [
            Caveat(entry.name, what)
            for what in (*other_steps(entries[0], entry), *other_corpus(entries[0], entry))
        ]
    base = plain(runs[0])
    for index, entry in enumerate(entries):
        for outcome in all_outcomes(entry.run):
            if base is not None and (index or outcome.name):
                found += [
                    Caveat(outcome.label(entry.name), what)
                    for what in (
                        *other_tests(base, outcome, entries[0].name),
                        *other_decoding(base, outcome, entries[0].name),
                    )
                ]
    return found


def sentences(found: Sequence[Caveat]) -> list[str]:
    """`NAME, NAME: what`, naming all rows that share a caveat at once."""
    rows: dict[str, list[str]] = {}
    for one in found:
        rows.setdefault(one.what, []).append(one.row)
    return [f"{', '.join(names)}: {what}" for what, names in rows.items()]


def validations(run: Run) -> list[dict[str, Any]]:
    """Nothing where a copy of a run has no logs; its scores can still be compared."""
    return run.validation if (run.directory / VALIDATION).is_file() else []


def unfinished(entry: Entry) -> Iterator[str]:
    done, planned = entry.run.last_step, entry.recipe.train.steps
    if done and not finished(entry.recipe, done, validations(entry.run)):
        yield f"unfinished, at step {done:,} of {planned:,}"


def outdated(outcome: Outcome) -> Iterator[str]:
    """Scores that are older than the latest training."""
    last, steps = outcome.run.last_step, outcome.steps
    if not steps or not last:
        return
    when = outcome.scores.get("trained_steps")
    if when is None:  # scored by an older version: would the same checkpoint be scored now?
        top = best_of(validations(outcome.run))
        old = top.step not in steps if top is not None else max(steps) < last
    else:
        old = int(when) < last
    if old:
        when = f"scored at {numbered(steps)} but trained to {last:,} since"
        yield f"{when}; score it again with `facetmt evaluate`"


def other_steps(base: Entry, entry: Entry) -> Iterator[str]:
    """Early stopping by patience does not matter as long as both could have trained equally long."""
    counts = [one.run.last_step for one in (base, entry)]
    early = [
        done < one.recipe.train.steps and one.recipe.train.patience is not None
        for one, done in zip((base, entry), counts, strict=True)
    ]
    if (
        all(counts)
        and counts[0] != counts[1]
        and not (any(early) and base.recipe.train.steps == entry.recipe.train.steps)
    ):
        yield f"trained for {counts[1]:,} steps, {base.name} for {counts[0]:,}"


def other_corpus(base: Entry, entry: Entry) -> Iterator[str]:
    """By the facets' sizes and languages, and by the settings of `data` other than its folder."""
    first, second = (
        {name: (row.get("train"), row.get("source"), row.get("target")) for name, row in table.items()}
        for table in (base.run.facet_table, entry.run.facet_table)
    )
    if first and second and first != second:
        other = [
            f"{name} {size(second[name])} instead of {size(row)}"
            for name, row in first.items()
            if name in second and second[name] != row
        ]
        parts = [*lost_and_new(first, second), *[listed(other)] * bool(other)]
        yield f"trained on other text than {base.name}: {', '.join(parts)}"
        return
    before, after = ({**asdict(one.recipe.data), "root": ""} for one in (base, entry))
    if changes := changed(before, after):
        yield f"trained on text prepared differently from {base.name}’s: {listed(changes)}"


def size(row: tuple[Any, Any, Any]) -> str:
    return f"{row[0] or 0:,} pairs {row[1]}-{row[2]}"


def lost_and_new(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    lost, new = ([name for name in a if name not in b] for a, b in ((first, second), (second, first)))
    return [f"without {listed(lost)}"] * bool(lost) + [f"with {listed(new)} in addition"] * bool(new)


def other_tests(base: Outcome, outcome: Outcome, base_name: str) -> Iterator[str]:
    first, second = base.scores["facets"], outcome.scores["facets"]
    if parts := lost_and_new(first, second):
        sets = ", ".join(parts)
        yield f"scored on other test sets than {base_name} ({sets}), so the averages cannot be compared"
    shared = [name for name in first if name in second]
    if other := [name for name in shared if same_text(base, outcome, name) is False]:
        yield f"scored on other test text than {base_name}: {listed(other)}"
    if other := [name for name in shared if signature(base, name) != signature(outcome, name)]:
        yield f"scored by another metric than {base_name} (see the SacreBLEU signatures): {listed(other)}"


def signature(outcome: Outcome, facet: str) -> Any:
    return outcome.scores.get("signature_of", {}).get(facet, outcome.scores.get("signature"))


def other_decoding(base: Outcome, outcome: Outcome, base_name: str) -> Iterator[str]:
    """By the settings that both recorded: another version may have others."""
    first, second = base.decoding, outcome.decoding
    both = [key for key in first if key in second or key == "tag"] + ["tag"] * ("tag" in second)
    if changes := changed({key: first.get(key) for key in both}, {key: second.get(key) for key in both}):
        yield f"decoded differently from {base_name}: {', '.join(changes)}"


def changed(first: Mapping[str, Any], second: Mapping[str, Any], prefix: str = "") -> list[str]:
    """`key new instead of old` for every leaf that differs."""
    found = []
    for key in {**first, **second}:
        old, new = first.get(key), second.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found += changed(old, new, f"{prefix}{key}.")
        elif old != new:
            found.append(f"{prefix}{key} {shown(new)} instead of {shown(old)}")
    return found


def shown(value: Any) -> str:
    return "none" if value is None else str(value)
