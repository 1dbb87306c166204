"""Source use, against log-probabilities that are computed one by one."""

import jax
import numpy as np
import pytest

from facetmt.data.batch import Tokens, fill
from facetmt.select import shards, source_use
from facetmt.select.criterion import score_text
from facetmt.select.pool import OtherSources
from facetmt.select.scoring import encode_pairs, picked
from facetmt.select.source_use import BySourceUse, SourceUse, use
from facetmt.select.texts import all_rows, pairs_of, training_texts
from facetmt.train.interrupt import Interrupted
from facetmt.train.loss import score

OTHERS = 3


@pytest.fixture
def criterion(model, tmp_path):
    return BySourceUse(OTHERS).criterion(model, [], tmp_path, tmp_path / "work", print, lambda: None)


@pytest.fixture
def alone(model):
    """log p(y|x)/√|y| of one pair in a row of its own."""
    compute = jax.jit(lambda batch: score(model.graph, model.params, batch))
    return lambda source, target: by_root(compute, source, target)


def by_root(compute, source, target):
    one = np.array([len(source)]), np.array([len(target)])
    batch = fill(Tokens(source, target, *one, np.zeros(1, np.int64)), np.zeros(1, np.int64), 1, (40, 40))
    total, length = compute(batch)
    return float(total[0, 0] / length[0, 0] ** 0.5)


def test_a_score_is_the_own_source_less_the_mean_of_others(model, criterion, alone, tmp_path):
    text = training_texts(model.recipe.data)[1]
    found = score_text(criterion, text, "strict", tmp_path / "work", lambda: None)
    assert found.shape == (2, 20, 2)
    for facet, values in zip(text.directions(), found, strict=True):
        files = facet.files["train"]
        pairs = pairs_of(list(all_rows(files)), files, "strict")
        tokens = encode_pairs(model.codec, facet.name, pairs.sources, pairs.targets)
        others = OtherSources(text, facet, model.codec, "strict", 1, lambda: None)
        drawn = others.draw(pairs, tokens.source_length, 1, OTHERS)
        for pair in (0, 7, 19):
            one = np.array([pair])
            target = picked(tokens.target, tokens.target_length, one)[0]
            own = alone(picked(tokens.source, tokens.source_length, one)[0], target)
            wrong = [
                alone(picked(others.ids, others.length, np.array([other]))[0], target)
                for other in drawn[pair]
            ]
            assert values[pair] == pytest.approx(
                [own - np.mean(wrong), (8 / 9) ** 0.5 * (wrong[0] - np.mean(wrong[1:]))], abs=1e-5
            )
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_what_has_nothing_to_be_compared_with_has_no_use():
    found = np.array([[-1.0, -3.0, np.nan, -4.0], [-1.0, np.nan, np.nan, np.nan]])
    assert use(found) == pytest.approx([2.5, np.nan], nan_ok=True)
    assert use(found[:, 1:]) == pytest.approx([1.0, np.nan], nan_ok=True)


def test_scoring_goes_on_to_the_byte(model, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "LINES", 16)
    monkeypatch.setattr(source_use.SourceUse, "portion", 8)
    text = training_texts(model.recipe.data)[0]
    criterion = SourceUse(model, BySourceUse(OTHERS))

    def files(name):
        return {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*")
                if path.is_file()}  # fmt: skip

    whole = score_text(criterion, text, "strict", tmp_path / "whole", lambda: None)
    left = 1000

    def check():
        nonlocal left
        left -= 1
        if left <= 0:
            raise Interrupted

    stops = 0
    while True:
        left = 76  # the text is read with 60, and a shard is scored with about 10
        try:
            parts = score_text(criterion, text, "strict", tmp_path / "parts", check)
            break
        except Interrupted:
            stops += 1
    assert stops > 2
    assert (parts == whole).all() and files("parts") == files("whole")
