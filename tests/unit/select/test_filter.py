"""The warnings about a model, and what is said at the end; the work itself is done by others."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from facetmt.data.config import DataConfig
from facetmt.select import filter as module
from facetmt.select.trusted import FilterConfig
from facetmt.train.interrupt import EXIT_CODE, Interrupted

CONFIG = FilterConfig(keep=0.5)
TRUSTED = (Path("trusted.de"), Path("trusted.en"))


@pytest.fixture
def filtered(corpus, tmp_path, monkeypatch):
    """Filter the two small facets with scores that rise by line; an error may end the scoring."""
    data = DataConfig(root=str(tmp_path / "corpus"), source="de", target="en")

    def run(error=None, bleu=12.0, out=None):
        model = SimpleNamespace(recipe=SimpleNamespace(data=data), notes=("a note",), steps=(9,), bleu=bleu)

        def scores(model, texts, *rest):
            if error is not None:
                raise error
            return [np.arange(text.lines, dtype=np.float32) for text in texts]

        monkeypatch.setattr(module, "load_model", lambda run: model)
        monkeypatch.setattr(module, "scores_of", scores)
        return module.filter_corpus(Path("run"), TRUSTED, None, CONFIG, out or tmp_path / "out")

    return run


def test_what_is_kept_is_said_and_written(filtered, tmp_path, capsys):
    assert filtered() == 0
    said = capsys.readouterr()
    assert said.err == "a note\n"
    assert f"law: 0 of 20 pairs kept (0.0%) in {tmp_path}/out/law/train.keep" in said.out
    assert "to use it (data.keep), copy each train.keep beside its training text" in said.out
    assert (tmp_path / "out" / "it" / "train.keep").read_text().split().count("1") == 40
    filtered(out=tmp_path / "corpus")
    assert "to use it" not in capsys.readouterr().out


def test_a_model_that_cannot_translate_is_warned_of(filtered, capsys):
    filtered(bleu=1.5)
    assert "run has a dev BLEU of 1.5 at step 9, below 5: a model that cannot" in capsys.readouterr().err
    filtered(bleu=None)
    assert "step 9 of run was never validated" in capsys.readouterr().err


def test_a_signal_leaves_the_exit_code_and_the_way_on(filtered, tmp_path, capsys):
    assert filtered(Interrupted()) == EXIT_CODE
    said = capsys.readouterr().err
    assert f"what is done is kept in {tmp_path}/out/.filter: run the same command again to continue" in said
    assert not (tmp_path / "out").exists()
