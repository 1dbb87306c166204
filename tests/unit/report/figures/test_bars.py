import json
import shutil

import pytest

from facetmt.report.digest import digest
from facetmt.report.figures.bars import costs, effective_epochs, training_shares
from facetmt.runlog import Run


def test_bars_and_marks(bandit_dir, mixed_dir):
    runs = [digest(Run(mixed_dir)), digest(Run(bandit_dir))]
    figure = training_shares(runs, ["Koran", "Med"])
    assert [trace.name for trace in figure.data] == ["mixed", "bandit", "proportional", "τ = 5", "uniform"]
    assert figure.data[4].y == pytest.approx([0.2, 0.2])
    assert figure.data[2].y[0] == pytest.approx(18_000 / 1_456_200)
    assert sum(bar.x[0] for bar in costs(runs).data) == pytest.approx(1, abs=1e-5)


def test_a_facet_that_a_run_does_not_have_has_no_bar(bandit_dir):
    bar = effective_epochs([digest(Run(bandit_dir))], ["Law", "nowhere"]).data[0]
    assert bar.y[0] > 0 and bar.y[1] != bar.y[1]


def test_shares_of_mixed_batches_are_bars_too(auto_dir):
    run = digest(Run(auto_dir))
    assert training_shares([run], run.facets).data[0].y == pytest.approx(run.share, rel=1e-5)


def test_compiling_is_a_part_of_its_own_where_it_was_logged(bandit_dir, tmp_path):
    old = shutil.copytree(bandit_dir, tmp_path / "old")
    rows = [json.loads(line) for line in (old / "metrics.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        del row["time"]["compile"], row["time"]["probe"]
    (old / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    new, before = (costs([digest(Run(directory))]) for directory in (bandit_dir, old))
    assert "compiling" in {bar.name for bar in new.data}
    assert "compiling" not in {bar.name for bar in before.data}
