"""The files of a run directory, by name."""

from __future__ import annotations

RECIPE, CHECKPOINTS, SCORES, REPORT = "recipe.yaml", "checkpoints", "scores.json", "report.html"
PULLS, PROBS, METRICS, VALIDATION = "pulls.csv", "probs.csv", "metrics.jsonl", "validation.jsonl"
PULL_COLUMNS = ("step", "facet", "prob", "before", "after", "raw", "scaled")
COMPOSITION = "composition"  # in the column `facet` of a batch that has rows of several facets
FACETS, TRANSLATIONS = "facets.json", "translations"
TRANSFER = "transfer.json"  # what each facet does for the dev loss of each, as `transfer` measured it
OUTCOMES = "outcomes"  # outcomes/NAME holds scores.json and translations/ of `evaluate --name NAME`


def outcome_path(name: str) -> str:
    """Folder of an outcome of `evaluate`, relative to the run and ending in a slash; "" for the plain one."""
    return f"{OUTCOMES}/{name}/" if name else ""
