from pathlib import Path

import pytest

from facetmt.data.chunks import Files
from facetmt.data.config import DataConfig, FacetConfig
from facetmt.errors import UserError
from facetmt.select.texts import all_rows, pairs_of, part_lines, training_texts


def test_the_training_texts_are_found(corpus, tmp_path):
    data = DataConfig(root=str(tmp_path / "corpus"), source="de", target="en")
    texts = training_texts(data)
    assert [(str(text.folder), text.lines) for text in texts] == [("it", 60), ("law", 20)]
    assert [[facet.name for facet in text.facets] for text in texts] == [["it"], ["law"]]


def test_both_directions_of_a_text_are_one_text(corpus, tmp_path):
    data = DataConfig(root=str(tmp_path / "corpus"), pivot="en", direction="many-to-many")
    first, second = training_texts(data)
    assert [facet.name for facet in first.directions()] == ["it_de-en", "it_en-de"]
    assert first.parts() == {"": ["it_de-en", "it_en-de"]}
    assert second.lines == 20


def test_labels_make_parts_of_one_text(corpus, tmp_path, write_lines):
    folder = tmp_path / "corpus" / "it"
    for split, count in (("train", 60), ("dev", 9), ("test", 4)):
        write_lines(folder / f"{split}.facet", ["a", "b", "b"] * 20 if split == "train" else ["a"] * count)
    (text,) = training_texts(DataConfig(root=str(folder), source="de", target="en", labels="facet"))
    assert text.parts() == {"a": ["a"], "b": ["b"]}
    assert [facet.name for facet in text.directions()] == ["a"]  # scored once


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"layout": "opus100", "pivot": "en"}, "data.layout: opus100 takes no keep files"),
        (
            {
                "source": "de",
                "target": "en",
                "facets": {"mine": FacetConfig(train=("it/train.de", "it/train.en"))},
            },
            "names its files",
        ),
    ],
)
def test_what_takes_no_keep_files_is_refused(corpus, tmp_path, settings, complaint):
    with pytest.raises(UserError, match=complaint):
        training_texts(DataConfig(root=str(tmp_path / "corpus"), **settings))


def test_text_outside_the_corpus_is_refused_before_anything_is_trained(corpus, tmp_path):
    outside = tmp_path / "elsewhere.de"
    inside = tmp_path / "corpus" / "law" / "train.de"
    inside.rename(outside)
    inside.symlink_to(outside)
    data = DataConfig(root=str(tmp_path / "corpus"), source="de", target="en")
    with pytest.raises(UserError, match=r"train\.de: filter works on text below .*corpus; move it"):
        training_texts(data)


def test_the_lines_of_a_label(corpus, tmp_path, write_lines):
    folder = tmp_path / "corpus" / "it"
    for split, count in (("train", 60), ("dev", 9), ("test", 4)):
        write_lines(folder / f"{split}.facet", ["a", "b", "b"] * 20 if split == "train" else ["a"] * count)
    (text,) = training_texts(DataConfig(root=str(folder), source="de", target="en", labels="facet"))
    assert part_lines(text, "a").tolist() == list(range(0, 60, 3))
    assert part_lines(text, "").tolist() == list(range(60))
    assert len(list(all_rows(text.facets[0].files["train"]))) == 60  # of any label


def test_lines_without_a_pair_are_left_out():
    files = Files(Path("a.de"), Path("a.en"))
    rows = [(4, b"eins", b"one"), (5, b" ", b"two"), (6, None, b"three"), (7, b"vier", b"four")]
    pairs = pairs_of(rows, files, "strict")
    assert (pairs.place.tolist(), pairs.sources, pairs.targets) == ([0, 3], ["eins", "vier"], ["one", "four"])
    with pytest.raises(UserError, match=r"a\.en, line 9, byte 0: not valid UTF-8"):
        pairs_of([(9, b"x", b"\xff")], files, "strict")
