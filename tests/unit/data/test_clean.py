import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.data.clean import MOSES_LIMIT, CleanConfig, Cleaner, plain, train_truecaser


@given(st.text())
def test_plain_text_is_plain_already(text):
    once = plain(text)
    assert plain(once) == once
    assert not set(once) & set("\n\r\t\x00\x85\u2028\u2029\ufeff\u200b\u202e")


def test_length_and_ratio():
    config = CleanConfig(max_words=4, max_ratio=2)
    assert config.verdict("a b c d", "a b") is None
    assert config.verdict("a b c d e", "a b c d") == "words"
    assert config.verdict("a", "a b c") == config.verdict("a b c", "a") == "ratio"
    assert CleanConfig().verdict("a", "a " * 1000) is None
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
    assert moses.tokenise(text, "de").startswith('" Das Haus')


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
