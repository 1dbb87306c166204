import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.bandit import scheduler
from facetmt.errors import UserError
from facetmt.runlog import COMPOSITION, METRICS, PROBS, PULLS, RECIPE, SEVERAL, Run, RunLog, outcome_path


def small_run(directory, rows=7):
    log = RunLog(directory, ("it", "law"), fresh=True)
    for step in range(1, rows + 1):
        log.pull(step, "it", (0.5, 2.0, 1.0, 0.5, 1.0))
        log.probs(step, np.array([0.25, 0.75]))
        log.metrics({"step": step})
    log.close()
    (directory / RECIPE).write_text("x", encoding="utf-8")
    return Run(directory)


@given(rows=st.integers(0, 30), points=st.integers(1, 40))
def test_few_rows_are_evenly_spaced_and_end_with_the_last(tmp_path_factory, rows, points):
    run = small_run(tmp_path_factory.mktemp("run"), rows)
    steps, probs = run.few_probs(points)
    assert len(steps) == min(rows, points) == len(run.few_metrics(points))
    assert probs.shape == (len(steps), 2)
    if rows:
        assert steps[-1] == rows
        gaps = np.diff(steps)
        assert not gaps.size or gaps.max() - gaps.min() <= 1 or points == 1


def test_all_points_give_what_the_whole_reader_gives(tmp_path):
    run = small_run(tmp_path)
    whole, few = run.probs, run.few_probs(100)
    assert whole[0].tolist() == few[0].tolist() and whole[1].tolist() == few[1].tolist()
    assert run.few_metrics(100) == run.metrics


def test_logs_that_have_no_line_yet_are_empty_not_an_error(tmp_path):
    run = small_run(tmp_path)
    for name in (PULLS, PROBS):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert run.facets == () and run.pulls.step.size == 0 and run.few_probs(10)[0].size == 0


@pytest.mark.parametrize("line", ["8,it,0.5,2,1,x,1", "8,nobody,0.5,2,1,1,1", "8,it,0.5"])
def test_a_damaged_pull_is_named_by_its_line(tmp_path, line):
    run = small_run(tmp_path)
    with (tmp_path / PULLS).open("a", encoding="utf-8") as file:
        file.write(line + "\n9,it,0.5,2,1,1,1\n")
    with pytest.raises(UserError, match=r"pulls\.csv, line 9: damaged; restore the file from a copy"):
        _ = run.pulls


def test_pulls_are_the_same_whatever_the_chunk(tmp_path, monkeypatch):
    run = small_run(tmp_path)
    whole = run.pulls
    monkeypatch.setattr("facetmt.runlog.reader.CHUNK", 3)
    parts = Run(tmp_path).pulls
    assert whole.step.tolist() == parts.step.tolist() and whole.raw.tolist() == parts.raw.tolist()


def test_translations_are_read_by_facet(tmp_path):
    run = small_run(tmp_path)
    (tmp_path / "translations").mkdir()
    rows = [{"source": str(n), "reference": "\u2028", "hypothesis": "y"} for n in range(9)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "translations" / "it.jsonl").write_text(text, encoding="utf-8")
    assert list(run.translations("it")) == rows and list(run.translations("law")) == []
    assert [row["source"] for row in run.few_translations("it", 3)] == ["0", "4", "8"]


def test_half_a_json_file_is_a_users_error(tmp_path):
    small_run(tmp_path)
    (tmp_path / "scores.json").write_text('{"average":', encoding="utf-8")
    with pytest.raises(UserError, match=r"scores\.json, line 1: damaged"):
        _ = Run(tmp_path).scores


@pytest.mark.parametrize("facet", ["../secret", "/etc/passwd", "a/../../secret", "..\\secret"])
def test_a_facet_of_a_log_cannot_lead_out_of_the_run(tmp_path, facet):
    run = small_run(tmp_path / "run")
    (run.directory / "translations").mkdir()
    (tmp_path / "run" / "secret.jsonl").write_text('{"source": "x"}\n', encoding="utf-8")
    for read in (run.translations, lambda name: run.few_translations(name, 3)):
        with pytest.raises(UserError, match="could lead out of this folder; refused"):
            read(facet)


def test_a_run_that_is_not_there_gets_the_sentence_that_helps(tmp_path):
    small_run(tmp_path / "runs" / "bandit")
    (tmp_path / "recipe.yaml").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    small_run(tmp_path / "project" / "mixed")  # beside the recipe of the project, which is not the run's
    (tmp_path / "project" / "recipe.yaml").write_text("x", encoding="utf-8")
    for path, words in (
        ("runs/bandti", r"runs/bandti: there is no such run; did you mean .*runs/bandit\?"),
        ("nowhere/x", "x: there is no such run; `facetmt train --run` makes one"),
        ("runs", "runs: not a run directory, it holds runs; name one of bandit"),
        ("project", "project: not a run directory, it holds runs; name one of mixed"),
        ("empty", "empty: not a run directory, it has no recipe.yaml"),
        ("recipe.yaml", "recipe.yaml: a file, not a run directory"),
    ):
        with pytest.raises(UserError, match=words):
            Run(tmp_path / path)


