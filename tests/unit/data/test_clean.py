import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.data import clean
from facetmt.data.clean import (
    MOSES_LIMIT,
    Cleaner,
    clean_pairs,
    plain,
    plain_pairs,
    train_truecaser,
    verdict,
)
from facetmt.data.config import CleanConfig
from facetmt.data.corpus import Decoded, SentencePair


@given(st.text())
def test_plain_text_is_plain_already(text):
    once = plain(text)
    assert plain(once) == once
    assert not set(once) & set("\n\r\t\x00\x85\u2028\u2029\ufeff\u200b\u202e")


def test_length_and_ratio():
    config = CleanConfig(max_words=4, max_ratio=2)
    assert verdict("a b c d", "a b", config) is None
    assert verdict("a b c d e", "a b c d", config) == "too long (words)"
    assert verdict("a", "a b c", config) == verdict("a b c", "a", config) == "ratio"
    assert verdict("a", "a " * 1000, CleanConfig()) is None
    with pytest.raises(ValueError, match="max_words"):
        CleanConfig(max_words=0)
    with pytest.raises(ValueError, match="max_ratio"):
        CleanConfig(max_ratio=0.5)


@pytest.fixture
def moses(tmp_path):
    text = [
        "Das Haus ist gross , und das Auto ist rot .",
        "Heute sah er das Haus in Berlin .",
        "Er sah das Haus .",
    ]
    train_truecaser(text, tmp_path / "truecase.de.txt")
    return Cleaner(True, {"de": tmp_path / "truecase.de.txt"})


def test_moses_there_and_back(moses):
    text = "„Das Haus“, sagte er, ist z.B. groß (100 %)!"
    there = moses.forward(text, "de")
    assert there == '" das Haus " , sagte er , ist z.B. groß ( 100 % ) !'
    assert moses.backward(there, "de") == '"Das Haus", sagte er, ist z.B. groß (100%)!'
    assert Cleaner(True).forward(text, "de").startswith('" Das Haus')  # what a truecaser is trained on


def test_truecasing_leaves_known_spellings_inside_a_sentence_alone(moses):
    assert moses.forward("Das DAS Haus das", "de") == "das das Haus das"
    assert moses.forward("Berlin ist das Haus.", "de") == "Berlin ist das Haus ."


def test_markup_and_pipes_pass_through(moses):
    for text in ("a <b> c </b>", "x|y||z", "<2de> </s>", "< und >", "&apos; &amp;"):
        there = moses.forward(text, "de")
        assert there.replace(" ", "") == text.replace(" ", "")


def test_without_moses_text_is_only_made_plain():
    cleaner = Cleaner(False)
    assert cleaner.forward(" Das\tist‚ es “ ", "de") == "Das ist‚ es “"
    assert cleaner.backward("wie , es ist", "de") == "wie , es ist"


@pytest.mark.parametrize("text", ["x", ".", "<", "a.", "Ab ", "'", "(", "漢", "1,"])
def test_moses_stays_fast_up_to_its_limit(moses, text):
    begin = time.process_time()
    moses.forward(text * (MOSES_LIMIT // len(text)), "de")
    assert time.process_time() - begin < 2


def test_pairs_are_made_plain_and_the_blank_ones_dropped():
    pairs = [SentencePair("\ufeff a\tb ", "A", 1), SentencePair(" \u200b", "B", 2), SentencePair("c", "", 3)]
    text = plain_pairs(Decoded(pairs, Counter({"missing": 4})))
    assert text == (pairs[:1], ["a b"], ["A"], {"missing": 4, "blank": 2})


def test_pairs_are_cleaned_as_single_lines_are_and_made_plain_once(moses, monkeypatch):
    lines = ["\ufeff„Das\tHaus“, sagte er.", "Er sah  es\u200b.", "\x00", "x " * MOSES_LIMIT]
    calls = []
    monkeypatch.setattr(clean, "plain", lambda line: calls.append(line) or plain(line))
    for cleaner in (moses, Cleaner(True), Cleaner(False)):
        calls.clear()
        pairs = [SentencePair(line, line, number) for number, line in enumerate(lines)]
        text = clean_pairs(plain_pairs(Decoded(pairs, Counter())), cleaner, ("de", "de"), CleanConfig())
        assert len(calls) == 2 * len(lines)
        kept = lines[:2] if cleaner.moses else [*lines[:2], lines[3]]
        assert text.source == text.target == [cleaner.forward(line, "de") for line in kept]
        assert text.dropped == {"blank": 1} | ({"too long (characters)": 1} if cleaner.moses else {})
