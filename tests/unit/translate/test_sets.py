from types import SimpleNamespace

import pytest

from facetmt.data.corpus import Facet
from facetmt.errors import UserError
from facetmt.translate.config import EvaluateConfig, SetConfig
from facetmt.translate.sets import row_sizes, scored_texts

FACETS = [Facet("natural", "en", "de"), Facet("translationese", "en", "de")]
TEXT = {"natural": (["a"], ["b"]), "translationese": ([], [])}


def facet(name):
    found = [one for one in FACETS if one.name == name]
    if not found:
        raise UserError(f"there is no facet {name}")
    return found[0]


PREPARED = SimpleNamespace(
    facets=FACETS,
    codec=SimpleNamespace(facet=facet),
    text=lambda name, split: TEXT[name] if split == "test" else ([], []),
    stores=lambda split: [[0] * 7, [0] * 3],
)


def config(source="x.en", target="x.de", facet="translationese", name="wmt20"):
    return EvaluateConfig(sets={name: SetConfig(source, target, facet)})


@pytest.fixture
def root(tmp_path):
    (tmp_path / "x.en").write_text("one\n\nthree", encoding="utf-8")
    (tmp_path / "x.de").write_text("eins\r\nzwei\r\ndrei\r\n", encoding="utf-8", newline="")
    (tmp_path / "short.de").write_text("eins\n", encoding="utf-8")
    (tmp_path / "empty").write_text("", encoding="utf-8")
    (tmp_path / "endless").write_text("x\n" + "y" * 40_000, encoding="utf-8")
    (tmp_path / "latin").write_bytes(b"gut\nsch\xf6n\n")
    return tmp_path


def test_facets_with_text_come_first_then_sets_line_by_line(root):
    rows = list(scored_texts(PREPARED, config(), root))
    assert rows[0] == ("natural", FACETS[0], ["a"], ["b"])
    assert rows[1] == ("wmt20", FACETS[1], ["one", "", "three"], ["eins", "zwei", "drei"])
    assert len(rows) == 2


def test_a_row_is_as_large_as_its_facet(root):
    rows = list(scored_texts(PREPARED, config(), root))
    sizes = row_sizes(rows, PREPARED)
    assert sizes == {"natural": 7, "wmt20": 3}
    assert EvaluateConfig(size_groups={"low": (0, 5)}).members(sizes) == {"low": ["wmt20"]}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"target": "short.de"}, r"x\.en has 3 lines and .*short\.de 1"),
        ({"source": "empty", "target": "empty"}, "equally many, and some"),
        ({"source": "endless"}, r"endless, line 2 has more than 32,768 bytes"),
        ({"source": "latin"}, r"latin, line 2, byte 3: not valid UTF-8"),
        ({"source": "none.en"}, r"none\.en does not exist"),
        ({"facet": "neutral"}, "there is no facet neutral"),
        ({"name": "natural"}, "has the name of a facet"),
    ],
)
def test_a_set_that_cannot_be_read_is_named(root, settings, expected):
    with pytest.raises(UserError, match=expected):
        list(scored_texts(PREPARED, config(**settings), root))


@pytest.mark.parametrize("name", ["../../x", "a/b", ".hidden", ""])
def test_a_set_cannot_be_named_like_a_path(name):
    with pytest.raises(ValueError, match="cannot name a test set"):
        config(name=name)
