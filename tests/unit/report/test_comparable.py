import json
import shutil

import pytest

from facetmt.report.comparable import caveats, sentences
from facetmt.runlog import Run

QUICK = {"steps": 60, "sentences": 3, "validations": 3}


@pytest.fixture(scope="module")
def base(fake, tmp_path_factory):
    return fake.write_run(tmp_path_factory.mktemp("runs") / "base", policy="mixed", **QUICK)


@pytest.fixture
def copy(base, tmp_path):
    return shutil.copytree(base, tmp_path / "copy")


def said(*directories):
    return sentences(caveats([Run(directory) for directory in directories]))


def test_runs_that_are_like_for_like_need_no_words(base, fake, tmp_path):
    assert said(base, fake.write_run(tmp_path / "exp3", **QUICK)) == []


def test_an_unfinished_run(base, fake, tmp_path):
    half = fake.write_run(tmp_path / "half", planned=120, **QUICK)
    assert said(half) == ["half: unfinished, at step 60 of 120"]
    assert said(base, half) == said(half)


def test_a_run_that_lost_its_patience_is_finished(base, fake, tmp_path):
    early = fake.write_run(tmp_path / "early", planned=120, **QUICK)
    recipe = early / "recipe.yaml"
    recipe.write_text(recipe.read_text("utf-8").replace("patience: null", "patience: 1"), "utf-8")
    rows = [json.loads(line) for line in (early / "validation.jsonl").read_text("utf-8").splitlines()]
    rows[0]["bleu"]["average"] = 99.0
    (early / "validation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    fake.change_scores(early, steps=[20])
    assert said(early) == []


def test_other_numbers_of_steps(base, fake, tmp_path):
    longer = fake.write_run(tmp_path / "longer", **{**QUICK, "steps": 90})
    assert said(base, longer) == ["longer: trained for 90 steps, base for 60"]


def test_other_corpora(base, fake, tmp_path):
    sizes = dict(fake.DOMAINS)
    fewer = fake.write_run(tmp_path / "fewer", sizes={**sizes, "Law": 1000}, **QUICK)
    assert (
        "fewer: trained on other text than base: Law 1,000 pairs de-en instead of 222,900 pairs de-en"
        in said(base, fewer)
    )
    sizes.pop("Subs")
    less = fake.write_run(tmp_path / "less", sizes=sizes, **QUICK)
    found = said(base, less)
    assert "less: trained on other text than base: without Subs" in found
    assert any("other test sets than base (without Subs)" in line for line in found)
    cleaned = fake.write_run(tmp_path / "cleaned", data={"max_length": 64}, **QUICK)
    assert said(base, cleaned) == [
        "cleaned: trained on text prepared differently from base’s: max_length 64 instead of 128"
    ]


def test_other_test_text_by_its_hash_or_by_itself(base, copy, fake, tmp_path):
    base = shutil.copytree(base, tmp_path / "base")
    path = copy / "translations" / "Law.jsonl"
    path.write_text(path.read_text("utf-8").replace('"source": "', '"source": "x '), "utf-8")
    assert said(base, copy) == ["copy: scored on other test text than base: Law"]
    scores = json.loads((copy / "scores.json").read_text("utf-8"))["facets"]
    for directory, value in ((base, "a"), (copy, "a")):  # as `evaluate` writes it
        fake.change_scores(directory, facets={name: {**row, "text": value} for name, row in scores.items()})
    assert said(base, copy) == []
    fake.change_scores(copy, facets={**scores, "IT": {**scores["IT"], "text": "b"}})
    assert said(base, copy) == ["copy: scored on other test text than base: IT, Law"]


def test_other_decoding_and_another_measure(base, copy, fake):
    decode = json.loads((copy / "scores.json").read_text("utf-8"))["decode"]
    fake.change_scores(copy, decode={**decode, "beam": 1, "batch": 999}, tag="Law")
    assert said(base, copy) == [
        "copy: decoded differently from base: beam 1 instead of 5, tag Law instead of none"
    ]
    fake.change_scores(copy, decode=decode, tag=None, signature={"bleu": "tok:zh", "chrf": "x"})
    assert said(base, copy) == [
        "copy: scored by another metric than base (see the SacreBLEU signatures): Med, IT, Law, Koran, Subs"
    ]
    fake.change_scores(copy, signature=json.loads((base / "scores.json").read_text("utf-8"))["signature"])
    fake.change_scores(copy, decode={"beam": decode["beam"], "cap": 2})  # of another version
    assert said(base, copy) == []


def test_scores_older_than_the_last_training(copy, fake):
    best = json.loads((copy / "scores.json").read_text("utf-8"))["steps"]
    fake.change_scores(copy, steps=[20], trained_steps=20)
    words = "copy: scored at step 20 but trained to 60 since; score it again with `facetmt evaluate`"
    assert said(copy) == [words]
    fake.change_scores(copy, steps=best, trained_steps=60)
    assert said(copy) == []
    scores = json.loads((copy / "scores.json").read_text("utf-8"))
    scores.pop("trained_steps")  # of an older version: the best checkpoint is another one by now
    (copy / "scores.json").write_text(json.dumps({**scores, "steps": [20]}), "utf-8")
    assert said(copy) == [words] and best != [20]


def test_a_named_outcome_says_how_it_differs(base, copy, fake):
    fake.write_outcome(copy, "tagged", lambda row: row["reference"], tag="Law")
    assert said(base, copy) == ["copy [tagged]: decoded differently from base: tag Law instead of none"]


def test_the_same_of_several_runs_is_said_once_and_files_that_are_not_there_are_no_trouble(
    base, fake, tmp_path
):
    halves = [fake.write_run(tmp_path / name, planned=120, **QUICK) for name in ("a", "b")]
    assert said(base, *halves) == ["a, b: unfinished, at step 60 of 120"]
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("recipe.yaml", "scores.json"):
        shutil.copy(base / name, bare / name)
    scores = json.loads((bare / "scores.json").read_text("utf-8"))
    for name in ("steps", "decode", "tag"):
        scores.pop(name)
    (bare / "scores.json").write_text(json.dumps(scores), "utf-8")
    assert said(base, bare) == []
