import json

import pytest

from facetmt.data.clean import Cleaner
from facetmt.data.corpus import Facet
from facetmt.translate.config import EvaluateConfig
from facetmt.translate.sets import ScoredText
from facetmt.translate.testsets import differing, evaluate_tests

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
        "they had it as well",
        "the test text of law was another",
    ]


def test_former_scores_of_an_older_version_are_compared_by_what_they_say():
    old = {"facets": {"law": {"bleu": 3.0, "chrf": 9.0}}, "decode": {"beam": 4}, "steps": [6]}
    assert differing(old, ABOUT, [LAW]) == ["decode.beam was 4"]
