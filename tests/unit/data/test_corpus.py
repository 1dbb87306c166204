import pytest

from facetmt.data import corpus
from facetmt.data.chunks import Files, read_chunks
from facetmt.data.corpus import DataConfig, Facet, FacetConfig, read_parallel
from facetmt.errors import UserError


@pytest.fixture
def facet(tmp_path, write_lines):
    def make(source, target, **more):
        files = Files(write_lines(tmp_path / "t.de", source), write_lines(tmp_path / "t.en", target), **more)
        return Facet("it", "de", "en", {"train": files})

    return make


def pairs(facet, errors="strict"):
    return [tuple(pair) for pair in read_parallel(facet, "train", errors)]


def report(facet):
    chunks = list(read_chunks(facet.files["train"]))
    return sum(
        (corpus.decode_chunk(c, facet.files["train"], "strict").dropped for c in chunks), corpus.Counter()
    )


def test_a_blank_line_on_either_side_drops_the_pair_and_is_counted(facet):
    made = facet(["a", "", " \t", "d", "e", "\u200b"], ["A", "B", "C", "", "E", "F"])
    assert pairs(made) == [("a", "A", 1), ("e", "E", 5)]
    assert report(made) == {"blank": 4}


def test_an_overlong_line_drops_the_pair_before_decoding(facet):
    made = facet(["a", b"\xff" * 1_000_000, "c"], ["A", "B", "C"])
    assert pairs(made) == [("a", "A", 1), ("c", "C", 3)]
    assert report(made) == {"too long": 1}


def test_invalid_utf8_names_its_file_line_and_byte(facet):
    made = facet(["a", "b"], ["A", b"B\xff"])
    with pytest.raises(UserError, match=r"t\.en, line 2, byte 1"):
        pairs(made)
    assert pairs(made, "replace")[1] == ("b", "B\ufffd", 2)


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
