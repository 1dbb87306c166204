from collections import Counter

import pytest

from facetmt.data.chunks import Files
from facetmt.data.codec import open_codec
from facetmt.data.config import CleanConfig, DataConfig, TagConfig, VocabConfig
from facetmt.data.corpus import Facet
from facetmt.data.learn import LINE, learn_codec, sample_jobs, sample_text, shares, shuffled
from facetmt.data.workers import Workers


def test_balanced_shares_are_equal_and_never_above_the_largest_facet():
    counts = {"big": 1000, "small": 10}

    def found(**settings):
        both = [Facet(name, "de", "en") for name in counts]
        by_side = shares(both, counts, VocabConfig(**settings))
        assert all(source == target for source, target in by_side.values())
        return {name: source for name, (source, _) in by_side.items()}

    assert found(sample=400) == {"big": 100, "small": 100}
    assert found(sample=100_000) == {"big": 1000, "small": 1000}
    assert found(sample=202, balance="none") == {"big": 100, "small": 1}
    assert found(sample=100_000, balance="none") == counts


SIZES = {"bs": 5_600, "mr": 9_800, "hi": 18_800, "mk": 25_300, "el": 134_300, "fr": 192_300}


@pytest.mark.parametrize("direction", ["many-to-one", "many-to-many"])
@pytest.mark.parametrize("sample", [70_000, 10_000_000])
def test_balanced_by_language_english_is_one_of_them(direction, sample):
    """The paper's appendix: all languages upsampled to the largest one, and English is a language."""
    facets = [Facet(f"{name}-en", name, "en") for name in SIZES]
    if direction == "many-to-many":
        facets += [Facet(f"en-{name}", "en", name) for name in SIZES]
    counts = {facet.name: SIZES[facet.name.replace("en", "").strip("-")] for facet in facets}
    lines = Counter()
    for name, share in shares(facets, counts, VocabConfig(sample=sample, balance="language")).items():
        for language, part in zip(name.split("-"), share, strict=True):
            lines[language] += part
    largest = sum(counts.values())  # English
    assert lines.keys() == {*SIZES, "en"}
    for count in lines.values():
        assert count == pytest.approx(min(largest, sample // 7), abs=len(facets))


def test_recipes_of_earlier_versions_mean_what_they_meant():
    assert VocabConfig(balance=True) == VocabConfig(balance="facet") == VocabConfig()
    assert VocabConfig(balance=False) == VocabConfig(balance="none")


@pytest.fixture
def facet(tmp_path, write_lines):
    def make(name, lines):
        files = Files(
            write_lines(tmp_path / f"{name}.de", lines), write_lines(tmp_path / f"{name}.en", lines)
        )
        return Facet(name, "de", "en", {"train": files})

    return make


def sampled(facet, config, count, share):
    jobs = list(sample_jobs(facet, config, count, share if isinstance(share, tuple) else (share, share)))
    return Counter(line for job in jobs for line in sample_text(job).sides[0])


def test_a_small_facet_is_repeated_evenly_and_a_large_one_thinned(facet):
    config = DataConfig(root=".")
    made = facet("it", [f"line {i}" for i in range(10)])
    repeated = sampled(made, config, 10, 25)
    assert repeated.total() == 25 and set(repeated.values()) == {2, 3} and len(repeated) == 10
    thinned = sampled(made, config, 10, 4)
    assert set(thinned.values()) == {1} and len(thinned) == 4
    assert thinned == sampled(made, config, 10, 4)
    assert thinned != sampled(made, DataConfig(root=".", seed=2), 10, 4)


def test_the_sides_of_a_facet_may_have_unequal_shares(facet):
    made = facet("it", [f"line {i}" for i in range(10)])
    texts = [sample_text(job) for job in sample_jobs(made, DataConfig(root="."), 10, (25, 4))]
    assert [sum(len(text.sides[side]) for text in texts) for side in (0, 1)] == [25, 4]
    assert sum(text.lines for text in texts) == 29


def test_blank_lines_are_not_learned_from(facet):
    made = facet("it", ["one", " ", "two", b"x" * 100_000])
    assert sampled(made, DataConfig(root="."), 4, 8) == {"one": 2, "two": 2}


def test_no_passage_occurs_twice_once_the_words_are_shuffled():
    file = [f"word{i} {i * i}" for i in range(500)]
    text = [*file, *file, *(["small"] * 50), "x" * 30_000]  # two directions of a pair, an upsampled facet
    lines = list(shuffled(text))
    assert lines == list(shuffled(text))
    words = " ".join(lines).split(" ")
    assert Counter(words) == Counter(" ".join(text).split(" "))
    passages = Counter(zip(*(words[start:] for start in range(6)), strict=False))
    assert max(passages.values()) == 1
    assert all(len(line) < 30_000 + LINE for line in lines) and len(lines) > 50
    assert list(shuffled([])) == []


LINES = [
    "Das Haus ist gross.",
    "Heute ist das Haus klein.",
    "Er sieht das Auto!",
    "Und das Auto ist rot.",
] * 5


@pytest.mark.parametrize("moses", [False, True])
@pytest.mark.parametrize("joint", [False, True])
def test_learning_leaves_a_whole_codec_and_no_sample(tmp_path, facet, moses, joint):
    facets = [facet("it", LINES), facet("law", LINES[:3])]
    config = DataConfig(
        root=".",
        tags=TagConfig(True, True),
        clean=CleanConfig(moses=moses),
        vocab=VocabConfig("bpe", 40, joint=joint, coverage=1.0),
    )
    told = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        counts = {"it": 20, "law": 3}
        learn_codec(facets, config, counts, tmp_path / name, Workers(), lambda *step: told.append(step))
    one, two = (open_codec(tmp_path / name) for name in ("one", "two"))
    assert one.vocabulary.fingerprint == two.vocabulary.fingerprint
    assert one.vocabulary.tags == ["<2en>", "<facet:it>", "<facet:law>"] and one.vocabulary.joint == joint
    assert one.decode(one.encode_target(["Das Auto ist gross."], "it"), "it") == ["Das Auto ist gross."]
    assert not (tmp_path / "one" / "sample").exists()
    assert (tmp_path / "one" / "truecase.de.txt").exists() == moses
    assert {step[0] for step in told} == {"sample", "vocabulary"} and told[-1][1] == told[-1][2]
