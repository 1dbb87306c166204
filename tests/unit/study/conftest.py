"""A small study on disk; its cells are played by short scripts, so nothing is trained."""

import pytest

from facetmt.study.folder import enter
from facetmt.study.plan import load_study

RECIPE = "data: {root: text, source: de, target: en}\ntrain: {steps: 30}\n"
STUDY = "recipe: recipe.yaml\nseeds: [1, 2]\nsystems:\n  a: {}\n  b: {schedule: {policy: static}}\n"


@pytest.fixture
def study(tmp_path):
    """The study a, b with seeds 1, 2, its folder tmp_path/out made."""
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    loaded = load_study(tmp_path / "study.yaml", tmp_path / "out")
    enter(loaded, tmp_path / "out")
    return loaded
