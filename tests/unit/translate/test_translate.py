"""Lines to ids and back, with a codec of whole words and a search that echoes its input."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from facetmt.data.batch import EOS, PAD
from facetmt.translate.config import DecodeConfig
from facetmt.translate.text import Found, Hypothesis, whole_line
from facetmt.translate.translate import Translator

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


class Echo:
    """A search that gives back its sources, in an order of its own."""

    def __init__(self):
        self.sources = []

    def __call__(self, sources, count, check):
        check()
        self.sources = [len(source) for source in sources]
        for sentence in reversed(range(len(sources))):
            ids = np.full((count, 8), PAD, np.int32)
            ids[:, : len(sources[sentence])] = sources[sentence]
            score = -np.arange(1.0, count + 1)
            score[2:] = -np.inf  # no more than two hypotheses are found
            yield Found(sentence, ids, score.astype(np.float32))


@pytest.fixture
def echo():
    return Echo()


@pytest.fixture
def translator(monkeypatch, echo):
    """A translator whose search is an echo."""
    made = Translator(None, Words(), DecodeConfig(batch=4, max_source=6))
    monkeypatch.setattr(made, "_search", lambda params: echo)
    return made


def test_lines_come_back_in_their_order_blank_ones_blank(translator, echo):
    lines = ["a b c d e", "", "f", "  ", "g h", "i j k", "l"]
    assert translator.translate(None, lines, "it") == ["a b c d e", "", "f", "", "g h", "i j k", "l"]
    assert echo.sources == [6, 4, 3, 2, 2]  # the longest first


def test_a_line_that_is_too_long_is_cut_and_put_together_again(translator, echo):
    line = "one two three. four five six. seven eight nine ten eleven twelve"
    told = []
    assert translator.translate(None, [line], "it", tell=lambda *done: told.append(done)) == [line]
    parts = len(echo.sources)
    assert parts > 2 and told == [(done, parts) for done in range(1, parts + 1)]
    (best,) = translator.n_best(None, [line], "it", 2)
    assert len(best) == 1  # one that was cut has no alternatives


def test_hypotheses_that_were_not_found_are_left_out(translator):
    (found,) = translator.n_best(None, ["a b"], "it", 3)
    assert found == [Hypothesis("a b", -1.0), Hypothesis("a b", -2.0)]


def test_a_check_may_stop_it(translator, echo):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        translator.translate(None, ["a"], "it", check=stop)
    assert echo.sources == []


def test_the_longest_input_must_be_known():
    with pytest.raises(ValueError, match=re.escape("DecodeConfig.for_training")):
        Translator(None, Words(), DecodeConfig()).translate(None, ["a"], "it")


def test_the_score_of_a_line_is_the_sum_over_its_parts():
    parts = [[Hypothesis("a", -1.0), Hypothesis("x", -3.0)], [Hypothesis("b", -0.5)]]
    assert whole_line(parts) == [Hypothesis("a b", -1.5)]
    assert whole_line(parts[:1]) == parts[0] and whole_line([]) == [Hypothesis("", 0.0)]
