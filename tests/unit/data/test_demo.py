"""The demo corpus: sizes, splits, noise, styles, files."""

import hashlib
import math
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from facetmt.data import demo
from facetmt.data.demo import PAPER_SIZES, SPLITS, DemoConfig, generate, write
from facetmt.errors import UserError

SMALL = DemoConfig(size=120, dev=12, test=15)
small_configs = st.builds(
    DemoConfig,
    seed=st.integers(0, 2**64),
    size=st.integers(20, 150),
    dev=st.integers(0, 15),
    test=st.integers(0, 15),
    noise=st.sampled_from([0.0, 0.2]),
    misaligned=st.sampled_from([0.0, 0.3]),
    translationese=st.booleans(),
)


def _pairs(splits):
    return [pair for split in splits.values() for pair in split.pairs]


def test_default_sizes_follow_the_paper():
    config = DemoConfig()
    assert config.sizes == {"medical": 2976, "it": 5608, "law": 2675, "koran": 216, "subtitles": 6000}
    for one, other in combinations(PAPER_SIZES, 2):
        ratio = config.sizes[one] / config.sizes[other]
        assert ratio == pytest.approx(PAPER_SIZES[one] / PAPER_SIZES[other], rel=0.01)


@settings(max_examples=25, deadline=None)
@given(small_configs)
def test_sizes_distinctness_and_marks(config):
    corpus = generate(config)
    clean = config.sizes
    noisy = round(config.noise * sum(clean.values()))
    assert set(corpus) == set(clean) | ({"noise"} if noisy else set())
    for name, splits in corpus.items():
        assert tuple(splits) == SPLITS
        counts = {split: len(splits[split].pairs) for split in SPLITS}
        assert counts == {"train": clean.get(name, noisy), "dev": config.dev, "test": config.test}
        sources, targets = zip(*_pairs(splits), strict=True)
        assert len(set(sources)) == len(sources)
        assert len(set(targets)) == len(targets)
        for split in splits.values():
            for marks in split.marks.values():
                assert len(marks) == len(split.pairs)
    for one, other in combinations(corpus, 2):
        assert not set(dict(_pairs(corpus[one]))) & set(dict(_pairs(corpus[other])))


@settings(max_examples=10, deadline=None)
@given(small_configs)
def test_same_config_gives_the_same_corpus(config):
    assert generate(config) == generate(config)


def test_seeds_differ():
    one, other = (set(_pairs(generate(DemoConfig(seed=seed, size=120))["it"])) for seed in (1, 2))
    assert len(one & other) < len(one) / 10


def test_a_larger_train_split_keeps_dev_and_test():
    one, other = generate(SMALL), generate(DemoConfig(size=240, dev=12, test=15, noise=0.1, misaligned=0.2))
    for name in one:
        assert one[name]["dev"].pairs == other[name]["dev"].pairs
        assert one[name]["test"].pairs == other[name]["test"].pairs


def test_files(tmp_path):
    config = DemoConfig(size=60, dev=7, test=5, noise=0.2, misaligned=0.25)
    write(config, tmp_path / "one")
    write(config, tmp_path / "two")
    corpus = generate(config)
    for name, splits in corpus.items():
        expected = {f"{split}.{language}" for split in SPLITS for language in ("de", "en")} | {"train.noise"}
        assert {path.name for path in (tmp_path / "one" / name).iterdir()} == expected
        for split, part in splits.items():
            columns = {"de": [pair[0] for pair in part.pairs], "en": [pair[1] for pair in part.pairs]}
            for suffix, lines in (columns | part.marks).items():
                data = (tmp_path / "one" / name / f"{split}.{suffix}").read_bytes()
                assert data.decode("utf-8").split("\n") == [*lines, ""]
                again = (tmp_path / "two" / name / f"{split}.{suffix}").read_bytes()
                assert hashlib.sha256(data).digest() == hashlib.sha256(again).digest()


def test_written_again_without_marks_leaves_no_stale_marks(tmp_path):
    write(DemoConfig(size=30, dev=2, test=2, misaligned=0.5), tmp_path)
    write(DemoConfig(size=30, dev=2, test=2), tmp_path)
    assert not list(tmp_path.glob("*/train.noise"))


def test_clean_corpus_has_no_marks():
    assert not any(split.marks for splits in generate(SMALL).values() for split in splits.values())


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_misaligned_pairs_are_the_marked_ones(share):
    clean = generate(SMALL)
    mixed = generate(DemoConfig(size=120, dev=12, test=15, misaligned=share))
    for name, splits in clean.items():
        part, gold = mixed[name]["train"], splits["train"].pairs
        wrong = [mark == "1" for mark in part.marks["noise"]]
        expected = round(share * len(gold))
        assert sum(wrong) == (expected if expected > 1 else 0)
        for is_wrong, (source, target), (gold_source, gold_target) in zip(
            wrong, part.pairs, gold, strict=True
        ):
            assert source == gold_source
            assert (target != gold_target) == is_wrong
        assert mixed[name]["dev"] == splits["dev"]


