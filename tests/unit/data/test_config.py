import pytest

from facetmt.data.config import DataConfig, FacetConfig


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
