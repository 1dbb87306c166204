"""Side by side: all cells run once, none stops another, signals are passed on, other calls are respected."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from facetmt.report.studies.folder import Cell
from facetmt.study import progress as progress_module
from facetmt.study import run as module
from facetmt.study.cell import BUSY
from facetmt.study.run import last_line, run_study
from facetmt.train.interrupt import EXIT_CODE
from facetmt.train.trials import lock_of

DONE = "done"
# writes down when it began and ended; SIGTERM ends it as it ends a cell
PLAY = """
import os, pathlib, signal, sys, time
out, name, seconds, code = sys.argv[1:]
def stop(number, frame):
    print("stopped"); sys.exit(75)
signal.signal(signal.SIGTERM, stop)
run = pathlib.Path(out) / "cells" / name.replace(",", "/")
run.mkdir(parents=True, exist_ok=True)
log = open(pathlib.Path(out) / "times", "a")
print("+", name, file=log, flush=True)
time.sleep(float(seconds))
print("-", name, file=log, flush=True)
print("facetmt: it broke")
if code == "-9":
    os.kill(os.getpid(), 9)
if code == "0":
    (run / "done").touch()
sys.exit(int(code))
"""


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def play(monkeypatch, out):
    """Cells take a moment and end with the exit codes in `codes`, 0 unless given."""
    codes: dict[str, int] = {}
    seconds = [0.05]

    def start(cores, command, output):
        name = command[command.index("--cell") + 1]
        assert command[command.index("--parent") + 1] == str(os.getpid()) and cores
        given = [str(out), name, str(seconds[0]), str(codes.get(name, 0))]
        return subprocess.Popen([sys.executable, "-c", PLAY, *given], stdout=output, stderr=output)

    monkeypatch.setattr(module, "start_on", start)
    monkeypatch.setattr(module, "prepare_all", lambda study, out, check: check())
    for owner in (module, progress_module):
        monkeypatch.setattr(owner, "is_finished", lambda run: (run / DONE).exists())
    monkeypatch.setattr(module, "LOOK", 0.05)
    return codes, seconds


def times(out):
    return (out / "times").read_text("utf-8").split("\n")[:-1]


def begun(out):
    return [line[2:] for line in times(out) if line[0] == "+"]


def test_every_cell_is_run_once_and_never_more_side_by_side_than_asked(study, out, play, capsys):
    ending = run_study(study, out, jobs=2)
    assert not ending.stopped and not ending.failed
    assert sorted(begun(out)) == ["a,1", "a,2", "b,1", "b,2"] and set(begun(out)[:2]) == {"a,1", "b,1"}
    running = peak = 0
    for line in times(out):
        running += 1 if line[0] == "+" else -1
        peak = max(peak, running)
    assert peak <= 2
    said = capsys.readouterr().err
    assert "4 cells, 0 finished before; up to 2 side by side" in said and "a,1: finished after" in said
    run_study(study, out, jobs=2)
    assert len(begun(out)) == 4  # nothing is repeated
    assert "4 cells, 4 finished before" in capsys.readouterr().err


def test_cells_that_fail_or_are_killed_do_not_stop_the_others(study, out, play, capsys):
    codes, _ = play
    codes |= {"a,1": 2, "b,1": 1}
    ending = run_study(study, out, jobs=1)
    assert begun(out) == ["a,1", "b,1", "a,2", "b,2"] and not ending.stopped
    assert set(ending.failed) == {Cell("a", 1), Cell("b", 1)}
    assert ending.failed[Cell("a", 1)] == f"it broke (log: {out / 'logs' / 'a' / '1.log'})"
    codes.clear()
    assert not run_study(study, out, jobs=1).failed
    assert begun(out)[4:] == ["a,1", "b,1"]


def test_a_cell_that_a_signal_kills_is_named(study, out, play):
    codes, _ = play
    codes["a,1"] = -9
    ending = run_study(study, out, jobs=1)
    assert list(ending.failed.values()) == [f"killed by signal 9 (log: {out / 'logs' / 'a' / '1.log'})"]
    assert len(begun(out)) == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_passed_on_and_nothing_new_is_started(study, out, play, number, capsys):
    _, seconds = play
    seconds[0] = 60

    def interrupt():
        while not (out / "times").exists() or len(begun(out)) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt)
    thread.start()
    ending = run_study(study, out, jobs=2)
    thread.join()
    assert ending.stopped and not ending.failed and len(begun(out)) == 2
    said = capsys.readouterr().err
    assert (
        "stopping; waiting until 2 cells are saved" in said
        and said.count("stopped; everything is saved") == 2
    )


# holds the lock of a cell until the other three are done
HOLD = """
import pathlib, sys, time
from facetmt.files import claimed
with claimed(pathlib.Path(sys.argv[1])) as free:
    print("held" if free else "busy", flush=True)
    while len(list(pathlib.Path(sys.argv[2]).glob("cells/*/*/done"))) < 3:
        time.sleep(0.01)
"""


def test_cells_of_another_call_are_left_to_it_and_taken_over_when_it_ends(study, out, play, capsys):
    lock = lock_of(Cell("a", 1).run(out))
    lock.parent.mkdir(parents=True)
    other = subprocess.Popen([sys.executable, "-c", HOLD, lock, out], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None and other.stdout.readline() == "held\n"
    ending = run_study(study, out, jobs=1)
    assert other.wait(timeout=60) == 0
    other.stdout.close()
    assert not ending.failed and begun(out) == ["b,1", "a,2", "b,2", "a,1"]
    assert "a,1: another process is running it" in capsys.readouterr().err


def test_a_cell_that_was_taken_in_the_same_moment_is_waited_for(study, out, play):
    codes, _ = play
    codes["a,1"] = BUSY

    def finish():
        while not (out / "times").exists() or len(begun(out)) < 3:
            time.sleep(0.01)
        (Cell("a", 1).run(out) / DONE).touch()

    thread = threading.Thread(target=finish)
    thread.start()
    ending = run_study(study, out, jobs=1)
    thread.join()
    assert not ending.failed and not ending.stopped


def test_a_cell_that_somebody_stopped_leaves_the_study_incomplete(study, out, play):
    codes, _ = play
    codes["b,2"] = EXIT_CODE
    ending = run_study(study, out, jobs=2)
    assert ending.stopped and not ending.failed and len(begun(out)) == 4


def test_the_last_line_of_a_log(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"x" * 10_000 + b"\nfacetmt: wrong; do this\n\n")
    assert last_line(log) == "wrong; do this"
    log.write_bytes(b"")
    assert last_line(log) == "it said nothing"
