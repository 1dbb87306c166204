import re
from dataclasses import replace

import pytest
import yaml

from facetmt.report.card import FILL, how_shared, model_card, reasons
from facetmt.report.digest import digest
from facetmt.runlog import Run


def front_of(card):
    _, front, rest = card.split("---\n", 2)
    return yaml.safe_load(front), rest


def test_front_matter_and_scores(bandit_dir):
    front, rest = front_of(model_card(Run(bandit_dir)))
    assert (
        front["language"] == ["de", "en"]
        and front["license"] == FILL
        and front["pipeline_tag"] == "translation"
    )
    results = front["model-index"][0]["results"]
    assert len(results) == 5 and results[0]["metrics"][0]["type"] == "bleu"
    for words in (
        "how much each facet mattered",
        "exploration 0.25",
        "SacreBLEU signatures",
        "nrefs:1",
        "| Koran | 18,000 |",
    ):
        assert words in rest


def test_the_card_does_not_tell_where_the_files_lay(bandit_dir, fake, tmp_path):
    directory = fake.write_run(tmp_path / "x", steps=60)
    recipe = directory / "recipe.yaml"
    recipe.write_text(
        recipe.read_text(encoding="utf-8").replace("root: corpus", f"root: {tmp_path}/deep/corpus"),
        encoding="utf-8",
    )
    card = model_card(Run(directory))
    assert str(tmp_path) not in card and "root: corpus" in card


def test_a_card_before_the_end(fake, tmp_path):
    directory = fake.write_run(
        tmp_path / "new", policy="mixed", steps=2, log_every=5, validations=0, scored=False
    )
    front, rest = front_of(model_card(Run(directory)))
    assert "model-index" not in front and "Not evaluated yet" in rest and "mixed batches" in rest


def test_names_are_text(fake, tmp_path):
    directory = fake.write_run(tmp_path / "x", sizes={"a|b": 10, "c": 20}, steps=60, scored=False)
    assert r"| a\|b | 10 |" in model_card(Run(directory))


def test_the_card_tells_what_was_scored(fake, tmp_path):
    directory = fake.write_run(tmp_path / "x", steps=60, planned=120, sentences=3)
    fake.change_scores(directory, decode={"beam": 2, "average": 1}, steps=[30], trained_steps=30)
    fake.write_outcome(
        directory, "natural-tag", lambda row: row["reference"], tag="Law", steps=[60], trained_steps=60
    )
    card = model_card(Run(directory))
    for words in (
        "checkpoint and decoding: step 30, beam 2",
        "Outcome `natural-tag`: checkpoint and decoding: step 60, beam 2, tag Law",
        "**Careful: x: scored at step 30 but trained to 60 since",
        "**Careful: x: unfinished, at step 60 of 120**",
        "the training is unfinished: 120 steps are planned.",
        "`decode` is that of the scores above",
        "  beam: 2\n",
    ):
        assert words in card, words
    assert "beam: 5" not in card and "| **Average** | **100.00** |" in card


def test_a_card_gives_the_reasons_of_shares(auto_dir):
    _, rest = front_of(model_card(Run(auto_dir)))
    assert "mean share of the rows of a batch, over all steps" in rest and "tokens, of several facets" in rest
    assert "- Sampling: auto" in rest
    assert re.search(r"Why shares changed \(all\):\n\n- step \d+: Koran reduced to .* hardly depend on", rest)


def test_only_the_latest_reasons_are_on_the_card(auto_dir):
    run = replace(digest(Run(auto_dir)), news=tuple(f"step {n}: a_b raised: why" for n in range(20)))
    title, lines = reasons(run)
    assert title == "Why shares changed (the last 8 of 20):"
    assert lines.splitlines()[0] == r"- step 12: a\_b raised: why" and len(lines.splitlines()) == 8


@pytest.mark.parametrize(
    ("fixture", "words"),
    [
        ("mixed_dir", "shuffled together"),
        ("static_dir", "share of the batches."),
        ("bandit_dir", "mean reward is"),
    ],
)
def test_the_card_says_what_shares_were_computed_from(request, fixture, words):
    assert words in how_shared(digest(Run(request.getfixturevalue(fixture))))
