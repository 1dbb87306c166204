"""A run that is killed, interrupted or moved ends as one that never was: the same pulls, the same parameters."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest

from facetmt.train import checkpoint

POLICIES = {
    "exp3": [],
    "lagged": ["--set", "schedule.feedback_lag=1", "--set", "schedule.reward=pg"],
    "mixed": ["--set", "schedule.policy=mixed"],
}


@pytest.fixture(scope="module")
def undisturbed(project, facetmt):
    """Each schedule once from start to end."""
    runs = {}
    for name, settings in POLICIES.items():
        runs[name] = project / f"whole-{name}"
        done = facetmt("train", project / "recipe.yaml", "--run", runs[name], *settings)
        assert done.returncode == 0, done.stderr
    return runs


def same_logs(one: Path, other: Path) -> None:
    for name in ("pulls.csv", "probs.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    texts = [(run / "validation.jsonl").read_text(encoding="utf-8") for run in (one, other)]
    rows = [[json.loads(line) for line in text.splitlines()] for text in texts]
    for row in rows[0] + rows[1]:
        del row["seconds"]
    assert rows[0] == rows[1]


def array_bytes(run: Path) -> dict[str, bytes]:
    """Every array of the last checkpoint, by its path in the tree."""
    newest, complaints = checkpoint.newest_whole(run / "checkpoints")
    assert newest is not None and not complaints
    with ocp.StandardCheckpointer() as reader:
        tree = reader.restore((newest.path / "arrays").absolute())
    return {
        jax.tree_util.keystr(path): np.asarray(leaf).tobytes()
        for path, leaf in jax.tree.leaves_with_path(tree)
    }


def same_model(one: Path, other: Path) -> None:
    first, second = array_bytes(one), array_bytes(other)
    assert first.keys() == second.keys() and len(first) > 10
    assert [name for name in first if first[name] != second[name]] == []


def start(project: Path, run: Path, settings: list[str]) -> subprocess.Popen[str]:
    resume = ["--resume"] if (run / "recipe.yaml").exists() else []
    if run.exists() and not resume:
        shutil.rmtree(run)
    command = [sys.executable, "-m", "facetmt", "train", str(project / "recipe.yaml"), "--run", str(run)]
    return subprocess.Popen(
        [*command, *resume, *settings], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def steps_logged(run: Path) -> int:
    try:
        return (run / "pulls.csv").read_bytes().count(b"\n")
    except OSError:
        return 0


@pytest.mark.parametrize("name", POLICIES)
def test_killed_at_random_moments_it_ends_the_same(project, undisturbed, name):
    run = project / f"killed-{name}"
    moments = random.Random(name)
    kills = 0
    for _ in range(4):
        process = start(project, run, POLICIES[name])
        target = steps_logged(run) + moments.randrange(2, 9)
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if steps_logged(run) > target or (
                list(run.glob("checkpoints/.partial-*")) and moments.random() < 0.2
            ):
                time.sleep(moments.random() * 0.1)
                process.kill()
                kills += 1
                break
            time.sleep(0.005)
        process.communicate()
        if process.returncode == 0:
            break
    else:
        process = start(project, run, POLICIES[name])
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
    assert kills >= 2
    same_logs(undisturbed[name], run)
    same_model(undisturbed[name], run)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_exits_75_and_resume_goes_on(facetmt, project, undisturbed, number):
    run = project / f"signalled-{number.name}"
    process = start(project, run, [])
    while steps_logged(run) < 8 and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, number)
    time.sleep(0.02)
    if process.poll() is None:
        os.kill(process.pid, number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 75, errors
    assert "continue with --resume" in errors and "Traceback" not in errors
    done = facetmt("train", project / "recipe.yaml", "--run", run, "--resume")
    assert done.returncode == 0, done.stderr
    same_logs(undisturbed["exp3"], run)
    same_model(undisturbed["exp3"], run)


def test_two_runs_with_the_same_seed_are_bitwise_equal(facetmt, project, undisturbed):
    run = project / "twin"
    assert facetmt("train", project / "recipe.yaml", "--run", run).returncode == 0
    same_logs(undisturbed["exp3"], run)
    same_model(undisturbed["exp3"], run)


def test_a_damaged_checkpoint_is_named_and_the_older_one_used(facetmt, project, undisturbed):
    run = project / "moved" / "run"
    shutil.copytree(undisturbed["exp3"], run)  # a copy elsewhere must do as well
    newest, _ = checkpoint.newest_whole(run / "checkpoints")
    victim = max(
        (path for path in newest.path.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    content = bytearray(victim.read_bytes())
    content[len(content) // 3] ^= 4
    victim.write_bytes(content)
    done = facetmt("train", project / "recipe.yaml", "--run", run, "--resume")
    assert done.returncode == 0, done.stderr
    assert str(victim.name) in done.stderr and "using an older checkpoint" in done.stderr
    same_logs(undisturbed["exp3"], run)
    same_model(undisturbed["exp3"], run)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "already holds a run"),
        (["--resume", "--set", "schedule.exploration=0.5"], "schedule.exploration: 0.25 -> 0.5"),
        (["--resume", "--set", "seed=2"], "seed: 1 -> 2"),
    ],
)
def test_a_run_is_not_overwritten_nor_continued_with_another_recipe(
    facetmt, project, undisturbed, arguments, message
):
    before = (undisturbed["exp3"] / "pulls.csv").read_bytes()
    done = facetmt("train", project / "recipe.yaml", "--run", undisturbed["exp3"], *arguments)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr
    assert (undisturbed["exp3"] / "pulls.csv").read_bytes() == before


def test_changed_text_is_named_on_resume(facetmt, project, undisturbed, tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(
        project, folder, ignore=shutil.ignore_patterns("killed-*", "signalled-*", "twin", "moved")
    )
    train = folder / "corpus" / "law" / "train.de"
    train.write_text(train.read_text(encoding="utf-8").replace("Die ", "Diese "), encoding="utf-8")
    done = facetmt("train", folder / "recipe.yaml", "--run", folder / "whole-exp3", "--resume")
    assert done.returncode == 2 and "facet law" in done.stderr and "Traceback" not in done.stderr


def test_nothing_to_resume_is_said(facetmt, project):
    done = facetmt("train", project / "recipe.yaml", "--run", project / "nowhere", "--resume")
    assert done.returncode == 2 and "holds no run to resume" in done.stderr
