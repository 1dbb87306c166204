"""Shards: nothing is computed twice, nothing is taken for something else."""

import json

import numpy as np
import pytest

from facetmt.console import Pace
from facetmt.errors import UserError
from facetmt.select import shards as module
from facetmt.select.shards import HEADER, Shards, claim, identity

ABOUT = {"model": "m", "text": "t"}


@pytest.fixture
def scored(tmp_path, monkeypatch):
    """Score 10 rows in shards of 4; returns the scores and the rows that had to be computed."""
    monkeypatch.setattr(module, "LINES", 4)

    def run(about=ABOUT, fails_at=None, rows=range(10)):
        computed = []

        def score(some):
            if fails_at in some:
                raise KeyboardInterrupt
            computed.extend(some)
            return np.array(some) / 2

        pace = Pace("", "rows", 10, lambda *_: None)
        try:
            values = Shards(tmp_path / "work", about, 10).scores(iter(rows), score, 3, pace)
        except KeyboardInterrupt:
            values = None
        return values, computed

    return run


def test_what_is_done_is_not_done_again(scored):
    assert scored(fails_at=9) == (None, [0, 1, 2, 3, 4, 5, 6, 7])
    values, computed = scored()
    assert values[:, 0].tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5] and computed == [8, 9]
    assert scored()[1] == []


def test_a_damaged_shard_is_computed_again(scored, tmp_path):
    scored()
    path = tmp_path / "work" / "000001.scores"
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    values, computed = scored()
    assert computed == [4, 5, 6, 7] and values[5] == 2.5


def test_the_work_of_other_settings_is_refused(scored, tmp_path):
    scored()
    with pytest.raises(UserError, match=r"work: the work there .* other settings \(other model\); delete it"):
        scored({**ABOUT, "model": "n"})
    (tmp_path / "work" / HEADER).write_text("{")
    with pytest.raises(UserError, match=r"header.json: the file is damaged; delete"):
        scored()


@pytest.mark.parametrize("rows", [range(9), range(11)])
def test_a_text_that_changes_meanwhile_is_noticed(scored, rows):
    with pytest.raises(UserError, match="the text changed while it was scored"):
        scored(rows=rows)


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(UserError, match="the folder is not empty and has no header"):
        claim(tmp_path, ABOUT)
    claim(tmp_path / "new", ABOUT)
    assert json.loads((tmp_path / "new" / HEADER).read_text()) == ABOUT


def test_a_text_is_known_by_its_content(tmp_path):
    one, other = tmp_path / "a" / "train.de", tmp_path / "b" / "train.de"
    for path, text in ((one, "eins\n"), (other, "eins\n")):
        path.parent.mkdir()
        path.write_text(text)
    before = identity(one, lambda: None)
    assert before == identity(other, lambda: None)
    other.write_text("zwei\n")
    assert before != identity(other, lambda: None)
    with pytest.raises(UserError, match=r"nothing: cannot be read"):
        identity(tmp_path / "nothing", lambda: None)
