"""The run directory: its files, the writer of its logs, and their reader."""

from facetmt.runlog.names import (
    CHECKPOINTS,
    COMPOSITION,
    FACETS,
    METRICS,
    OUTCOMES,
    PROBS,
    PULL_COLUMNS,
    PULLS,
    RECIPE,
    REPORT,
    SCORES,
    TRANSFER,
    TRANSLATIONS,
    VALIDATION,
    outcome_path,
)
from facetmt.runlog.reader import SEVERAL, Pulls, Run
from facetmt.runlog.writer import RunLog, SilentLog

__all__ = [
    "CHECKPOINTS",
    "COMPOSITION",
    "FACETS",
    "METRICS",
    "OUTCOMES",
    "PROBS",
    "PULLS",
    "PULL_COLUMNS",
    "RECIPE",
    "REPORT",
    "SCORES",
    "SEVERAL",
    "TRANSFER",
    "TRANSLATIONS",
    "VALIDATION",
    "Pulls",
    "Run",
    "RunLog",
    "SilentLog",
    "outcome_path",
]
