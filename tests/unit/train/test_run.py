"""The run directory is one training's own; what a training leaves besides its logs."""

import json
from types import SimpleNamespace

import pytest

from facetmt.errors import UserError
from facetmt.train.run import FACETS, Outcome, claimed, outcome, write_facets
from facetmt.train.tally import Tally


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(UserError, match=r"^--run .*file/run: cannot make that folder \(.+\); give another$"),
        claimed(tmp_path / "file" / "run"),
    ):
        pytest.fail("claimed")


def test_a_second_training_is_refused_until_the_first_one_ends(tmp_path):
    directory = tmp_path / "runs" / "one"
    with claimed(directory):
        assert directory.is_dir()
        with pytest.raises(UserError, match="another process is training there"), claimed(directory):
            pytest.fail("claimed twice")
    with claimed(directory):
        pass


def test_the_outcome_has_the_best_validation_if_there_was_one():
    session = SimpleNamespace(tally=Tally(step=40, seconds=2.5, best=[(31.5, 20), (30.0, 10)]))
    assert outcome(session, finished=True) == Outcome(True, 40, (31.5, 20), 2.5)
    assert outcome(SimpleNamespace(tally=Tally(step=3)), finished=False) == Outcome(False, 3, None, 0.0)


def test_facets_are_written_with_languages_and_sizes(tmp_path):
    facets = [SimpleNamespace(name=name, source_language="de", target_language="en") for name in ("b", "ä")]
    prepared = SimpleNamespace(facets=facets, stores={"train": [range(5), range(2)]}.__getitem__)
    write_facets(prepared, tmp_path)
    text = (tmp_path / FACETS).read_text(encoding="utf-8")
    assert list(json.loads(text).items()) == [
        ("b", {"source": "de", "target": "en", "train": 5}),
        ("ä", {"source": "de", "target": "en", "train": 2}),
    ]
