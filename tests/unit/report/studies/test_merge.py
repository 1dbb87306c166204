"""Summaries of the parts of a study are the summary of the whole."""

import json
import shutil

import pytest

from facetmt.errors import UserError
from facetmt.report.studies.folder import Cell
from facetmt.report.studies.kept import write_summary
from facetmt.report.studies.merge import least_certain, merged_caveats

CELLS = [("take-it-all", 1), ("take-it-all", 2), ("take-it-all", 3), ("uniform", 1)]
CELLS += [("EXP3 | <b>", 1), ("EXP3 | <b>", 2), ("EXP3 | <b>", 3)]


@pytest.fixture
def part(study_dir, tmp_path):
    """The study's folder on a machine that ran these cells alone."""

    def made(name, kept):
        folder = shutil.copytree(study_dir, tmp_path / name)
        for cell in CELLS:
            if cell not in kept:
                shutil.rmtree(Cell(*cell).run(folder))
        return folder

    return made


@pytest.mark.parametrize(
    "first",
    [
        [cell for cell in CELLS if cell[1] < 3],
        [cell for cell in CELLS if cell[0] != "uniform"],
        [cell for cell in CELLS if cell[1] != 2],
    ],
    ids=["a seed is added", "a system is added", "a seed in between is added"],
)
def test_parts_are_the_whole(study_dir, part, first):
    rest = [cell for cell in CELLS if cell not in first]
    beside = {("take-it-all", seed) for _, seed in rest}  # what they are compared with
    kept = write_summary(part("first", first))
    together = write_summary(part("second", [*rest, *beside]), [kept])
    whole = write_summary(study_dir)
    assert json.loads(together.read_text("utf-8")) == json.loads(whole.read_text("utf-8"))


def test_a_whole_takes_nothing_from_a_part(study_dir, part):
    kept = write_summary(part("first", CELLS[:2]))
    whole = write_summary(study_dir).read_bytes()
    assert write_summary(study_dir, [kept, kept]).read_bytes() == whole


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.update(recipe_sha256="0" * 64), "of another study: its recipe_sha256 is 000"),
        (lambda one: one.update(baseline="uniform"), "its baseline is uniform instead of take-it-all"),
        (
            lambda one: one["systems"]["uniform"].update(overrides="{seed: 3}"),
            r"its uniform changes {seed: 3}",
        ),
        (
            lambda one: one["systems"]["uniform"]["cells"]["1"]["test"]["average"].update(bleu=99.0),
            r"uniform,1 has other results there \(test\)",
        ),
        (
            lambda one: one["systems"]["take-it-all"]["cells"].pop("3"),
            r"EXP3 \| <b>,3 was not compared with take-it-all,3",
        ),
    ],
    ids=["recipe", "baseline", "overrides", "results", "no baseline"],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(study_dir, tmp_path, change, said):
    folder = shutil.copytree(study_dir, tmp_path / "own")
    before = write_summary(folder).read_bytes()
    content = json.loads(before)
    change(content)
    file = tmp_path / "other.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError, match=said):
        write_summary(folder, [file])
    assert (folder / "summary.json").read_bytes() == before


def test_a_summary_that_is_not_there_is_named(study_dir, tmp_path):
    with pytest.raises(UserError, match=r"none\.json: there is no such file"):
        write_summary(study_dir, [tmp_path / "none.json"])


def test_the_least_certain_part_counts_and_all_must_agree():
    one, other = {"p": 0.01, "gain": 2.0}, {"p": 0.04, "gain": 0.5}
    assert least_certain(one, other) == least_certain(other, one) == other
    assert least_certain(one, {"p": 0.02, "gain": -1.0}) == {"p": 1.0, "gain": -1.0}


def test_a_caveat_of_several_rows_is_said_once():
    lines = ["a/1, a/2: on other text", "b/1: unfinished", "a/3, a/2: on other text"]
    assert merged_caveats(lines) == ["a/1, a/2, a/3: on other text", "b/1: unfinished"]
