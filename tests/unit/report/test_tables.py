import csv
import io
import json
import shutil

import pytest

from facetmt.errors import UserError
from facetmt.report.tables import compare, latex_text, markdown_text


@pytest.fixture(scope="module")
def runs(mixed_dir, static_dir, bandit_dir):
    return [mixed_dir, static_dir, bandit_dir]


def test_terminal(runs):
    text = compare(runs, "terminal")
    head, size, *rows = text.splitlines()
    assert head.split() == ["Avg", "Med", "IT", "Law", "Koran", "Subs", "Small", "ms/step"]
    assert size.split() == ["Size", "(k)", "291.2", "248.0", "467.3", "222.9", "18.0", "500.0"]
    assert [row.split()[:2] for row in rows[:3]] == [
        ["Base", "mixed"],
        ["Static", "tau5"],
        ["Bandit", "bandit"],
    ]
    assert "paired bootstrap" in text and "nrefs:1" in text and "\x1b" not in text


def test_markdown_has_one_bold_score_a_column_or_more(runs):
    lines = compare(runs, "markdown").splitlines()
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    assert {len(row) for row in table} == {10}
    for column in range(2, 9):  # the last column is no score
        assert any(row[column].startswith("**") for row in table[3:])


def test_latex_is_a_whole_table(runs, tmp_path):
    text = compare([*runs, shutil.copytree(runs[2], tmp_path / "a_b%c")], "latex")
    assert (
        text.count(r"\toprule") == text.count(r"\bottomrule") == 1
        and r"\begin{tabular}{ll|c|cccccc|c}" in text
    )
    assert r"a\_b\%c" in text and r"\textbf{" in text
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in body} == {9}


def test_csv_is_for_programs(runs):
    rows = list(csv.DictReader(io.StringIO(compare(runs, "csv"))))
    assert len(rows) == 3 * (7 + 1) and {row["kind"] for row in rows} == {"Base", "Static", "Bandit"}
    best = [row for row in rows if row["column"] == "average" and row["best"] == "1"]
    assert len(best) == 1 and float(best[0]["mean"]) == max(
        float(r["mean"]) for r in rows if r["column"] == "average"
    )


def test_what_a_step_costs_stands_beside_the_scores(runs, tmp_path):
    probing = shutil.copytree(runs[1], tmp_path / "probing")
    logged = [json.loads(line) for line in (probing / "metrics.jsonl").read_text("utf-8").splitlines()]
    for row in logged:  # gradient probes as long as the training, and a first line that took long to compile
        row["time"]["probe"] = row["time"]["train"]
        row["time"]["train"] += 1000
    (probing / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in logged), "utf-8")
    rows = csv.DictReader(io.StringIO(compare([*runs, probing], "csv")))
    costs = {row["system"]: float(row["mean"]) for row in rows if row["column"] == "cost"}
    assert costs["mixed"] == pytest.approx(costs["tau5"]) and costs["bandit"] > costs["mixed"]
    assert costs["probing"] == pytest.approx(2 * costs["tau5"], rel=1e-3)
    unlogged = shutil.copytree(runs[0], tmp_path / "unlogged")
    (unlogged / "metrics.jsonl").unlink()
    assert compare([unlogged, runs[1]], "terminal").splitlines()[2].split()[-1] == "–"
    assert "ms/step" not in compare([unlogged], "terminal")


def test_many_facets_become_rows(fake, tmp_path):
    sizes = fake.many_facets(30)
    runs = [
        fake.write_run(tmp_path / n, sizes=sizes, steps=60, sentences=2, validations=1, policy=n)
        for n in ("mixed", "exp3")
    ]
    lines = compare(runs, "terminal").splitlines()
    assert (
        lines[0].split() == ["Size", "(k)", "mixed", "exp3"]
        and lines[1].startswith("Avg")
        and lines[2].startswith("Small")
    )
    assert sum("-en" in line for line in lines) == 30
    assert compare(runs, "latex").count("-en") == 30


def test_tables_say_why_runs_are_not_alike(fake, tmp_path, runs):
    half = fake.write_run(tmp_path / "half", steps=1500, planned=3000, sentences=20)
    words = "half: unfinished, at step 1,500 of 3,000"
    for layout in ("terminal", "markdown", "latex"):
        assert f"Careful: {words}" in compare([runs[0], half], layout)
        assert "Careful" not in compare(runs, layout)
    rows = list(csv.DictReader(io.StringIO(compare([runs[0], half], "csv"))))
    assert {(row["system"], row["caveat"]) for row in rows} == {("mixed", ""), ("half", words)}
    assert all(float(row["interval"]) > 0 for row in rows if row["column"] in ("average", "facet"))


def test_the_best_shows_without_bold_and_small_facets_have_a_size(runs, fake, tmp_path):
    text = compare(runs, "terminal")
    best = max(json.loads((run / "scores.json").read_text("utf-8"))["average"]["bleu"] for run in runs)
    assert f" {best:.2f}* " in text and "* the best system." in text
    tiny = fake.write_run(tmp_path / "tiny", sizes={"a": 11, "b": 2000}, steps=30, sentences=2, validations=1)
    assert compare([tiny], "terminal").splitlines()[1].split() == ["Size", "(k)", "1.0", "0.011", "2.0"]


def test_chrf(runs):
    assert "nc:6" in compare(runs, "markdown", metric="chrf")


def test_users_errors(runs, fake, tmp_path):
    with pytest.raises(UserError, match="no table format html"):
        compare(runs, "html")
    with pytest.raises(UserError, match="at least one"):
        compare([], "csv")
    unscored = fake.write_run(tmp_path / "x", steps=20, scored=False)
    with pytest.raises(UserError, match="facetmt evaluate"):
        compare([unscored], "csv")


def test_users_text_stays_text():
    assert markdown_text("a|b*<i>") == r"a\|b\*\<i\>"
    assert latex_text("a_b & 50% \\x{}") == r"a\_b \& 50\% \textbackslash{}x\{\}"


def test_systems_with_mixed_batches_have_their_group(mixed_dir, auto_dir, fake, tmp_path):
    unimax = fake.write_run(tmp_path / "even", policy="unimax", steps=1500, sentences=20)
    lines = compare([mixed_dir, unimax, auto_dir], "terminal").splitlines()
    assert [line.split()[:2] for line in lines[2:5]] == [
        ["Base", "mixed"],
        ["Static", "even"],
        ["Auto", "auto"],
    ]
