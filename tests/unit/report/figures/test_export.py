import sys
import types

import numpy as np
import pytest

from facetmt.errors import UserError
from facetmt.report.figures.export import file_name, paper_figures, write_figures
from facetmt.runlog import Run


def kaleido(monkeypatch, write):
    module = types.ModuleType("kaleido")
    module.write_fig_from_object_sync = write
    monkeypatch.setitem(sys.modules, "kaleido", module)


def test_every_figure_is_written_without_a_network(monkeypatch, tmp_path, mixed_dir, bandit_dir):
    asked = {}
    kaleido(monkeypatch, lambda jobs, kopts: asked.update(jobs=jobs, **kopts))
    paths = write_figures([mixed_dir, bandit_dir], tmp_path / "figures", "pdf")
    assert asked["mathjax"] is False and [job["path"] for job in asked["jobs"]] == paths
    names = {path.name for path in paths}
    assert {"probs-bandit.pdf", "shares.pdf", "bleu.pdf", "costs.pdf", "facet-bleu-mixed.pdf"} <= names
    assert "probs-mixed.pdf" not in names


def test_many_facets_are_the_first_ten_and_the_mean_of_the_others(fake, tmp_path):
    directory = fake.write_run(
        tmp_path / "many", sizes=fake.many_facets(40), steps=300, validations=3, scored=False
    )
    figures = dict(paper_figures([Run(directory)]))
    probs = figures["probs-many"]
    assert len(probs.data) == 11 and probs.data[-1].name == "mean of 30 others"
    kept = np.sum([trace.y for trace in probs.data[:-1]], axis=0)
    assert np.allclose(kept + 30 * probs.data[-1].y, 1, atol=1e-5)
    assert len(figures["shares"].data[0].x) == 10 and np.isfinite(figures["scaled-many"].data[-1].y).any()


def test_users_errors(monkeypatch, tmp_path, bandit_dir):
    with pytest.raises(UserError, match="no figure format gif"):
        write_figures([bandit_dir], tmp_path, "gif")
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(UserError, match=r"facetmt\[figures\]"):
        write_figures([bandit_dir], tmp_path)

    def no_chrome(jobs, kopts):
        raise RuntimeError("chrome is not here")

    kaleido(monkeypatch, no_chrome)
    with pytest.raises(UserError, match="BROWSER_PATH"):
        write_figures([bandit_dir], tmp_path)


def test_file_names_are_safe():
    assert file_name("a/../b c") == "a-..-b-c" and file_name("///") == "run"