def test_noise_facet_is_misaligned_in_every_split():
    corpus = generate(DemoConfig(size=200, dev=10, test=10, noise=0.4))
    gold = {
        source: target
        for splits in generate(DemoConfig(size=600)).values()
        for source, target in _pairs(splits)
    }
    noise = _pairs(corpus["noise"])
    assert len(noise) == round(0.4 * sum(DemoConfig(size=200).sizes.values())) + 20
    assert all(gold[source] != target for source, target in noise)
    assert {target for _, target in noise} <= set(gold.values())
    assert set(corpus["noise"]["train"].marks["noise"]) == {"1"}
    assert set(corpus["law"]["train"].marks["noise"]) == {"0"}


def test_used_up_grammar_is_the_users_mistake():
    with pytest.raises(UserError, match="facet 'koran' has only about 1 distinct pairs, 2 were asked for"):
        demo._distinct("koran", 2, lambda: ("Gott hört die Armen.", "God hears the poor."), set())


@pytest.mark.parametrize("wrong", [{"size": 0}, {"dev": -1}, {"noise": -0.1}, {"misaligned": 1.5}])
def test_config_refuses(wrong):
    with pytest.raises(ValueError, match="demo"):
        DemoConfig(**wrong)


def test_config_refuses_unknown_keys():
    with pytest.raises(ValidationError, match="sise"):
        TypeAdapter(DemoConfig).validate_python({"sise": 3})


class Trigrams:
    """An interpolated trigram model of whole words, the plainest thing that sees style."""

    def __init__(self, sentences):
        self.counts = Counter()
        for sentence in sentences:
            words = self._words(sentence)
            for i in range(2, len(words)):
                for n in range(3):
                    self.counts[tuple(words[i - n : i + 1])] += 1
                    self.counts[(*words[i - n : i], None)] += 1

    @staticmethod
    def _words(sentence):
        return ["", "", *sentence.rstrip(".").replace(",", " ,").split(), "."]

    def score(self, sentence):
        words, total = self._words(sentence), 0.0
        for i in range(2, len(words)):
            prob = 1e-3
            for n in range(3):
                context = words[i - n : i]
                prob = (self.counts[(*context, words[i])] + 5 * prob) / (self.counts[(*context, None)] + 5)
            total += math.log(prob)
        return total / (len(words) - 2)


def test_two_language_models_tell_the_styles_apart_and_one_word_does_not():
    corpus = generate(DemoConfig(size=1500, dev=200, test=0, translationese=True))
    german = {name: [pair[1] for pair in splits["train"].pairs] for name, splits in corpus.items()}
    models = {name: Trigrams(sentences) for name, sentences in german.items()}
    guesses = [
        max(models, key=lambda style, line=line: models[style].score(line)) == name
        for name, splits in corpus.items()
        for _, line in splits["dev"].pairs
    ]
    assert sum(guesses) / len(guesses) > 0.9
    shares = {
        name: Counter(word for line in lines for word in set(line.strip(".").split()))
        for name, lines in german.items()
    }
    gaps = [abs(shares["natural"][w] - shares["translationese"][w]) for w in set().union(*shares.values())]
    assert 0.5 + max(gaps) / 1500 / 2 < 0.75


def test_styles_are_marked_in_every_split():
    corpus = generate(DemoConfig(size=50, dev=5, test=5, translationese=True))
    assert list(corpus) == ["natural", "translationese"]
    for name, splits in corpus.items():
        for split in splits.values():
            assert set(split.marks["origin"]) == {name}
    english = corpus["natural"]["train"].pairs[0][0]
    assert " the " in f" {english.lower()} "


def test_style_files_are_english_to_german(tmp_path):
    write(DemoConfig(size=20, dev=2, test=2, translationese=True), tmp_path)
    english = (tmp_path / "natural" / "train.en").read_text(encoding="utf-8").splitlines()
    german = (tmp_path / "natural" / "train.de").read_text(encoding="utf-8").splitlines()
    origin = (tmp_path / "natural" / "train.origin").read_text(encoding="utf-8").splitlines()
    assert len(english) == len(german) == 20
    assert origin == ["natural"] * 20
    assert sum("the" in line.lower().split() for line in english) > 15
    assert sum(bool({"der", "die", "das", "den"} & set(line.lower().split())) for line in german) > 15
