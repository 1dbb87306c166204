"""The end of a call: what is shown, and the exit code."""

import pytest

from facetmt.errors import UserError
from facetmt.report.studies.folder import Cell, Folder
from facetmt.study import ending as module
from facetmt.study.ending import finish
from facetmt.study.run import Ending
from facetmt.train.interrupt import EXIT_CODE


@pytest.fixture
def shown(monkeypatch, study, tmp_path):
    """Runs over which table and page were made; `done` says which cells are finished."""
    calls, done = [], [Cell("a", 1), Cell("b", 1)]
    monkeypatch.setattr(Folder, "finished", lambda self: done)
    monkeypatch.setattr(module, "compare", lambda runs: calls.append(("table", runs)) or "the table\n")
    monkeypatch.setattr(module, "write_report", lambda runs, out: calls.append(("page", runs)) or out)
    return calls, done


def test_a_complete_study_has_a_table_and_a_page_of_all_cells(shown, tmp_path, capsys):
    out = tmp_path / "out"
    assert finish(Ending(), out) == 0
    runs = [out / "cells" / "a" / "1", out / "cells" / "b" / "1"]
    assert shown[0] == [("table", runs), ("page", runs)]
    printed = capsys.readouterr().out
    assert "the table" in printed and "report.html" in printed


def test_a_stopped_study_says_how_to_go_on_and_what_failed(shown, tmp_path, capsys):
    assert finish(Ending(stopped=True, failed={Cell("b", 2): "why"}), tmp_path / "out") == EXIT_CODE
    said = capsys.readouterr().err
    assert "failed: b,2: why" in said and "run the same command again" in said and shown[0] == []


def test_failed_cells_are_named_after_the_table_of_the_others(shown, tmp_path, capsys):
    failed = {Cell("b", 2): "why (log: x)", Cell("a", 2): "because (log: y)"}
    with pytest.raises(UserError, match=r"2 of 4 cells failed; b,2: why \(log: x\); fix the cause"):
        finish(Ending(failed=failed), tmp_path / "out")
    said = capsys.readouterr()
    assert "the table" in said.out and "failed: a,2: because (log: y)" in said.err


def test_without_the_baseline_the_table_says_what_it_compares_with(shown, tmp_path, capsys):
    del shown[1][0]
    finish(Ending(), tmp_path / "out")
    assert "no cell of a is finished; the table compares with b instead" in capsys.readouterr().err
    shown[1].clear()
    shown[0].clear()
    with pytest.raises(UserError):
        finish(Ending(failed={Cell("a", 1): "why"}), tmp_path / "out")
    assert shown[0] == []
