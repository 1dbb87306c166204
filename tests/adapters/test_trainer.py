"""The Hugging Face Trainer with facets: interrupted, resumed, accumulated, on two ranks."""

import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("transformers", reason="the adapters' libraries are missing: make test-adapters")

JOB = Path(__file__).parent / "hf_job.py"
LOGS = ("pulls.csv", "probs.csv")
# what depends on the clock, or what the Trainer itself forgets: the losses since its last log point
NOT_KEPT = ("train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "loss")


def start(*arguments: object, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, str(JOB), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )


def run(*arguments: object) -> int:
    job = start(*arguments)
    output, _ = job.communicate(timeout=600)
    assert job.returncode in (0, -signal.SIGKILL), output
    return job.returncode


def run_here(monkeypatch, *arguments: object) -> None:
    """As `run`, without the seconds that a new process takes to import everything."""
    monkeypatch.setattr("sys.argv", [str(JOB), *map(str, arguments)])
    runpy.run_path(str(JOB), run_name="__main__")


def outcome(folder: Path, rank: int = 0) -> dict[str, object]:
    result = json.loads((folder / f"result-{rank}.json").read_text())
    result["log"] = [{k: v for k, v in row.items() if k not in NOT_KEPT} for row in result["log"]]
    return result


def as_if_killed_after(whole: Path, step: int, folder: Path) -> Path:
    """A copy as a kill would have left it: logs that are longer than the latest checkpoint knows."""
    shutil.copytree(whole, folder)
    for path in folder.glob("checkpoint-*"):
        if int(path.name.split("-")[1]) > step:
            shutil.rmtree(path)
    for path in folder.glob("result-*"):
        path.unlink()
    return folder


def assert_equal(first: Path, second: Path, rank: int = 0) -> None:
    assert outcome(first, rank) == outcome(second, rank)
    for name in LOGS:
        assert (first / name).read_text() == (second / name).read_text()


def test_row_35_a_run_with_prefetching_workers_is_killed_and_resumed(tmp_path):
    assert run(tmp_path / "whole", "--workers", 2) == 0
    assert run(tmp_path / "killed", "--workers", 2, "--die", 13) == -signal.SIGKILL
    assert run(tmp_path / "killed", "--workers", 2, "--resume") == 0
    assert_equal(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "settings",
    [
        ("--accumulate", 2, "--hold", 3, "--mixed"),
        ("--reward", "loss", "--accumulate", 2),
    ],
    ids=["accumulated, held and mixed", "training loss"],
)
def test_other_settings_resume_to_the_bit_too(settings, tmp_path, monkeypatch):
    run_here(monkeypatch, tmp_path / "whole", *settings)
    again = as_if_killed_after(tmp_path / "whole", 10, tmp_path / "again")
    run_here(monkeypatch, again, *settings, "--resume")
    assert_equal(tmp_path / "whole", again)
    rows = (again / "pulls.csv").read_text().splitlines()[1:]
    assert [int(row.split(",")[0]) for row in rows] == list(range(1, 49))
    assert all(row.split(",")[1] == "composition" for row in rows) == ("--mixed" in settings)
    dev = all(row.split(",")[4] for row in rows)  # the loss after the update
    assert dev == ("loss" not in settings)


def test_the_trainers_logs_have_what_the_scheduler_did(tmp_path, monkeypatch):
    with pytest.MonkeyPatch.context() as patch:
        run_here(patch, tmp_path / "run", "--hold", 2)
    points = [row for row in outcome(tmp_path / "run")["log"] if "learning_rate" in row]
    assert len(points) == 6
    last = points[-1]
    for name in ("up", "down", "noise"):
        assert {f"pi/{name}", f"share/{name}", f"epochs/{name}"} <= set(last)
    assert sum(last[f"share/{name}"] for name in ("up", "down", "noise")) == pytest.approx(1)
    assert any(key.startswith("loss/") for key in last) and last["epoch"] == 1.0
    assert {"health/starved", "health/entropy", "health/dropped", "health/saturation"} <= set(last)
    rows = [row.split(",") for row in (tmp_path / "run" / "pulls.csv").read_text().splitlines()[1:]]
    for (*_, first_after, _, _), (_, _, _, second_before, *_) in zip(rows[::2], rows[1::2], strict=True):
        assert first_after == second_before  # while a dev batch is held


def two_ranks(*arguments: object) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "GLOO_SOCKET_IFNAME": "lo"}
    jobs = [start(*arguments, RANK=rank, LOCAL_RANK=rank, **common) for rank in ("0", "1")]
    outputs = [job.communicate(timeout=600)[0] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], outputs


def test_two_ranks_agree_and_resume(tmp_path):
    two_ranks(tmp_path / "whole", "--mixed")
    assert outcome(tmp_path / "whole")["fingerprint"] == outcome(tmp_path / "whole", 1)["fingerprint"]
    assert outcome(tmp_path / "whole")["weights"] == outcome(tmp_path / "whole", 1)["weights"]
    again = as_if_killed_after(tmp_path / "whole", 10, tmp_path / "again")
    two_ranks(again, "--mixed", "--resume")
    assert_equal(tmp_path / "whole", again)
    assert outcome(tmp_path / "whole", 1)["weights"] == outcome(again, 1)["weights"]
