"""The examples run as a reader would run them, and `facetmt` reads their logs."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from facetmt.runlog import Run

pytest.importorskip("transformers", reason="the adapters' libraries are missing: make test-adapters")

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, folder: Path) -> dict[str, float]:
    """The shares of the facets, which the example prints last."""
    command = [sys.executable, str(EXAMPLES / name), str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    shares = ast.literal_eval(done.stdout.splitlines()[-1])
    assert sum(shares.values()) == pytest.approx(1)
    return shares


def test_a_language_model_in_a_loop_of_its_own(tmp_path):
    shares = run("torch_lm.py", tmp_path / "run")
    assert shares["noise"] < min(shares["ascending"], shares["descending"])
    logs = Run(tmp_path / "run")
    assert logs.last_step == 300 and logs.metrics[-1]["loss"] < logs.metrics[0]["loss"]


def test_an_encoder_decoder_in_the_trainer(tmp_path):
    shares = run("hf_seq2seq.py", tmp_path / "run")
    logs = Run(tmp_path / "run")
    assert logs.last_step == 30 and set(logs.facets) == set(shares) and len(shares) == 5
    assert logs.pulls.after[-1] < logs.pulls.before[0]  # the dev loss falls
