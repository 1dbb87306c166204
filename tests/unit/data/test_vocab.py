import random

import pytest

from facetmt.data.batch import BOS, EOS, PAD, UNK
from facetmt.data.config import VocabConfig
from facetmt.data.vocab import Vocabulary, load_vocabulary, save_vocabulary, train_model
from facetmt.errors import UserError

WORDS = [
    "the",
    "small",
    "old",
    "house",
    "dog",
    "tree",
    "garden",
    "river",
    "mountain",
    "quickly",
    "slowly",
    "sees",
    "finds",
    "between",
    "without",
    "window",
]
TEXT = [" ".join(random.Random(seed).choices(WORDS, k=7)) for seed in range(80)]
GERMAN = ["das kleine haus", "der alte hund sieht das auto", "ein baum und ein haus"] * 3
TAGS = ["<2de>", "<facet:it>"]
SPECIAL = ["</s>", "<s>", "<pad>", "<unk>", "<2de>", "<facet:it>", "<0x0A>"]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def vocabulary(request):
    config = VocabConfig(kind=request.param, size=40, coverage=1.0)
    return Vocabulary([train_model(TEXT, config)], TAGS)


def test_ids_are_laid_out_as_promised(vocabulary):
    assert vocabulary.pieces()[:6] == ["<pad>", "<unk>", "<s>", "</s>", *TAGS]
    assert (vocabulary.tag("<2de>"), vocabulary.tag("<facet:it>")) == (4, 5)
    assert vocabulary.source_size == vocabulary.target_size == 42 == len(vocabulary.pieces())
    assert vocabulary.joint
    assert vocabulary.forbidden.tolist() == [PAD, UNK, BOS, 4, 5]
    with pytest.raises(UserError, match="no tag <2xx>; it has <2de>, <facet:it>"):
        vocabulary.tag("<2xx>")


def test_text_comes_back(vocabulary):
    ids = vocabulary.encode(TEXT)
    assert vocabulary.decode(ids) == TEXT
    assert vocabulary.decode([[4, 5, *ids[0], EOS, *ids[1]]]) == [TEXT[0]]
    assert vocabulary.encode([]) == [] and vocabulary.encode([""]) == [[]] and vocabulary.decode([[]]) == [""]
    flat, lengths = vocabulary.encode_flat(TEXT[:2])
    assert flat.tolist() == ids[0] + ids[1] and lengths.tolist() == [len(ids[0]), len(ids[1])]


@pytest.mark.parametrize("symbol", SPECIAL)
def test_a_symbol_in_a_text_is_plain_text(vocabulary, symbol):
    for text in (symbol, f"the {symbol} dog", f"a{symbol}"):
        ids = vocabulary.encode([text])[0]
        assert not set(ids) & {PAD, BOS, EOS, 4, 5}


def test_symbols_in_the_training_text_are_learned_as_text():
    sample = [*TEXT, *(f"the dog {symbol} sees" for symbol in SPECIAL)]
    vocabulary = Vocabulary([train_model(sample, VocabConfig(size=46, coverage=1.0))], TAGS)
    for symbol in SPECIAL:
        assert vocabulary.decode(vocabulary.encode([f"the {symbol} dog"])) == [f"the {symbol} dog"]


def test_bytes_spell_what_has_no_piece():
    vocabulary = Vocabulary([train_model(TEXT + GERMAN, VocabConfig("bpe", 330, byte_fallback=True))], TAGS)
    assert vocabulary.decode(vocabulary.encode(["dog 😀"])) == ["dog 😀"]


def test_separate_sides_have_their_own_ids(tmp_path):
    models = [train_model(text, VocabConfig("bpe", 50, coverage=1.0)) for text in (TEXT, GERMAN)]
    vocabulary = Vocabulary(models, TAGS)
    assert not vocabulary.joint
    ids = vocabulary.encode(["das haus"], "target")
    assert vocabulary.decode(ids, "target") == ["das haus"]
    assert vocabulary.encode(["das haus"], "source") != ids
    save_vocabulary(vocabulary, tmp_path)
    assert load_vocabulary(tmp_path).encode(["das haus"], "target") == ids


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_training_is_deterministic(kind):
    config = VocabConfig(kind=kind, size=40)
    assert train_model(iter(TEXT), config) == train_model(iter(TEXT), config)


def test_normalisation_is_nfkc_and_keeps_the_joiners():
    text = [*TEXT, "a\u200cb", "c\u200dd", "1/2 fi ..."]
    vocabulary = Vocabulary([train_model(text, VocabConfig("bpe", 60, coverage=1.0))], TAGS)
    for odd, same in (
        ("the\u2581dog", "the dog"),
        ("the\xa0dog", "the dog"),
        ("ﬁ …", "fi ..."),
        (" the  dog ", "the dog"),
    ):
        assert vocabulary.encode([odd]) == vocabulary.encode([same])
    for kept in ("a\u200cb", "c\u200dd"):
        assert vocabulary.decode(vocabulary.encode([kept])) == [kept]


def test_long_lines_are_learned_from():
    word = "q" * 9000
    model = train_model([*TEXT, f"{word} the"], VocabConfig("bpe", 60, coverage=1.0))
    assert UNK not in Vocabulary([model], []).encode(["q"])[0]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_size_that_the_text_does_not_support_names_the_largest(kind):
    with pytest.raises(
        UserError, match=r"size is 32000, but the text supports (\d+) pieces at most"
    ) as error:
        train_model(TEXT, VocabConfig(kind=kind))
    largest = int(str(error.value).split("supports ")[1].split()[0])
    assert len(Vocabulary([train_model(TEXT, VocabConfig(kind=kind, size=largest))], []).pieces()) == largest


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_size_that_need_not_be_exact_is_as_large_as_the_text_supports(kind):
    pieces = Vocabulary([train_model(TEXT, VocabConfig(kind=kind, exact=False))], []).pieces()
    with pytest.raises(UserError, match=r"text supports (\d+) pieces at most") as error:
        train_model(TEXT, VocabConfig(kind=kind))
    assert f" {len(pieces)} pieces" in str(error.value)


def test_other_faults_say_what_to_do():
    with pytest.raises(UserError, match=r"characters alone need \d+; raise it"):
        train_model(TEXT, VocabConfig(size=8))
    with pytest.raises(UserError, match="no text to learn"):
        train_model([], VocabConfig(size=40, coverage=1.0))
    with pytest.raises(ValueError, match="size must be above 4"):
        VocabConfig(size=4)
    with pytest.raises(ValueError, match="coverage"):
        VocabConfig(coverage=0.5)


def test_a_swapped_vocabulary_is_refused(tmp_path, vocabulary):
    save_vocabulary(vocabulary, tmp_path)
    assert load_vocabulary(tmp_path).fingerprint == vocabulary.fingerprint
    other = train_model(GERMAN, VocabConfig("bpe", 40, coverage=1.0))
    (tmp_path / "spm.model").write_bytes(other)
    with pytest.raises(UserError, match="not the one that was prepared"):
        load_vocabulary(tmp_path)
    (tmp_path / "spm.model").write_bytes(b"rubbish")
    with pytest.raises(UserError, match="damaged"):
        load_vocabulary(tmp_path)
    (tmp_path / "spm.model").unlink()
    with pytest.raises(UserError, match=r"spm\.model: no vocabulary; run prepare"):
        load_vocabulary(tmp_path)


def test_tags_are_part_of_the_fingerprint(vocabulary):
    assert Vocabulary(vocabulary.models, TAGS[:1]).fingerprint != vocabulary.fingerprint
