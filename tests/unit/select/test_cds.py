import pytest

from facetmt.data.config import DataConfig, FacetConfig
from facetmt.errors import UserError
from facetmt.select.cds import training_texts
from facetmt.select.trusted import FilterConfig


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


@pytest.mark.parametrize(
    "settings", [{"keep": 0.0}, {"keep": 1.1}, {"keep": float("nan")}, {"stages": 0}, {"steps": 0}]
)
def test_shares_and_counts_are_checked(settings):
    with pytest.raises(UserError, match=r"more than 0 and at most 1|at least 1 of each"):
        FilterConfig(**settings)
