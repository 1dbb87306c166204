"""`make dist`, and the wheel in an environment that has nothing but NumPy."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from facetmt.runlog import Run

ROOT = Path(__file__).parents[2]
PROJECT = ("pyproject.toml", "Makefile", "README.md", "LICENSE", "src")
LOOP = """
import sys
from importlib.metadata import distributions
from facetmt.adapters.batches import FacetBatches
from facetmt.adapters.log import FacetLog
from facetmt.bandit import Exp3, FacetScheduler

assert {found.name for found in distributions()} == {"facetmt", "numpy"}
scheduler = FacetScheduler(["good", "bad"], Exp3(2, learning_rate=0.1, exploration=0.25), "dev-pg", seed=1)
batches = FacetBatches(scheduler, ["good", "bad"] * 50, batch_size=4, batches=300)
log = FacetLog(sys.argv[1], batches, steps=300)
for samples in batches:
    log(batches.feedback(before=1.0, after=0.5 + samples[0] % 2))
log.close()
assert scheduler.probs()[0] > 0.8
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built by the Makefile's own rule, from a copy of what it needs."""
    folder = tmp_path_factory.mktemp("dist")
    for name in PROJECT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    binaries = Path(sys.executable).parent
    make = ["make", "dist", f"BIN={binaries}", "--assume-old=.venv/.installed"]
    done = subprocess.run(make, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {path.suffix for path in (folder / "dist").iterdir()} == {".gz", ".whl"}
    return next((folder / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory) -> Path:
    """The programs of a fresh environment with this environment's NumPy and the wheel.

    pip is offline and resolves dependencies: it fails if the wheel asks for more than NumPy.
    """
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder)
    packages = next((folder / "lib").glob("python*/site-packages"))
    here = Path(np.__file__).parents[1]
    for path in [here / "numpy", *here.glob("numpy.libs"), *here.glob("numpy-*.dist-info")]:
        (packages / path.name).symlink_to(path)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", wheel]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def run(*command: object) -> subprocess.CompletedProcess[str]:
    """Outside of the environment of these tests."""
    return subprocess.run([*map(str, command)], capture_output=True, text=True, env={"PATH": ""}, cwd="/")


def test_the_bandit_and_the_sampler_run_with_numpy_alone(bare, tmp_path):
    done = run(bare / "python", "-c", LOOP, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert Run(tmp_path / "run").last_step == 300


@pytest.mark.parametrize("arguments", [["--help"], ["train", "recipe.yaml", "--run", "run"]])
def test_the_command_says_which_extra_to_add(bare, arguments):
    done = run(bare / "facetmt", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "pip install 'facetmt[mt]'" in done.stderr


@pytest.mark.parametrize("file", ["py.typed", "demo/words/law.yaml", "report/page/page.css"])
def test_the_wheel_has_the_files_that_are_no_code(bare, file):
    assert list((bare.parent / "lib").glob(f"python*/site-packages/facetmt/{file}"))
