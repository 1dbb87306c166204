"""The warnings about a model, and what is said at the end; the work itself is done by others."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from facetmt.data.config import DataConfig
from facetmt.errors import UserError
from facetmt.select import filter as module
from facetmt.select.cds import ByTrustedText
from facetmt.select.keep import KeepConfig, Kept
from facetmt.select.source_use import BySourceUse
from facetmt.select.trusted import TuningConfig
from facetmt.train.interrupt import EXIT_CODE, Interrupted

CONFIG = KeepConfig(keep=0.5)
TRUSTED = (Path("trusted.de"), Path("trusted.en"))


@pytest.fixture
def filtered(corpus, tmp_path, monkeypatch):
    """Filter the two small facets with scores that rise by line; an error may end the scoring."""
    data = DataConfig(root=str(tmp_path / "corpus"), source="de", target="en")

    def run(error=None, bleu=12.0, out=None):
        model = SimpleNamespace(recipe=SimpleNamespace(data=data), notes=("a note",), steps=(9,), bleu=bleu)

        def scores(criterion, text, *rest):
            if error is not None:
                raise error
            return np.arange(text.lines, dtype=np.float32).reshape(1, -1, 1)

        by = SimpleNamespace(criterion=lambda *given: None, about=lambda: {"by": "cds"})
        monkeypatch.setattr(module, "load_model", lambda run: model)
        monkeypatch.setattr(module, "score_text", scores)
        return module.filter_corpus(Path("run"), by, CONFIG, out or tmp_path / "out")

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


def way(by, **given):
    options = dict.fromkeys(("trusted", "facet", "stages", "steps", "others"))
    return module.way(by, **{**options, "keep": 0.7, **given})


def test_the_options_make_the_criterion():
    assert way("cds", trusted=TRUSTED, steps=9) == ByTrustedText(TRUSTED, None, TuningConfig(steps=9))
    assert way("source-use", keep="auto") == BySourceUse()
    assert way("source-use", others=6) == BySourceUse(others=6)


@pytest.mark.parametrize(
    ("by", "given", "complaint"),
    [
        ("cds", {}, "--trusted: --by cds needs text that you trust; give its source and target file, or use"),
        ("cds", {"trusted": TRUSTED, "others": 4}, "--others: --by cds compares no sources; leave it out"),
        ("cds", {"trusted": TRUSTED, "keep": "auto"}, "--keep auto: only --by source-use estimates"),
        ("source-use", {"trusted": TRUSTED}, "--trusted: --by source-use uses no trusted text; leave it"),
        ("source-use", {"facet": "it", "steps": 5}, "--facet, --steps: --by source-use uses no trusted text"),
        ("source-use", {"others": 1}, "--others 1: too few to compare with each other; give at least 2"),
    ],
)
def test_options_that_mean_nothing_are_refused(by, given, complaint):
    with pytest.raises(UserError, match=complaint):
        way(by, **given)


def test_the_estimate_is_said_where_there_is_one(tmp_path):
    kept = Kept(["it", "it_back"], 200, 140, 0.5, 0.25, tmp_path / "train.keep")
    said = module.line_of(kept)
    assert said.startswith("it, it_back: 140 of 200 pairs kept (70.0%) in ")
    assert said.endswith("train.keep; an estimated 25.0% of the pairs are misaligned")
    assert module.line_of(kept._replace(misaligned=None)).endswith("train.keep")
