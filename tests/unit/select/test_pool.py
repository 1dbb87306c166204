"""Which sources a pair is compared with."""

from dataclasses import replace

import numpy as np
import pytest

from facetmt.data.config import DataConfig
from facetmt.errors import UserError
from facetmt.select import pool as module
from facetmt.select.pool import OtherSources, Pool, some
from facetmt.select.texts import Pairs, all_rows, pairs_of, training_texts


def pairs(sources, targets):
    return Pairs(np.arange(len(sources)), list(sources), list(targets))


def rng():
    return np.random.default_rng(1)


def test_others_are_different_pairs_of_similar_length():
    length = np.repeat(np.arange(10), 40)
    text = pairs([f"s{i // 2}" for i in range(400)], [f"t{i // 3}" for i in range(400)])
    drawn = Pool(text, length, rng()).draw(text, length, 4, rng())
    assert drawn.shape == (400, 4) and (drawn >= 0).all()
    for own, others in enumerate(drawn.tolist()):
        assert len(set(others)) == 4
        assert all(text.sources[other] != text.sources[own] for other in others)
        assert all(text.targets[other] != text.targets[own] for other in others)
    assert np.abs(length[drawn] - length[:, None]).max() <= 1
    assert len(np.unique(drawn)) > 350  # not the same few again and again


def test_where_there_are_too_few_the_rest_is_empty():
    text = pairs("aab", "xyz")
    drawn = Pool(text, np.array([1, 1, 5]), rng()).draw(text, np.array([1, 1, 5]), 3, rng())
    assert [sorted(row) for row in drawn.tolist()] == [[-1, -1, 2], [-1, -1, 2], [-1, 0, 1]]


@pytest.fixture
def labelled(codec, corpus, tmp_path, write_lines):
    """A text of two labels, with a codec that knows its facets."""
    folder = tmp_path / "corpus" / "it"
    for split, count in (("train", 60), ("dev", 9), ("test", 4)):
        write_lines(folder / f"{split}.facet", ["a", "b", "b"] * 20 if split == "train" else ["a"] * count)
    (text,) = training_texts(DataConfig(root=str(folder), source="de", target="en", labels="facet"))
    return text


def opened(text, codec):
    facet = replace(text.directions()[0], name="it_de-en")
    return OtherSources(text, facet, codec[1], "strict", 1, lambda: None), facet.files["train"]


def test_every_label_is_compared_with_its_own_sources(labelled, codec, monkeypatch):
    monkeypatch.setattr(module, "POOL", 9)
    others, files = opened(labelled, codec)
    assert len(others.length) == 18
    text = pairs_of(list(all_rows(files)), files, "strict")
    _, length = codec[1].encode(text.sources, "it_de-en", "source")
    drawn = others.draw(text, length, 1, 4)
    label = np.array([line % 3 > 0 for line in range(60)])
    begin = np.cumsum(others.length) - others.length
    sentences = {tuple(line): n for n, line in enumerate(codec[1].encode_source(text.sources, "it_de-en"))}
    for own, row in enumerate(drawn.tolist()):
        lines = [sentences[tuple(others.ids[begin[o] : begin[o] + others.length[o]])] for o in row]
        assert own not in lines and {bool(label[line]) for line in lines} == {bool(label[own])}
    half = some(text, np.arange(20, 40))._replace(place=np.arange(20))
    again = others.draw(half, length[20:40], 21, 4)
    assert (again == others.draw(half, length[20:40], 21, 4)).all()


def test_a_facet_in_which_all_targets_are_the_same_is_named(labelled, codec, tmp_path, write_lines):
    write_lines(tmp_path / "corpus" / "it" / "train.en", ["yes", "no", "perhaps"] * 20)
    with pytest.raises(UserError, match="facet a: all its targets are the same, so none depends on its"):
        opened(labelled, codec)
