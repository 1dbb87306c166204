from types import SimpleNamespace

import pytest

from facetmt.data.clean import Cleaner
from facetmt.data.corpus import Facet
from facetmt.errors import UserError
from facetmt.translate.config import EvaluateConfig, SetConfig
from facetmt.translate.sets import (
    check_groups,
    check_scoring,
    row_sizes,
    scored_references,
    scored_texts,
)

FACETS = [Facet("natural", "en", "de"), Facet("translationese", "en", "de")]
TEXT = {"natural": (["a"], ["b"]), "translationese": ([], [])}


def facet(name):
    found = [one for one in FACETS if one.name == name]
    if not found:
        raise UserError(f"there is no facet {name}")
    return found[0]


def prefix(name, tag):
    return [facet(tag).name]


CODEC = SimpleNamespace(facets=FACETS, facet=facet, prefix=prefix)
PREPARED = SimpleNamespace(
    facets=FACETS,
    directory="prepared",
    text=lambda name, split: TEXT[name] if split == "test" else ([], []),
    reports={
        "natural": {"train": {"read": 7, "kept": 2}},
        "translationese": {"train": {"read": 3, "kept": 3}},
    },
)


def texts(settings, root, prepared=PREPARED, codec=CODEC):
    return scored_texts(prepared, codec, settings, root, root / "run")


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
    rows = texts(config(), root)
    assert rows[0] == ("natural", FACETS[0], ["a"], ["b"])
    assert rows[1] == ("wmt20", FACETS[1], ["one", "", "three"], ["eins", "zwei", "drei"])
    assert len(rows) == 2


def test_a_row_is_as_large_as_its_facet_was_before_any_pair_was_dropped(root):
    rows = texts(config(), root)
    sizes = row_sizes(rows, PREPARED.reports)
    assert sizes == {"natural": 7, "wmt20": 3}
    assert EvaluateConfig(size_groups={"low": (0, 5)}).members(sizes) == {"low": ["wmt20"]}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"target": "short.de"}, r"x\.en has 3 lines and .*short\.de 1"),
        ({"source": "empty", "target": "empty"}, "equally many, and some"),
        ({"source": "endless"}, r"endless, line 2 has more than 32,768 bytes"),
        ({"source": "latin"}, r"latin, line 2, byte 3: not valid UTF-8"),
        ({"source": "none.en"}, r"none\.en: does not exist"),
        ({"facet": "neutral"}, "there is no facet neutral"),
    ],
)
def test_a_set_that_cannot_be_read_is_named(root, settings, expected):
    with pytest.raises(UserError, match=expected):
        texts(config(**settings), root)


@pytest.mark.parametrize("name", ["../../x", "a/b", ".hidden", ""])
def test_a_set_cannot_be_named_like_a_path(name):
    with pytest.raises(ValueError, match="cannot name a test set"):
        config(name=name)


def test_facets_of_the_run_that_are_no_longer_prepared_are_named(root):
    fewer = SimpleNamespace(**{**vars(PREPARED), "facets": FACETS[1:]})
    with pytest.raises(
        UserError, match=r"trained on natural, which prepared no longer .*facetmt prepare .*run"
    ):
        texts(config(), root, prepared=fewer)
    turned = [Facet("natural", "de", "en"), FACETS[1]]
    with pytest.raises(UserError, match="trained on natural"):
        texts(config(), root, prepared=SimpleNamespace(**{**vars(PREPARED), "facets": turned}))


def test_facets_that_the_run_was_not_trained_on_are_not_scored(root):
    more = SimpleNamespace(**{**vars(PREPARED), "facets": [*FACETS, Facet("noise", "en", "de")]})
    assert [text.name for text in texts(config(), root, prepared=more)] == ["natural", "wmt20"]


def test_no_test_text_at_all_is_an_error(root):
    codec = SimpleNamespace(facets=FACETS[1:], facet=facet)
    with pytest.raises(UserError, match="no facet has a test set"):
        texts(EvaluateConfig(), root, codec=codec)


def test_the_hash_of_a_text_changes_with_either_side(root):
    row = texts(config(), root)[1]
    changed = row._replace(references=[*row.references[:-1], "vier"])
    assert row.sha256() == texts(config(), root)[1].sha256() != changed.sha256()


@pytest.mark.parametrize("member", ["medical", "med*"])
def test_a_group_of_what_is_not_scored_is_an_error(member):
    settings = EvaluateConfig(groups={"formal": ("natural", member)})
    with pytest.raises(UserError, match=r"evaluate\.groups\.formal: med.* there are natural, wmt20"):
        check_groups(settings, ["natural", "wmt20"])
    check_groups(settings, ["natural", "medical"])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (config(name="natural"), "has the name of a facet"),
        (config(facet="neutral"), "there is no facet neutral"),
        (EvaluateConfig(tag="sports"), "there is no facet sports"),
        (EvaluateConfig(groups={"g": ("sports",)}), r"evaluate\.groups\.g: sports"),
        (EvaluateConfig(tokenisers={"fr": "char"}), r"evaluate\.tokenisers\.fr: the model translates to de"),
        (EvaluateConfig(tokenisers={"de": "moses"}), "SacreBLEU has no moses"),
    ],
)
def test_what_evaluate_names_and_is_not_there_is_found_at_once(settings, expected):
    with pytest.raises(UserError, match=expected):
        check_scoring(settings, CODEC, ["natural", "translationese"])


def test_references_are_cleaned_as_the_output_is_where_the_recipe_asks_for_it():
    given = ["Das ist «gut»  , oder?"]
    cleaner = Cleaner(True, {})
    assert scored_references(given, "de", cleaner, EvaluateConfig()) == given
    cleaned = scored_references(given, "de", cleaner, EvaluateConfig(preprocessed_references=True))
    assert cleaned == ['Das ist "gut", oder?']
