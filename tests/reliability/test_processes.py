"""Rows 7 and 8: several processes and devices train the same model; none waits for one that has died."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from facetmt.data.codec import open_codec
from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.runlog import Run
from facetmt.train import checkpoint, processes
from facetmt.train.interrupt import Interrupt, Interrupted
from facetmt.train.processes import HEARTBEAT_SECONDS, LOST, Agreement
from facetmt.train.restore import abstract_state
from facetmt.train.session import vocabulary_sizes

STEPS = 12
RECIPE = f"""\
extends: recipe.yaml
train: {{steps: {STEPS}, validate_every: 6, save_every: 4, log_every: 1, dev_hold: 3, agree_every: 2}}
decode: {{max_length: 8, max_source: 16, batch: 16}}
"""
QUICK = "--xla_backend_optimization_level=0"  # these tests spend most of their time compiling
# several devices add in a different order: bound on the relative distance between two sets of parameters
TOLERANCE = 1e-5


class Group:
    """The processes of one run, on this machine."""

    def __init__(self, project: Path, run: Path, count: int, devices: int, *settings: str) -> None:
        path = project / "processes.yaml"
        path.write_text(RECIPE, encoding="utf-8")
        command = [sys.executable, "-m", "facetmt", "train", str(path), "--run", str(run)]
        command += ["--resume"] * run.exists()
        command += [word for setting in settings for word in ("--set", setting)]
        environment = os.environ | {"XLA_FLAGS": f"{QUICK} --xla_force_host_platform_device_count={devices}"}
        place = f"127.0.0.1:{free_port()}"
        cluster = ["--coordinator", place, "--processes", str(count)]
        self.run = run
        self.processes = [
            subprocess.Popen(
                [*command, *([*cluster, "--process", str(number)] if count > 1 else [])],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for number in range(count)
        ]

    def wait(self) -> tuple[list[int], list[str]]:
        """Exit codes and messages of each process."""
        said = [process.communicate(timeout=240)[1] for process in self.processes]
        return [process.returncode for process in self.processes], said

    def await_step(self, step: int) -> None:
        deadline = time.monotonic() + 120
        while lines(self.run) <= step:
            assert time.monotonic() < deadline and self.processes[0].poll() is None, self.wait()[1]
            time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def lines(run: Path) -> int:
    try:
        return (run / "pulls.csv").read_bytes().count(b"\n")
    except OSError:
        return 0


def finish(*arguments: object) -> Path:
    group = Group(*arguments)
    codes, said = group.wait()
    assert set(codes) == {0}, said
    return group.run


def last_checkpoint(run: Path, steps: int) -> checkpoint.Checkpoint:
    newest, complaints = checkpoint.newest_whole(run / "checkpoints")
    assert newest is not None and newest.step == steps and not complaints
    return newest


def parameters(run: Path, steps: int) -> np.ndarray:
    recipe, codec = load_recipe(run / "recipe.yaml"), open_codec(run / "vocabulary")
    state = last_checkpoint(run, steps).arrays(abstract_state(recipe, vocabulary_sizes(codec.vocabulary)))
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(state.params)])


def assert_same_training(one: Path, other: Path, steps: int = STEPS) -> None:
    """The same pulls; the same losses and parameters up to rounding."""
    first, second = Run(one).pulls, Run(other).pulls
    assert first.step.tolist() == second.step.tolist() == list(range(1, steps + 1))
    assert first.facet.tolist() == second.facet.tolist()
    np.testing.assert_allclose(first.before, second.before, rtol=1e-4)
    np.testing.assert_allclose(first.prob, second.prob, rtol=1e-2)
    a, b = parameters(one, steps), parameters(other, steps)
    assert np.linalg.norm(a - b) < TOLERANCE * steps / STEPS * np.linalg.norm(a)  # rounding adds up


def sentence(said: str, part: str) -> str:
    """The line that contains this part; JAX may print others."""
    (line,) = [line for line in said.splitlines() if part in line]
    return line


@pytest.fixture(scope="module")
def alone(project) -> Path:
    """One process, one device."""
    return finish(project, project / "processes-1x1", 1, 1)


@pytest.mark.parametrize(("count", "settings"), [(1, ()), (2, ("train.split_state=true",))])
def test_row_08_several_devices_train_as_one(project, alone, count, settings):
    devices = 4 // count
    run = finish(project, project / f"processes-{count}x{devices}", count, devices, *settings)
    assert_same_training(alone, run)


def test_row_08_compositions_are_the_same_on_any_number_of_devices(project):
    settings = ("schedule.policy=unimax", "optimiser.accumulate=2")
    one = finish(project, project / "composed-1x1", 1, 1, *settings)
    other = finish(project, project / "composed-2x2", 2, 2, *settings)
    assert_same_training(one, other)


def test_row_08_so_are_the_measurements_of_auto(project):
    steps = 54  # the first measurement is at step 50
    settings = ("schedule.policy=auto", "optimiser.accumulate=2", "batch.rows=32", f"train.steps={steps}")
    settings += (f"train.validate_every={steps}", f"train.save_every={steps}")
    runs = [finish(project, project / f"auto-{n}x{n}", n, n, *settings) for n in (1, 2)]
    assert_same_training(*runs, steps)
    used = [last_checkpoint(run, steps).host()["scheduler"]["policy"]["use"] for run in runs]
    np.testing.assert_allclose(*used, rtol=1e-2, atol=1e-2)
    assert np.all(np.array(used[0])[0] == 50)  # Σt of the measurements of each facet


def test_rows_07_and_08_two_processes_stopped_replaced_by_one_and_killed_train_as_one(project, alone):
    run = project / "processes-story"
    group = Group(project, run, 2, 1)
    group.await_step(2)
    group.processes[1].send_signal(signal.SIGTERM)  # a signal to one stops both at the same step
    codes, said = group.wait()
    assert codes == [75, 75], said
    assert sentence(said[0], "everything is saved") == sentence(said[1], "everything is saved")

    finish(project, run, 1, 1, "train.steps=7")

    group = Group(project, run, 2, 1)
    group.await_step(8)
    survivor_ends_in_time(group, victim=1)
    finish(project, run, 2, 1)
    assert_same_training(alone, run)

    codes, said = Group(project, run, 2, 1, "batch.rows=16").wait()  # both report a user error
    assert codes == [2, 2]
    assert all("batch.rows: 8 -> 16" in sentence(text, "facetmt: ") for text in said)


def test_row_07_when_the_first_process_dies_the_other_ends(project):
    group = Group(project, project / "processes-headless", 2, 1)
    group.await_step(1)
    survivor_ends_in_time(group, victim=0)


def survivor_ends_in_time(group: Group, victim: int) -> None:
    os.kill(group.processes[victim].pid, signal.SIGKILL)
    since = time.monotonic()
    codes, said = group.wait()
    assert time.monotonic() - since < HEARTBEAT_SECONDS + 15
    # when process 0 dies, JAX's runtime may end the other one before facetmt does
    assert codes[1 - victim] in (LOST, -signal.SIGABRT)
    text = said[1 - victim]
    assert "lost another one" in text or "another task died" in text
    assert codes[1 - victim] != LOST or "--resume" in text


def several(monkeypatch, rows) -> None:
    monkeypatch.setattr(processes, "several", lambda: True)
    monkeypatch.setattr(processes, "gather", lambda values: np.stack([values, *rows(values)]))


def test_row_07_processes_that_drifted_apart_stop(monkeypatch):
    several(monkeypatch, lambda values: [values + np.array([1, 0, 0], np.uint32)])
    agreement = Agreement(Interrupt(), every=4)
    agreement.record(1, 0, 0.5, 2.0)
    agreement.at(3)  # not yet compared
    with pytest.raises(UserError, match=r"do not agree .* start all of them again with --resume"):
        agreement.at(4)


def test_row_03_when_the_first_process_has_no_space_all_of_them_stop(monkeypatch):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(processes, "several", lambda: True)
    monkeypatch.setattr(processes, "is_first_process", lambda: True)
    sent = []
    monkeypatch.setattr(
        processes.multihost_utils, "broadcast_one_to_all", lambda value: sent.append(value) or value
    )
    with pytest.raises(UserError, match="No space left on device"):
        processes.on_first_process(full)
    assert b"No space left on device" in bytes(sent[-1])  # the others raise it too


def test_row_07_a_signal_elsewhere_is_noticed_here(monkeypatch):
    several(monkeypatch, lambda values: [values + np.array([0, 0, 1], np.uint32)])
    with pytest.raises(Interrupted):
        Agreement(Interrupt(), every=1).at(1)
