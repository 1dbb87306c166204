"""Which facet helps which: what stands out of the matrix, and what it was computed from."""

from __future__ import annotations

from collections.abc import Sequence

from facetmt.report.digest import Digest
from facetmt.report.figures.charts import NOT_MEASURED
from facetmt.report.page.markup import panel, safe
from facetmt.report.transfer import findings, outdated, read_transfer, source


def transfer_findings(runs: Sequence[Digest]) -> str:
    """Switched with the run."""
    panels = "".join(f'<div data-run-panel="{index}">{items(run)}</div>' for index, run in enumerate(runs))
    read = "Only what is clear of its error, with the number of comparisons taken into account."
    return panel("What stands out", read, panels, per_run=len(runs) > 1)


def items(run: Digest) -> str:
    found = read_transfer(run.logs)
    if found is None:
        return f'<p class="read">{NOT_MEASURED}</p>'
    old = outdated(run.logs, found)
    warning = f'<ul class="health careful"><li class="warning"><b>Careful</b>{safe(old)}</li></ul>' * bool(
        old
    )
    sentences = "".join(f"<li>{safe(sentence)}</li>" for sentence in findings(found))
    return f'{warning}<ul class="news tall">{sentences}</ul><p class="foot">{safe(source(found))}</p>'


def any_measured(runs: Sequence[Digest]) -> bool:
    return any(run.logs.transfer is not None for run in runs)
