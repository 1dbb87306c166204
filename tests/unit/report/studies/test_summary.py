"""summary.json: complete, small, and the same bytes for the same runs."""

import json
import shutil

import pytest

from facetmt.errors import UserError
from facetmt.report.studies.folder import Cell, is_finished, open_folder
from facetmt.report.studies.kept import as_text, read_summaries, write_summary
from facetmt.report.studies.summary import rounded, thinned
from facetmt.report.systems import scoreboard
from facetmt.runlog import Run


def test_every_finished_cell_is_there_and_the_others_are_named(content):
    assert {name: list(one["cells"]) for name, one in content["systems"].items()} == {
        "uniform": ["1"],
        "take-it-all": ["1", "2", "3"],
        "EXP3 | <b>": ["1", "2", "3"],
        "late": [],
    }
    assert content["missing"] == ["late,1"] and content["baseline"] == "take-it-all"


def test_a_cell_says_what_its_run_says(content, study_dir):
    run = Run(Cell("EXP3 | <b>", 2).run(study_dir))
    cell = content["systems"]["EXP3 | <b>"]["cells"]["2"]
    assert cell["test"]["facets"] == run.scores["facets"] and cell["test"]["average"] == run.scores["average"]
    assert (
        cell["test"]["signature"] == run.scores["signature"] and cell["test"]["steps"] == run.scores["steps"]
    )
    bleus = {row["step"]: row["bleu"]["average"] for row in run.validation}
    best = cell["dev"]["best"]
    assert best["bleu"] == pytest.approx(max(bleus.values()), abs=1e-4) == pytest.approx(bleus[best["step"]])
    assert cell["dev"]["curve"]["step"] == list(bleus)
    assert cell["dev"]["final"]["loss"]["average"] == pytest.approx(
        run.validation[-1]["loss"]["average"], abs=1e-4
    )
    assert sum(cell["shares"]["training"].values()) == pytest.approx(1.0, abs=1e-3)
    over_time = cell["shares"]["over_time"]
    assert len(over_time["step"]) == len(over_time["facets"]["Law"]) and over_time["step"][-1] == 60
    assert cell["versions"] == [{"facetmt": "0.2.0", "cores": 1}]
    assert cell["timing"]["ms_per_step"] > 0 and len(cell["timing"]["curve_seconds"]) == len(bleus)


def test_the_way_to_the_best_of_the_baseline_is_that_with_the_same_seed(content):
    base = content["systems"]["take-it-all"]["cells"]
    for name in ("take-it-all", "EXP3 | <b>"):
        for seed, cell in content["systems"][name]["cells"].items():
            assert cell["dev"]["reach"]["bleu"] == base[seed]["dev"]["best"]["bleu"]
    assert all(cell["dev"]["reach"]["step"] == cell["dev"]["best"]["step"] for cell in base.values())


def test_significance_is_that_of_compare(content, study_dir):
    folder = open_folder(study_dir)
    board = scoreboard([Run(cell.run(study_dir)) for cell in folder.finished()])
    assert [system.name for system in board.systems] == [
        "take-it-all (3 seeds)",
        "uniform",
        "EXP3 | <b> (3 seeds)",
    ]
    marks = {
        (system.name.split(" (")[0], column.name): cell.mark
        for system, row in zip(board.systems, board.cells, strict=True)
        for column, cell in zip(board.columns, row, strict=True)
        if column.kind == "facet"
    }
    for name in ("uniform", "EXP3 | <b>"):
        tested = content["systems"][name]["significance"]
        assert list(tested) == list(content["sizes"])
        for facet, one in tested.items():
            assert bool(marks[name, facet]) == (one["p"] < 0.05)
    assert content["notes"][0] in board.notes and content["systems"]["take-it-all"]["significance"] == {}


