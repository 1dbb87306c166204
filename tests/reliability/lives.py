"""Runs that are killed and resumed, and everything that must be equal in the end; also for soak.py."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import orbax.checkpoint as ocp

from facetmt.train import checkpoint

STEPS, VALIDATE, SAVE = 120, 60, 7
# one line per step in the logs, so that the killer can see how far the run is
RECIPE = f"""\
extends: recipe.yaml
train: {{steps: {STEPS}, validate_every: {VALIDATE}, save_every: {SAVE}, log_every: 1, dev_hold: 3}}
"""
SCHEDULES = {
    "exp3": [],
    "lagged": ["schedule.feedback_lag=1"],
    "mixed": ["schedule.policy=mixed"],
    # in larger batches, because the cost of a measurement in steps sets the pause until the next
    "auto": [
        *("schedule.policy=auto", "schedule.objective={law: 1}", "batch.rows=64"),
        *("train.steps=100", "train.validate_every=50"),
    ],
    "exp3s": [
        *("schedule.policy=exp3s", "schedule.reward=pgnorm", "optimiser.accumulate=2"),
        *("train.steps=70", "train.validate_every=35"),  # its steps take twice as long
    ],
}
PATIENCE = 120  # seconds until a test gives up waiting


def overrides(settings: Sequence[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def write_recipe(project: Path) -> Path:
    """Write the recipe of the runs to be killed, beside that of the project."""
    path = project / "lives.yaml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


# the process sets the limit itself: forking a process with JAX's threads may hang
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
del sys.argv[1]
from facetmt.cli import main
main()
"""


def start(
    project: Path, run: Path, settings: Sequence[str], room: int | None = None
) -> subprocess.Popen[str]:
    """Start or resume the run in its own process; `room`: maximum file size in bytes."""
    resume = ["--resume"] if run.exists() and any(run.iterdir()) else []
    program = ["-m", "facetmt"] if room is None else ["-c", LIMITED, str(room)]
    command = [sys.executable, *program, "train", str(write_recipe(project)), "--run", str(run)]
    return subprocess.Popen(
        [*command, *resume, *overrides(settings)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(project: Path, run: Path, settings: Sequence[str]) -> str:
    """Let the run finish; returns its messages."""
    process = start(project, run, settings)
    _, said = process.communicate(timeout=2 * PATIENCE)
    assert process.returncode == 0, said
    return said


def steps_logged(run: Path) -> int:
    try:
        return max(0, (run / "pulls.csv").read_bytes().count(b"\n") - 1)
    except OSError:
        return 0


def partial_saves(run: Path) -> set[tuple[str, int]]:
    """Saves in progress, and those left by a kill."""
    return {(path.name, path.stat().st_ino) for path in run.glob("checkpoints/.partial-*")}


def handles_signals(process: subprocess.Popen[str]) -> bool:
    """Whether the process has installed its SIGTERM handler, which it has while it trains."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def await_moment(process: subprocess.Popen[str], reached) -> bool:
    """Poll every few milliseconds until the moment is reached; False if the process ended first."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None:
        assert time.monotonic() < deadline, "the run made no progress"
        try:
            if reached():
                return True
        except OSError:  # a file appeared or disappeared while being read
            pass
        time.sleep(0.002)
    return False


class Kill(NamedTuple):
    """How a life of the process ended."""

    killed: bool  # False: it finished first
    saving: bool  # a checkpoint was being written
    resumed: bool  # it had started from a checkpoint
    said: str


def kill_once(process: subprocess.Popen[str], run: Path, moments: random.Random, kind: str) -> Kill:
    """SIGKILL after some `steps`, during a `save`, or at `any time`; the seed decides exactly when."""
    former = partial_saves(run) if run.exists() else set()
    if kind == "steps":
        target = steps_logged(run) + moments.randrange(1, 2 * SAVE)
        alive = await_moment(process, lambda: steps_logged(run) >= target)
    elif kind == "save":
        alive = await_moment(process, lambda: bool(partial_saves(run) - former))
        time.sleep(moments.random() * 0.06)
    else:
        until = time.monotonic() + moments.uniform(0.5, 8)
        alive = await_moment(process, lambda: time.monotonic() > until)
    if alive:
        os.kill(process.pid, signal.SIGKILL)
    _, said = process.communicate()
    left = partial_saves(run) if run.exists() else set()
    return Kill(process.returncode == -signal.SIGKILL, bool(left - former), "resumed at step" in said, said)


def array_bytes(run: Path) -> dict[str, bytes]:
    """Every array of the last checkpoint, parameters and optimiser, by its path in the tree."""
    newest, complaints = checkpoint.newest_whole(run / "checkpoints")
    assert newest is not None and not complaints
    with ocp.StandardCheckpointer() as reader:
        tree = reader.restore((newest.path / "arrays").absolute())
    leaves = jax.tree.leaves_with_path(tree)
    return {jax.tree_util.keystr(path): np.asarray(leaf).tobytes() for path, leaf in leaves}


def host_state(run: Path) -> dict[str, object]:
    """Bandit, cursors and scores of the last checkpoint, without timings."""
    newest, _ = checkpoint.newest_whole(run / "checkpoints")
    assert newest is not None
    host = newest.host()
    for name in ("seconds", "spent"):
        del host["tally"][name]
    del host["log"]["metrics.jsonl"], host["log"]["validation.jsonl"]
    return host


def differences(one: Path, other: Path) -> list[str]:
    """What is not bit-identical between two finished runs; empty if all is well."""
    found = [
        name
        for name in ("pulls.csv", "probs.csv")
        if (one / name).read_bytes() != (other / name).read_bytes()
    ]
    texts = [(run / "validation.jsonl").read_text(encoding="utf-8") for run in (one, other)]
    rows = [[json.loads(line) for line in text.splitlines()] for text in texts]
    for row in rows[0] + rows[1]:
        del row["seconds"]
    found += ["validation.jsonl"] if rows[0] != rows[1] or not rows[0] else []
    first, second = host_state(one), host_state(other)
    found += [f"host.json {name}" for name in {**first, **second} if first.get(name) != second.get(name)]
    first, second = array_bytes(one), array_bytes(other)
    assert len(first) > 10
    return found + [name for name in {**first, **second} if first.get(name) != second.get(name)]
