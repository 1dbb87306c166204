"""The parameters by name, as docs/export.md lists them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from facetmt.data.vocab import Vocabulary
from facetmt.errors import UserError
from facetmt.export.folder import open_export
from facetmt.export.run import export_run
from facetmt.train.restore import load_model

safe_open = pytest.importorskip(
    "safetensors", reason="the adapters' libraries are missing: make test-adapters"
).safe_open
DOCS = Path(__file__).parents[2] / "docs" / "export.md"


@pytest.fixture(scope="module")
def run(project, facetmt):
    directory = project / "exporting"
    steps = ["--set", "train.steps=4", "--set", "train.validate_every=2", "--set", "train.keep_best=2"]
    done = facetmt("train", project / "recipe.yaml", "--run", directory, *steps)
    assert done.returncode == 0, done.stderr
    return directory


def test_every_parameter_under_a_documented_name_with_its_metadata(run, tmp_path):
    export_run(run, "safetensors", tmp_path / "model", "float32", ["decode.average=2"])
    model = load_model(run, ["decode.average=2"])
    with safe_open(tmp_path / "model" / "model.safetensors", framework="np") as file:
        about, found = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    leaves = jax.tree.leaves(model.params)
    assert len(found) == len(leaves) and sum(one.size for one in found.values()) == sum(
        leaf.size for leaf in leaves
    )
    kernel = model.params["decoder"][0]["source"]["key_value"]["kernel"]
    np.testing.assert_array_equal(found["decoder.0.source.key_value.kernel"], kernel)
    assert json.loads(about["steps"]) == list(model.steps) and len(model.steps) == 2
    assert about["vocabulary"] == model.codec.vocabulary.fingerprint
    assert json.loads(about["model"])["width"] == 32
    documented = set(re.findall(r"^\| `([^`]+)` \| \[", DOCS.read_text("utf-8"), re.M))
    assert {re.sub(r"\.\d+\.", ".N.", name) for name in found} <= documented
    _, codec = open_export(tmp_path / "model", "safetensors")
    assert isinstance(codec.vocabulary, Vocabulary)


def test_the_code_in_the_readme_runs(run, tmp_path):
    export_run(run, "safetensors", tmp_path / "model", "float32", [])
    (code,) = re.findall(r"```python\n(.*?)```", (tmp_path / "model" / "README.md").read_text("utf-8"), re.S)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "model", capture_output=True, text=True
    )
    assert done.returncode == 0 and "(700, 32)" in done.stdout, done.stderr


def test_quantisation_is_refused(run, tmp_path):
    with pytest.raises(UserError, match="--quantization is for --to ctranslate2"):
        export_run(run, "safetensors", tmp_path / "model", "int8", [])
    assert not (tmp_path / "model").exists()
