"""Row 15: running out of memory is detected before the first step."""

import pytest

from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.train import measure
from facetmt.train.run import train


def test_row_15_a_step_that_cannot_fit_is_refused_before_it_runs(project, monkeypatch):
    monkeypatch.setattr(measure, "available", lambda: 100_000)
    run = project / "no-memory"
    with pytest.raises(UserError, match=r"needs 0\.\d\d GiB .* 0\.00 GiB are left; lower batch\.rows"):
        train(load_recipe(project / "recipe.yaml"), run)
    assert (run / "pulls.csv").read_text(encoding="utf-8").count("\n") == 1  # the header