def test_the_last_step_is_the_latest_of_any_log(tmp_path):
    run = small_run(tmp_path, 7)
    assert run.last_step == 7
    (tmp_path / "validation.jsonl").write_text('{"step": 9}\n{"step": 1', encoding="utf-8")
    assert Run(tmp_path).last_step == 9
    for name in ("pulls.csv", "metrics.jsonl", "validation.jsonl"):
        (tmp_path / name).unlink()
    assert Run(tmp_path).last_step == 0


def test_a_line_that_is_still_being_written_is_ignored(tmp_path):
    small_run(tmp_path, 3)
    for name, part in ((PULLS, "4,it,0.5"), (METRICS, '{"step"'), (PROBS, "4,0.2")):
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write(part)
    run = Run(tmp_path)
    assert len(run.pulls.step) == 3 and len(run.metrics) == 3 and len(run.probs[0]) == 3


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        (METRICS, "{]", r"metrics\.jsonl, line 8: damaged; restore the file from a copy"),
        (PROBS, "8,0.5,x", r"probs\.csv: damaged \(.*\); restore it from a copy"),
        (PULLS, "x,it,0.5,2,1,1,1", r"pulls\.csv, line 9: damaged"),
    ],
)
def test_damage_is_named_by_its_place(tmp_path, name, line, words):
    run = small_run(tmp_path)
    with (tmp_path / name).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    read = {METRICS: lambda: run.metrics, PROBS: lambda: run.few_probs(10), PULLS: lambda: run.last_step}
    with pytest.raises(UserError, match=words):
        read[name]()


def test_a_log_that_is_missing_is_named(tmp_path):
    run = small_run(tmp_path)
    (tmp_path / METRICS).unlink()
    for read in (lambda: run.metrics, lambda: run.few_metrics(3)):
        with pytest.raises(UserError, match=r"there is no metrics\.jsonl; wait until the run has started"):
            read()


def test_outcomes_are_read_by_name_and_the_plain_one_comes_first(tmp_path):
    run = small_run(tmp_path)
    assert run.outcomes() == {}
    for name, bleu in (("", 28.05), ("natural-tag", 29.37), ("beam-1", 27.0)):
        folder = tmp_path / outcome_path(name)
        (folder / "translations").mkdir(parents=True)
        (folder / "scores.json").write_text(json.dumps({"average": {"bleu": bleu}}), encoding="utf-8")
        (folder / "translations" / "it.jsonl").write_text(f'{{"hypothesis": "{bleu}"}}\n', encoding="utf-8")
    (tmp_path / "outcomes" / "unfinished").mkdir()
    assert list(run.outcomes()) == ["", "beam-1", "natural-tag"]
    assert run.outcomes()["natural-tag"] == {"average": {"bleu": 29.37}}
    assert list(run.translations("it")) == [{"hypothesis": "28.05"}]
    assert list(run.translations("it", "natural-tag")) == [{"hypothesis": "29.37"}]


def test_a_pull_of_several_facets_is_read_as_one(tmp_path):
    run = small_run(tmp_path, 2)
    with (tmp_path / PULLS).open("a", encoding="utf-8") as file:
        file.write(f"3,{COMPOSITION},1.0,2,,,\n")
    assert run.pulls.facet.tolist() == [0, 0, SEVERAL] and run.pulls.prob[-1] == 1.0


def test_the_log_and_the_scheduler_use_one_name_for_such_a_pull():
    assert COMPOSITION == scheduler.COMPOSITION


def test_a_facet_may_have_that_name_itself(tmp_path):
    log = RunLog(tmp_path, ("it", COMPOSITION), fresh=True)
    log.pull(1, COMPOSITION, (0.5, 2.0, 1.0, 0.5, 1.0))
    log.close()
    (tmp_path / RECIPE).write_text("x", encoding="utf-8")
    assert Run(tmp_path).pulls.facet.tolist() == [1]


def test_news_of_all_log_points_are_read_in_order(tmp_path):
    log = RunLog(tmp_path, ("it",), fresh=True)
    for step in range(1, 6):
        log.metrics({"step": step, **({"news": [f"step {step}: a", f"step {step}: b"]} if step % 2 else {})})
    log.close()
    (tmp_path / RECIPE).write_text("x", encoding="utf-8")
    assert Run(tmp_path).news == [f"step {step}: {part}" for step in (1, 3, 5) for part in "ab"]
