import pytest

from facetmt.data.chunks import Files
from facetmt.data.corpus import DataConfig, Facet, FacetConfig, read_parallel
from facetmt.errors import UserError


@pytest.fixture
def facet(tmp_path, write_lines):
    def make(source, target, **more):
        files = Files(write_lines(tmp_path / "t.de", source), write_lines(tmp_path / "t.en", target), **more)
        return Facet("it", "de", "en", {"train": files})

    return make


def test_a_missing_split_is_named(facet):
    with pytest.raises(UserError, match="facet it has no test text"):
        list(read_parallel(facet(["a"], ["A"]), "test"))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"pivot": "en", "source": "de"}, "either pivot"),
        ({"layout": "ted"}, "needs a pivot"),
        ({"columns": (0, 1)}, "counted from 1"),
        ({"labels": 3}, "need the layout tsv"),
        ({"limit": 0}, "at least"),
        ({"layout": "ted", "pivot": "en", "keep": "keep"}, "labels and keep need"),
        ({"source": "de", "target": "en", "languages": ("de",)}, "pair with the pivot"),
        ({"max_length": 1}, "max_length"),
    ],
)
def test_nonsense_is_refused_with_what_to_do(fields, reason):
    with pytest.raises(ValueError, match=reason):
        DataConfig(root="x", **fields)


def test_facet_entries_are_checked():
    with pytest.raises(ValueError, match=r"\[source, target\]"):
        FacetConfig(train=("a", "b", "c"))
    with pytest.raises(ValueError, match="must name its train files"):
        FacetConfig(dev=("a", "b"))
    with pytest.raises(ValueError, match="limit"):
        FacetConfig(limit=0)
