"""A search stopped in the middle of a setting, by a signal or by SIGKILL."""

import csv
import os
import signal
import subprocess
import sys

import pytest
import typer

from facetmt import cli
from facetmt.train import tune as module
from facetmt.train.interrupt import EXIT_CODE
from facetmt.train.run import Outcome

SHORT = ["train.steps=8", "train.validate_every=8", "train.log_every=1", "decode.max_length=4"]


@pytest.fixture
def search(project, tmp_path):
    def go(grid: str) -> int:
        with pytest.raises(typer.Exit) as left:
            cli.tune(project / "recipe.yaml", tmp_path / "study", [grid], overrides=SHORT)
        return left.value.exit_code

    return go


def steps(run):
    with (run / "pulls.csv").open(encoding="utf-8") as file:
        return [int(row["step"]) for row in csv.DictReader(file)]


def test_row_34_a_setting_that_a_signal_stopped_resumes_from_its_checkpoint(
    search, tmp_path, monkeypatch, capsys
):
    def stop(self, row, shares):
        if row["step"] == 5:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(module.Pruner, "metrics", stop)
        assert search("schedule.exploration=0.2") == EXIT_CODE
    said = capsys.readouterr()
    assert "interrupted" in said.out and "run the same command again" in said.err
    (stopped,) = (tmp_path / "study").glob("exploration=*")
    assert max(steps(stopped)) < 8
    assert search("schedule.exploration=0.2") == 0
    said = capsys.readouterr()
    assert (
        "setting 1 of 1, schedule.exploration=0.2: continued" in said.err and "resumed at step 5" in said.err
    )
    assert said.out.count("complete") == 1 and "interrupted" not in said.out
    assert steps(stopped) == list(range(1, 9))


KILLED = """
import os, sys
from pathlib import Path
from facetmt.train import tune as module
module.train = lambda *given, **named: os.kill(os.getpid(), 9)
grid = {"schedule.exploration": [0.2, 0.4]}
module.tune(Path(sys.argv[1]), Path(sys.argv[2]), grid, [], sampler="grid", trials=None, storage=None, seed=1)
"""


def test_row_34_a_setting_whose_worker_was_killed_is_tried_again(
    search, project, tmp_path, capsys, monkeypatch
):
    command = [sys.executable, "-c", KILLED, str(project / "recipe.yaml"), str(tmp_path / "study")]
    assert subprocess.run(command, capture_output=True, timeout=120).returncode == -9
    done = Outcome(finished=True, step=8, best=(1.0, 8), seconds=1.0)
    monkeypatch.setattr(module, "train", lambda *given, **named: done)
    assert search("schedule.exploration=0.2,0.4") == 0
    said = capsys.readouterr()
    assert said.out.count("complete") == 2 and "running" not in said.out