def test_the_base_recipe_is_there_without_the_places_of_this_machine(content, study_dir):
    assert "root: text\n" in content["recipe"] and "prepared: stores\n" in content["recipe"]
    assert "/home" not in json.dumps(content) and str(study_dir) not in json.dumps(content)
    assert len(content["recipe_sha256"]) == 64


def test_the_same_runs_give_the_same_bytes_wherever_they_are(study_dir, tmp_path):
    first = write_summary(study_dir).read_bytes()
    moved = shutil.copytree(study_dir, tmp_path / "elsewhere")
    assert write_summary(moved).read_bytes() == first
    assert len(first) < 60_000 and max(map(len, first.splitlines())) < 1500


def test_only_timing_depends_on_the_clock(study_dir, tmp_path):
    moved = shutil.copytree(study_dir, tmp_path / "slow")
    for name in ("metrics.jsonl", "validation.jsonl"):
        for path in moved.glob(f"cells/*/*/{name}"):
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            slow = [
                row
                | {"seconds": row["seconds"] * 3}
                | ({"time": {key: 3 * value for key, value in row["time"].items()}} if "time" in row else {})
                for row in rows
            ]
            path.write_text("".join(json.dumps(row) + "\n" for row in slow), encoding="utf-8")
    both = [json.loads(write_summary(folder).read_text("utf-8")) for folder in (study_dir, moved)]
    timings = [
        [cell.pop("timing") for system in one["systems"].values() for cell in system["cells"].values()]
        for one in both
    ]
    assert both[0] == both[1] and timings[0] != timings[1]


@pytest.mark.parametrize("change", ["unscored", "scored too early", "cut", "damaged"])
def test_a_cell_that_is_not_finished_is_left_out(study_dir, tmp_path, fake, change):
    folder = shutil.copytree(study_dir, tmp_path / "part")
    run = Cell("uniform", 1).run(folder)
    assert is_finished(run)
    if change == "unscored":
        (run / "scores.json").unlink()
    elif change == "scored too early":
        fake.change_scores(run, trained_steps=50)
    elif change == "cut":  # the last validation is missing
        lines = (run / "validation.jsonl").read_text("utf-8").splitlines(keepends=True)
        (run / "validation.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    else:
        (run / "validation.jsonl").write_text("{\n", encoding="utf-8")
    assert not is_finished(run)
    missing = json.loads(write_summary(folder).read_text("utf-8"))["missing"]
    assert missing == ["uniform,1", "late,1"]


def test_without_the_baseline_nothing_is_compared_with_another(study_dir, tmp_path):
    folder = shutil.copytree(study_dir, tmp_path / "part")
    shutil.rmtree(folder / "cells" / "take-it-all")
    content = json.loads(write_summary(folder).read_text("utf-8"))
    assert "no cell of the baseline take-it-all is finished" in content["notes"][0]
    assert all(one["significance"] == {} for one in content["systems"].values())
    shutil.rmtree(folder / "cells")
    with pytest.raises(UserError, match="no cell is finished"):
        write_summary(folder)


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no folder in it has a summary.json"):
        read_summaries(tmp_path)
    (tmp_path / "A").mkdir()
    for text, said in (("{", "damaged"), ("[]", "damaged"), ('{"version": 7}', "another version")):
        (tmp_path / "A" / "summary.json").write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=said):
            read_summaries(tmp_path)


def test_thinning_keeps_both_ends():
    assert thinned(3, 100) == [0, 1, 2] and thinned(1, 5) == [0]
    places = thinned(1000, 100)
    assert len(places) == 100 and places[0] == 0 and places[-1] == 999


def test_json_is_read_back_as_it_was():
    value = {"a": {"b": {"c": [1, 2.5, None], "d": "é"}, "e": []}, "f": [{"g": 1}], "h": {}}
    assert json.loads(as_text(value)) == value
    assert rounded({"a": [1.23456, None, "x"], "b": 3}, 2) == {"a": [1.23, None, "x"], "b": 3}
