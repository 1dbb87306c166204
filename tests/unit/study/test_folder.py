"""The folder of a study: what may be added to it, and what is refused."""

import pytest

from facetmt.errors import UserError
from facetmt.report.studies.folder import Cell, is_finished, one_cell, open_folder
from facetmt.study.folder import enter
from facetmt.study.plan import load_study

RECIPE = "data: {root: text, source: de, target: en}\ntrain: {steps: 30}\n"
STUDY = (
    "recipe: recipe.yaml\nseeds: [1, 2]\nsystems:\n  b: {schedule: {policy: static}}\n  a: {}\nbaseline: a\n"
)


@pytest.fixture
def call(tmp_path):
    def go(study: str = STUDY, recipe: str = RECIPE, out: str = "out"):
        (tmp_path / "study.yaml").write_text(study, encoding="utf-8")
        (tmp_path / "recipe.yaml").write_text(recipe, encoding="utf-8")
        enter(load_study(tmp_path / "study.yaml", tmp_path / out), tmp_path / out)
        return open_folder(tmp_path / out)

    return go


def test_the_folder_says_what_its_cells_are_the_baseline_first(call, tmp_path):
    folder = call()
    assert [str(cell) for cell in folder.cells] == ["a,1", "a,2", "b,1", "b,2"]
    assert folder.systems["b"].overrides == "{schedule: {policy: static}}" and "steps: 30" in folder.recipe
    assert folder.finished() == []
    cell = Cell("b", 2)
    assert cell.run(folder.path) == tmp_path / "out" / "cells" / "b" / "2"
    assert cell.log(folder.path) == tmp_path / "out" / "logs" / "b" / "2.log"


def test_systems_and_seeds_may_be_added_and_left_out(call):
    call()
    grown = call(
        STUDY.replace("[1, 2]", "[1, 2, 3]").replace("  a: {}\n", "  a: {}\n  c: {batch: {rows: 9}}\n")
    )
    assert len(grown.cells) == 9
    assert [str(cell) for cell in call(STUDY.replace("[1, 2]", "[2]")).cells] == ["a,2", "b,2"]


def test_a_change_of_existing_cells_is_refused_with_the_difference(call):
    call()
    with pytest.raises(UserError, match=r"made from other settings \(b: schedule.tau: .* -> 5.0\)"):
        call(STUDY.replace("static}", "static, tau: 5}"))
    with pytest.raises(UserError, match=r"b: train.steps: 30 -> 31; a: train.steps: 30 -> 31"):
        call(recipe=RECIPE.replace("30", "31"))
    with pytest.raises(UserError, match=r"decode.beam"):
        call(recipe=RECIPE + "decode: {beam: 2}\n")
    assert call(recipe=RECIPE.replace("text", "moved")).cells  # where the text is does not matter


def test_a_system_that_was_left_out_cannot_come_back_as_another(call):
    call()
    call(STUDY.replace("  b: {schedule: {policy: static}}\n", ""))
    with pytest.raises(UserError, match=r"b: schedule.policy"):
        call(STUDY.replace("static", "odm"))


def test_a_folder_of_something_else_is_left_alone(call, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("precious", encoding="utf-8")
    with pytest.raises(UserError, match="not empty and not the folder of a study"):
        call(out="mine")
    with pytest.raises(UserError, match="this is a file"):
        call(out="study.yaml")
    with pytest.raises(UserError, match="not the folder of a study"):
        open_folder(tmp_path / "mine")


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 1}', '{"version": 1, "systems": []}'])
def test_a_damaged_study_file_is_named(tmp_path, text):
    (tmp_path / "study.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"study.json: damaged"):
        open_folder(tmp_path)


def test_another_version_is_refused(call):
    path = call().path / "study.json"
    path.write_text(path.read_text("utf-8").replace('"version": 1', '"version": 9'), encoding="utf-8")
    with pytest.raises(UserError, match="another version"):
        open_folder(path.parent)


def test_a_cell_is_named_by_system_and_seed():
    cells = [Cell("a", 1), Cell("a", 2)]
    assert one_cell(cells, "a,2") == cells[1]
    for word in ("a,3", "a", "b,1", "a,2,"):
        with pytest.raises(UserError, match=r"no such cell; `--cells` lists them: a,1; a,2"):
            one_cell(cells, word)


def test_nothing_is_not_finished(tmp_path):
    assert not is_finished(tmp_path / "nowhere")
