"""The verb `study`: its modes, and what it refuses."""

import pytest
import typer

from facetmt.cli_study import study
from facetmt.errors import UserError


@pytest.fixture
def file(tmp_path):
    (tmp_path / "recipe.yaml").write_text("data: {root: text, source: de, target: en}\n", encoding="utf-8")
    path = tmp_path / "study.yaml"
    path.write_text("recipe: recipe.yaml\nseeds: [4, 5]\nsystems: {a: {}}\n", encoding="utf-8")
    return path


def test_the_cells_are_listed_and_nothing_is_written(file, capsys):
    before = sorted(file.parent.iterdir())
    study(file, cells=True)
    assert capsys.readouterr().out == "a,4\na,5\n" and sorted(file.parent.iterdir()) == before


def test_modes_exclude_each_other_and_need_a_place(file, tmp_path):
    for first, second in (("summary", "tables"), ("tables", "cells"), ("summary", "cells")):
        with pytest.raises(UserError, match="exclude each other"):
            study(file, **{first: True, second: True})
    with pytest.raises(UserError, match="exclude each other"):
        study(file, cell="a,4", cells=True)
    for given in ({}, {"cell": "a,4"}, {"tables": True}):
        with pytest.raises(UserError, match="--out is missing"):
            study(file, **given)


def test_summaries_are_added_to_a_summary_alone(file, tmp_path):
    with pytest.raises(UserError, match="--add goes with --summary"):
        study(file, out=tmp_path / "out", add=[tmp_path / "summary.json"])


def test_a_cell_that_is_not_in_the_study_is_refused_before_anything_is_written(file, tmp_path):
    with pytest.raises(UserError, match="no such cell"):
        study(file, out=tmp_path / "out", cell="a,6")
    assert not (tmp_path / "out").exists()


def test_one_cell_ends_with_its_exit_code(file, tmp_path, monkeypatch):
    from facetmt.study import cell as module

    monkeypatch.setattr(module, "run_cell", lambda study, out, cell, parent: (str(cell), parent))
    with pytest.raises(typer.Exit) as left:
        study(file, out=tmp_path / "out", cell="a,5", parent=7)
    assert left.value.exit_code == ("a,5", 7) and (tmp_path / "out" / "study.json").is_file()


def test_summary_and_tables_name_what_is_not_there(tmp_path):
    with pytest.raises(UserError, match="not the folder of a study"):
        study(tmp_path, summary=True)
    with pytest.raises(UserError, match=r"no folder in it has a summary.json"):
        study(tmp_path, tables=True, out=tmp_path / "results")
