"""Lines to batches and back, with a codec of whole words and a search that echoes its input."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from facetmt.data.batch import EOS, PAD
from facetmt.translate.config import DecodeConfig
from facetmt.translate.text import Found, Hypothesis, whole_line
from facetmt.translate.translate import Translator, padded

FIRST = 10  # id of the first word


class Words:
    """Every word has an id of its own."""

    def __init__(self):
        self.words = []
        self.vocabulary = SimpleNamespace(target_size=100, forbidden=[PAD])

    def prefix(self, facet, tag):
        return []

    def encode_source(self, lines, facet, tag):
        self.words += [word for line in lines for word in line.split() if word not in self.words]
        return [[*(FIRST + self.words.index(word) for word in line.split()), EOS] for line in lines]

    def decode(self, rows, facet):
        return [" ".join(self.words[one - FIRST] for one in row if one >= FIRST) for row in rows]


@pytest.fixture
def translator(monkeypatch):
    """A translator whose search gives back its source, in batches of at most 4; `batches` are their sizes."""
    made = Translator(None, Words(), DecodeConfig(batch=4, max_source=6))
    made.batches = []

    def search(params, sources, count, spare):
        made.batches.append(len(sources))
        ids = np.full((len(sources), count, 8), PAD, np.int32)
        for row, source in enumerate(sources):
            ids[row, :, : len(source)] = source
        score = np.tile(-np.arange(1.0, count + 1), (len(sources), 1))
        score[:, 2:] = -np.inf  # no more than two hypotheses are found
        return Found(ids, score.astype(np.float32), np.zeros(len(sources), bool))

    monkeypatch.setattr(made, "_search", search)
    return made


def test_lines_come_back_in_their_order_blank_ones_blank(translator):
    lines = ["a b c d e", "", "f", "  ", "g h", "i j k", "l"]
    assert translator.translate(None, lines, "it") == ["a b c d e", "", "f", "", "g h", "i j k", "l"]
    assert translator.batches == [4, 1]


def test_a_line_that_is_too_long_is_cut_and_put_together_again(translator):
    line = "one two three. four five six. seven eight nine ten eleven twelve"
    told = []
    assert translator.translate(None, [line], "it", tell=lambda *done: told.append(done)) == [line]
    assert sum(translator.batches) > 2 and told[-1] == (sum(translator.batches),) * 2
    (best,) = translator.n_best(None, [line], "it", 2)
    assert len(best) == 1  # one that was cut has no alternatives


def test_hypotheses_that_were_not_found_are_left_out(translator):
    (found,) = translator.n_best(None, ["a b"], "it", 3)
    assert found == [Hypothesis("a b", -1.0), Hypothesis("a b", -2.0)]


def test_a_check_may_stop_it_before_each_batch(translator):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        translator.translate(None, ["a"], "it", check=stop)
    assert translator.batches == []


def test_the_longest_input_must_be_known():
    with pytest.raises(ValueError, match=re.escape("DecodeConfig.for_training")):
        Translator(None, Words(), DecodeConfig())


@pytest.mark.parametrize(("length", "expected"), [(1, 16), (16, 16), (17, 32), (33, 64)])
def test_few_shapes_are_compiled(length, expected):
    assert padded(length, 16) == expected


def test_the_score_of_a_line_is_the_sum_over_its_parts():
    parts = [[Hypothesis("a", -1.0), Hypothesis("x", -3.0)], [Hypothesis("b", -0.5)]]
    assert whole_line(parts) == [Hypothesis("a b", -1.5)]
    assert whole_line(parts[:1]) == parts[0] and whole_line([]) == [Hypothesis("", 0.0)]
