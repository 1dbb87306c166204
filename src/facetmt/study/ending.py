"""The end of a call: one table and one page over all finished cells, and what failed."""

from __future__ import annotations

from pathlib import Path

from facetmt.console import print_line, say
from facetmt.errors import UserError
from facetmt.report.page import write_report
from facetmt.report.studies.folder import open_folder
from facetmt.report.tables import compare
from facetmt.runlog import REPORT
from facetmt.study.run import Ending
from facetmt.train.interrupt import EXIT_CODE


def finish(ending: Ending, out: Path) -> int:
    """Show what there is to show; the exit code says whether the study is complete."""
    failed = [f"{cell}: {why}" for cell, why in ending.failed.items()]
    if ending.stopped:
        for line in failed:
            say(f"failed: {line}")
        say("stopped; everything is saved: run the same command again to continue")
        return EXIT_CODE
    study = open_folder(out)
    done = study.finished()
    if done:
        if done[0].system != study.baseline:
            say(f"no cell of {study.baseline} is finished; the table compares with {done[0].system} instead")
        runs = [cell.run(out) for cell in done]
        print(compare(runs), end="")
        print_line(f"Page: {write_report(runs, out / REPORT)}")
        print_line(f"Next: facetmt study {out} --summary")
    if failed:
        for line in failed[1:]:
            say(f"failed: {line}")
        raise UserError(
            f"{len(failed)} of {len(study.cells)} cells failed; {failed[0]}; "
            "fix the cause and run the same command again"
        )
    return 0
