import pytest

from facetmt.data.corpus import DataConfig
from facetmt.errors import UserError
from facetmt.select.cds import FilterConfig, training_texts


def test_the_training_texts_are_found(corpus, tmp_path):
    data = DataConfig(root=str(tmp_path / "corpus"), source="de", target="en")
    assert [facet.name for facet in training_texts(data)] == ["it", "law"]


def test_text_outside_the_corpus_is_refused_before_anything_is_trained(corpus, tmp_path):
    outside = tmp_path / "elsewhere.de"
    inside = tmp_path / "corpus" / "law" / "train.de"
    inside.rename(outside)
    inside.symlink_to(outside)
    data = DataConfig(root=str(tmp_path / "corpus"), source="de", target="en")
    with pytest.raises(
        UserError, match=r"filter works on text below .*corpus, but .*train.de is not: move it"
    ):
        training_texts(data)


@pytest.mark.parametrize(
    "settings", [{"keep": 0.0}, {"keep": 1.1}, {"keep": float("nan")}, {"stages": 0}, {"steps": 0}]
)
def test_shares_and_counts_are_checked(settings):
    with pytest.raises(ValueError, match=r"share above 0|at least 1"):
        FilterConfig(**settings)
