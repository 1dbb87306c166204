"""One cell: continued where it was, scored once, stopped with the right exit code."""

import json
import os
import signal
import subprocess
import sys

import pytest

from facetmt.files import claimed
from facetmt.report.studies.folder import Cell
from facetmt.study import cell as module
from facetmt.study.cell import BUSY, note_surroundings, run_cell, surroundings
from facetmt.train import apply, run
from facetmt.train.interrupt import EXIT_CODE
from facetmt.train.run import Outcome
from facetmt.train.trials import lock_of

CELL = Cell("b", 2)


@pytest.fixture
def calls(monkeypatch):
    """What was called instead of training and scoring; `calls.finished` says how training ends."""

    class Calls(list):
        finished = True

    done = Calls()

    def train(recipe, directory, *, resume):
        done.append(("train", recipe.schedule.policy, recipe.seed, resume))
        directory.mkdir(exist_ok=True)
        (directory / "recipe.yaml").touch()
        return Outcome(finished=done.finished, step=30, best=None, seconds=1.0)

    def evaluate(directory, overrides, check):
        done.append(("evaluate", directory.name))
        check()

    monkeypatch.setattr(run, "train", train)
    monkeypatch.setattr(apply, "evaluate_run", evaluate)
    monkeypatch.setattr(module, "prepare_text", lambda recipe, out, check: done.append(("prepare",)))
    monkeypatch.setattr(module, "is_finished", lambda directory: False)
    monkeypatch.setattr(module, "WAIT", 0.01)
    return done


def test_a_cell_is_trained_with_its_system_and_seed_then_scored(study, tmp_path, calls):
    assert run_cell(study, tmp_path / "out", CELL) == 0
    assert calls == [("prepare",), ("train", "static", 2, False), ("evaluate", "2")]
    (noted,) = json.loads(CELL.about(tmp_path / "out").read_text("utf-8"))
    assert noted == surroundings() and {"facetmt", "python", "jax", "numpy", "cores"} <= set(noted)
    calls.clear()
    assert run_cell(study, tmp_path / "out", CELL) == 0
    assert calls[1] == ("train", "static", 2, True)


def test_a_finished_cell_is_left_alone(study, tmp_path, calls, monkeypatch, capsys):
    monkeypatch.setattr(module, "is_finished", lambda directory: True)
    assert run_cell(study, tmp_path / "out", CELL) == 0
    assert calls == [] and "b,2: already finished" in capsys.readouterr().err


def test_a_cell_that_another_process_runs_is_left_to_it(study, tmp_path, calls, capsys):
    lock = lock_of(CELL.run(tmp_path / "out"))
    lock.parent.mkdir(parents=True)
    with claimed(lock) as free:
        assert free and run_cell(study, tmp_path / "out", CELL) == BUSY
    assert calls == [] and "another process is running this cell" in capsys.readouterr().err


def test_a_signal_in_training_or_scoring_can_be_continued(study, tmp_path, calls, monkeypatch, capsys):
    calls.finished = False
    assert run_cell(study, tmp_path / "out", CELL) == EXIT_CODE
    assert calls[-1][0] == "train"
    calls.finished = True

    def evaluate(directory, overrides, check):
        os.kill(os.getpid(), signal.SIGTERM)
        check()
        calls.append("scored")

    monkeypatch.setattr(apply, "evaluate_run", evaluate)
    assert run_cell(study, tmp_path / "out", CELL) == EXIT_CODE
    assert calls[-1][0] == "train"
    assert capsys.readouterr().err.count("run the same command again") == 2


def test_versions_are_noted_once_each(tmp_path, monkeypatch):
    path = tmp_path / "1.json"
    note_surroundings(path)
    note_surroundings(path)
    monkeypatch.setattr(module, "__version__", "9.9")
    note_surroundings(path)
    assert [one["facetmt"] == "9.9" for one in json.loads(path.read_text("utf-8"))] == [False, True]


CHILD = """
import os, signal, subprocess, sys
child = "import os, sys; from facetmt.study.cell import end_with; print(os.getpid(), flush=True)"
child += "; end_with(int(sys.argv[1]))"
subprocess.Popen([sys.executable, "-c", child, str(os.getpid())])
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_cell_ends_with_the_process_that_started_it():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    parent = subprocess.Popen([sys.executable, "-c", CHILD], **pipes)
    assert parent.stdout is not None and parent.stdin is not None
    child = int(parent.stdout.readline())
    os.kill(child, 0)  # it is there
    parent.stdin.write("now\n")
    parent.stdin.close()
    assert parent.wait(timeout=60) == -signal.SIGKILL
    assert parent.stdout.read() == ""  # the child's copy is closed too: it ended
    parent.stdout.close()
