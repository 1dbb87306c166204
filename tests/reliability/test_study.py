"""A study whose processes are killed, and one with a cell that fails."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CELLS = ("mixed,1", "exp3,1", "mixed,2", "exp3,2")
RECIPE = """\
extends: recipe.yaml
train: {steps: 12, validate_every: 6, save_every: 3, log_every: 1}
decode: {beam: 1, max_length: 4}
"""
STUDY = """\
recipe: cell.yaml
seeds: [1, 2]
systems:
  mixed: {schedule: {policy: mixed}}
  exp3: {schedule: {policy: exp3}}
"""
# known only once the corpus is opened: the recipe itself is valid
FAILING = "  failing: {seeds: [1], schedule: {policy: auto, objective: {nowhere: 1}}}\n"
PATIENCE = 300  # seconds until a test gives up waiting


def start(project: Path, out: Path, extra: str = "") -> subprocess.Popen[str]:
    (project / "cell.yaml").write_text(RECIPE, encoding="utf-8")
    study = project / f"{out.name}.yaml"
    study.write_text(STUDY + extra, encoding="utf-8")
    command = [sys.executable, "-m", "facetmt", "study", str(study), "--out", str(out), "--jobs", "2"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


def steps(out: Path) -> int:
    """Steps in the logs of all cells."""
    logs = out.glob("cells/*/*/pulls.csv")
    return sum(max(0, log.read_bytes().count(b"\n") - 1) for log in logs)


def children(parent: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = status.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(after_name[1]) == parent and after_name[0] != "Z":
            found.append(int(status.parent.name))
    return found


def await_steps(process: subprocess.Popen[str], out: Path, more: int) -> None:
    """Wait until the cells have done some steps in this life of the study."""
    goal, deadline = steps(out) + more, time.monotonic() + PATIENCE
    while steps(out) < goal:
        assert process.poll() is None and time.monotonic() < deadline, "the study made no progress"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def summarised(facetmt, out: Path) -> dict[str, object]:
    """The summary without what depends on the clock."""
    done = facetmt("study", out, "--summary")
    assert done.returncode == 0, done.stderr
    content = json.loads((out / "summary.json").read_text("utf-8"))
    for system in content["systems"].values():
        for cell in system["cells"].values():
            del cell["timing"]
    return content


@pytest.fixture(scope="module")
def undisturbed(project, facetmt) -> tuple[Path, str, str]:
    """A study that nobody disturbs, but one of whose cells fails; its folder, output and messages."""
    out = project / "undisturbed"
    process = start(project, out, FAILING)
    printed, said = process.communicate(timeout=2 * PATIENCE)
    assert process.returncode == 2, said
    return out, printed, said


def test_row_33_a_failing_cell_stops_no_other_and_is_named_in_the_end(undisturbed):
    out, printed, said = undisturbed
    assert all(f"{cell}: finished" in said for cell in CELLS)
    last = said.splitlines()[-1]
    assert last.startswith("facetmt: 1 of 5 cells failed; failing,1: schedule.objective names nowhere")
    assert str(out / "logs" / "failing" / "1.log") in last and "Traceback" not in said
    assert "mixed (2 seeds)" in printed and "exp3 (2 seeds)" in printed
    assert (out / "report.html").stat().st_size > 100_000


def test_row_33_a_study_killed_three_times_ends_as_an_undisturbed_one(undisturbed, project, facetmt):
    out = project / "killed"

    first = start(project, out)
    await_steps(first, out, 3)
    orphans = children(first.pid)
    assert len(orphans) == 2
    first.kill()
    first.communicate()
    deadline = time.monotonic() + PATIENCE
    while any(map(is_running, orphans)):  # cells end with the process that started them
        assert time.monotonic() < deadline
        time.sleep(0.05)

    second = start(project, out)
    await_steps(second, out, 4)
    for pid in [*children(second.pid), second.pid]:
        os.kill(pid, signal.SIGKILL)
    second.communicate()

    third = start(project, out)
    await_steps(third, out, 4)
    victim = children(third.pid)[0]
    os.kill(victim, signal.SIGKILL)
    _, said = third.communicate(timeout=2 * PATIENCE)
    assert third.returncode == 2 and "1 of 4 cells failed" in said and "killed by signal 9" in said
    assert said.count(": finished after") == 3

    before = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/*/scores.json")}
    assert len(before) == 3
    last = start(project, out)
    _, said = last.communicate(timeout=2 * PATIENCE)
    assert last.returncode == 0 and "4 cells, 3 finished before" in said
    assert said.count(": continued") == 1 and "started" not in said
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())  # nothing is repeated

    found, expected = summarised(facetmt, out), summarised(facetmt, undisturbed[0])
    assert expected["missing"] == ["failing,1"] and found["missing"] == []
    assert not expected["systems"].pop("failing")["cells"]
    assert {**found, "missing": 0} == {**expected, "missing": 0}


def test_row_33_a_study_that_a_signal_stops_is_saved_and_says_so(project):
    out = project / "stopped"
    process = start(project, out)
    deadline = time.monotonic() + PATIENCE
    while len(children(process.pid)) < 2:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 75 and "run the same command again to continue" in said
    assert "Traceback" not in said and not children(process.pid)
