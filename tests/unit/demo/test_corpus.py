"""The demo corpus: its bytes, sizes, splits, noise and styles."""

import hashlib
import math
from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from facetmt.demo import corpus as demo
from facetmt.demo.corpus import SPLITS, DemoConfig, generate, write
from facetmt.errors import UserError

SMALL = {"size": 150, "dev": 20, "test": 20}
NOISY = {"noise": 0.2, "misaligned": 0.3}
# The sha256 of all files, each after its path: documents quote figures that were measured on this text.
PINNED = [
    ({}, "994510bc46f244a61f1b1fb6a801856ce889fefaeb146c8128a060d78ca426c0"),
    (NOISY, "b6d87fcb2d6be19b379c83340e93e1fee92fcc5cc1a2109bb9d2e2571d7c487e"),
    ({"translationese": True}, "a8a32c61260e5977b726dee5edb8465165015a0d7d1fe8a42bb7100c354b3feb"),
]


@pytest.mark.parametrize(("settings", "expected"), PINNED)
def test_the_same_settings_give_the_same_bytes(tmp_path, settings, expected):
    write(DemoConfig(**SMALL, **settings), tmp_path)
    digest = hashlib.sha256()
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(tmp_path).as_posix()}\n".encode() + path.read_bytes())
    assert digest.hexdigest() == expected


def test_no_marks_of_an_earlier_corpus_stay(tmp_path):
    for share in (0.5, 0.0):
        write(DemoConfig(size=30, dev=2, test=2, misaligned=share), tmp_path)
    assert not list(tmp_path.glob("*/train.noise"))


def test_default_sizes_follow_the_paper():
    sizes = {"medical": 2976, "it": 5608, "law": 2675, "koran": 216, "subtitles": 6000}
    assert DemoConfig().sizes == sizes


def pairs_of(splits):
    return [pair for split in splits.values() for pair in split.pairs]


@examples(max_examples=20)
@given(st.integers(0, 2**64), st.sampled_from([0.0, 0.2]), st.sampled_from([0.0, 0.3]), st.booleans())
def test_sizes_marks_and_no_sentence_twice(seed, noise, misaligned, styles):
    config = DemoConfig(seed, 60, 7, 5, noise, misaligned, styles)
    corpus = generate(config)
    noisy = round(config.noise * sum(config.sizes.values()))
    assert set(corpus) == set(config.sizes) | ({"noise"} if noisy else set())
    for name, splits in corpus.items():
        counts = {split: len(splits[split].pairs) for split in SPLITS}
        assert counts == {"train": config.sizes.get(name, noisy), "dev": config.dev, "test": config.test}
        for side in zip(*pairs_of(splits), strict=True):
            assert len(set(side)) == len(side)
        for split in splits.values():
            assert all(len(marks) == len(split.pairs) for marks in split.marks.values())
            assert not config.translationese or name == "noise" or set(split.marks["origin"]) <= {name}
        assert ("noise" in splits["train"].marks) == bool(config.noise or config.misaligned)
    for one, other in combinations(corpus, 2):
        assert not set(dict(pairs_of(corpus[one]))) & set(dict(pairs_of(corpus[other])))


def test_seeds_differ():
    one, other = (set(pairs_of(generate(DemoConfig(seed=seed, size=120))["it"])) for seed in (1, 2))
    assert len(one & other) < len(one) / 10


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_misaligned_pairs_are_the_marked_ones(share):
    clean, mixed = generate(DemoConfig(**SMALL)), generate(DemoConfig(**SMALL, misaligned=share))
    for name, splits in clean.items():
        part, gold = mixed[name]["train"], splits["train"].pairs
        expected = round(share * len(gold))
        assert part.marks["noise"].count("1") == (expected if expected > 1 else 0)
        for mark, (source, target), right in zip(part.marks["noise"], part.pairs, gold, strict=True):
            assert source == right[0] and (target != right[1]) == (mark == "1")
        assert mixed[name]["dev"] == splits["dev"]


def test_the_noise_facet_is_misaligned_text_of_the_others():
    corpus = generate(DemoConfig(size=200, dev=10, test=10, noise=0.4))
    larger = generate(DemoConfig(size=600, dev=10, test=10))
    gold = dict(pair for splits in larger.values() for pair in pairs_of(splits))
    assert all(gold[source] != target for source, target in pairs_of(corpus["noise"]))
    assert {target for _, target in pairs_of(corpus["noise"])} <= set(gold.values())
    # and neither noise nor a larger train split changes dev and test
    assert all(larger[name][split] == corpus[name][split] for name in larger for split in ("dev", "test"))


def test_an_exhausted_grammar_is_the_users_mistake():
    with pytest.raises(
        UserError, match="'koran' yields only about 1 distinct pairs, and 2 are needed; choose"
    ):
        demo._distinct("koran", 2, lambda: ("Gott hört die Armen.", "God hears the poor."), set())


@pytest.mark.parametrize("wrong", [{"size": 0}, {"dev": -1}, {"noise": -0.1}, {"misaligned": 1.5}])
def test_config_refuses(wrong):
    with pytest.raises(ValueError, match=r"demo corpus: .*; give"):
        DemoConfig(**wrong)


def words_of(line):
    return ["", *line.rstrip(".").split(), "."]


def log_likelihood(counts, line):
    return sum(math.log((counts[a, b] + 0.1) / (counts[a] + 100)) for a, b in pairwise(words_of(line)))


def test_language_models_tell_the_styles_apart_and_no_single_word_does():
    corpus = generate(DemoConfig(size=1500, dev=200, test=0, translationese=True))
    models = {name: Counter() for name in corpus}  # of words and of neighbouring words
    for name, model in models.items():
        for words in (words_of(german) for _, german in corpus[name]["train"].pairs):
            model.update([*words, *pairwise(words)])
    right = [
        max(models, key=lambda style, line=german: log_likelihood(models[style], line)) == name
        for name in corpus
        for _, german in corpus[name]["dev"].pairs
    ]
    assert sum(right) / len(right) > 0.9
    words = {word for model in models.values() for word in model if isinstance(word, str)}
    gaps = [abs(models["natural"][word] - models["translationese"][word]) for word in words]
    assert 0.5 + max(gaps) / 1500 / 2 < 0.75
