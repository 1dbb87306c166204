"""Reports are read on laptops and in CI: they must not load what only training needs."""

import json
import subprocess
import sys

import pytest

TRAINING = {"jax", "jaxlib", "flax", "optax", "orbax", "optuna", "tensorstore"}
SUBWORDS = {"sentencepiece", "sacremoses"}
PARTS = (
    "page",
    "page.serve",
    "figures",
    "tables",
    "card",
    "replay",
    "health",
    "trials",
    "studies.summary",
    "diagnose",
)


@pytest.fixture(scope="module")
def loaded():
    """What a process has loaded after the recipe, and after all of the report."""
    code = (
        "import sys, json, importlib; import facetmt.recipe, facetmt.runlog; base = sorted(sys.modules); "
        f"[importlib.import_module('facetmt.report.' + name) for name in {PARTS!r}]; "
        "print(json.dumps([base, sorted(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [{name.split(".")[0] for name in names} for names in json.loads(done.stdout)]


def test_a_report_loads_nothing_of_training(loaded):
    assert loaded[1] & TRAINING == set() and "plotly" in loaded[1]


def test_a_report_itself_loads_nothing_of_subwords(loaded):
    assert (loaded[1] - loaded[0]) & SUBWORDS == set()
