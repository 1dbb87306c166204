"""What is scored, and what scores.json says about it."""

import json
from types import SimpleNamespace

import pytest

from facetmt.data.clean import Cleaner
from facetmt.data.corpus import Facet
from facetmt.errors import UserError
from facetmt.translate.config import EvaluateConfig, SetConfig
from facetmt.translate.testsets import (
    ScoredText,
    check_groups,
    check_scoring,
    differing,
    evaluate_tests,
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
        ({"source": "empty", "target": "empty"}, "the same number of lines, at least 1"),
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
    with pytest.raises(UserError, match=r"evaluate\.groups\.formal: med.* choose from natural, wmt20"):
        check_groups(settings, ["natural", "wmt20"])
    check_groups(settings, ["natural", "medical"])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (config(name="natural"), "a facet has this name"),
        (config(facet="neutral"), "there is no facet neutral"),
        (EvaluateConfig(tag="sports"), "there is no facet sports"),
        (EvaluateConfig(groups={"g": ("sports",)}), r"evaluate\.groups\.g: sports"),
        (
            EvaluateConfig(tokenisers={"fr": "char"}),
            r"evaluate\.tokenisers\.fr: the model translates only to de",
        ),
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


ABOUT = {"steps": [6], "trained_steps": 9, "decode": {"beam": 5, "max_ratio": None}, "tag": None}
LINES = ["the cat sat on the mat", "a dog barked at the moon today"]
LAW, IT = (ScoredText(name, Facet(name, "de", "en"), LINES, LINES) for name in ("law", "it"))


def echo(lines, facet, tell):
    tell(1, 2)
    tell(2, 2)
    return list(lines)


def scored(directory, texts, translate=echo, config=None, progress=lambda done, total: None):
    sizes = {text.name: 10 for text in texts}
    cleaner = Cleaner(False, {})
    return evaluate_tests(
        translate,
        texts,
        sizes,
        cleaner,
        config or EvaluateConfig(),
        directory,
        about=ABOUT,
        progress=progress,
    )


def test_scores_say_what_was_scored_and_how(tmp_path):
    scores = scored(tmp_path, [LAW, IT])
    assert json.loads((tmp_path / "scores.json").read_text("utf-8")) == scores
    assert scores["facets"]["law"] == {"bleu": 100.0, "chrf": 100.0, "sentences": 2, "text": LAW.sha256()}
    assert {key: scores[key] for key in ABOUT} == ABOUT
    assert scores["average"] == {"bleu": 100.0, "chrf": 100.0}
    assert scores["time"].endswith("+00:00")


def test_translations_of_what_is_no_longer_scored_are_removed(tmp_path):
    scored(tmp_path, [LAW, IT])
    scored(tmp_path, [IT])
    assert [path.name for path in (tmp_path / "translations").iterdir()] == ["it.jsonl"]
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_what_breaks_off_leaves_scores_and_translations_as_they_were(tmp_path):
    scored(tmp_path, [LAW, IT])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json*")}

    def broken(lines, facet, tell):
        if facet == "it":
            raise KeyboardInterrupt
        return ["other"] * len(lines)

    with pytest.raises(KeyboardInterrupt):
        scored(tmp_path, [LAW, IT], broken)
    assert {path: path.read_bytes() for path in before} == before
    assert len(before) == 3 and [path.name for path in tmp_path.glob(".*")] == []


def test_progress_runs_through_all_texts(tmp_path):
    told = []
    scored(tmp_path, [LAW, IT], progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_what_differs_from_the_former_scores_is_named(tmp_path):
    before = scored(tmp_path, [LAW, IT])
    assert differing(before, ABOUT, [LAW, IT]) == []
    about = {**ABOUT, "tag": "law", "decode": {"beam": 1, "max_ratio": None}}
    changed = LAW._replace(references=["the cat", "a dog"])
    assert differing(before, about, [changed]) == [
        "decode.beam was 5",
        "tag was None",
        "it was scored too",
        "the test text of law was different",
    ]


def test_former_scores_of_an_older_version_are_compared_by_what_they_say():
    old = {"facets": {"law": {"bleu": 3.0, "chrf": 9.0}}, "decode": {"beam": 4}, "steps": [6]}
    assert differing(old, ABOUT, [LAW]) == ["decode.beam was 4"]
