import json
import shutil

import pytest

from facetmt.report.outcomes import Outcome, all_outcomes, described, numbered, plain, same_text
from facetmt.runlog import Run


@pytest.fixture
def copy(tmp_path, bandit_dir):
    return shutil.copytree(bandit_dir, tmp_path / "copy")


def test_the_plain_outcome_comes_first_and_names_label_the_others(copy, fake):
    fake.write_outcome(copy, "tagged", lambda row: row["reference"], tag="Law")
    first, second = all_outcomes(Run(copy))
    assert (first.label("x"), second.label("x")) == ("x", "x [tagged]") and first == plain(Run(copy))
    assert second.decoding["tag"] == "Law" and "batch" not in second.decoding
    rows = list(second.translations("Law"))
    assert all(row["hypothesis"] == row["reference"] for row in rows)
    assert second.few_translations("Law", 1) == rows[-1:]


def test_text_is_the_same_by_its_hash_or_by_itself(copy, bandit_dir):
    one, two = plain(Run(bandit_dir)), plain(Run(copy))
    assert same_text(one, two, "Law") is True
    path = copy / "translations" / "Law.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps({**row, "source": "other"}) + "\n" for row in rows), "utf-8")
    assert same_text(one, two, "Law") is False  # a file that changed is read again
    path.unlink()
    assert same_text(one, two, "Law") is None


def test_checkpoint_and_decoding_in_words(bandit_dir):
    scores = {"steps": [30, 20], "decode": {"beam": 5, "length_penalty": 0.6, "batch": 9}}
    assert (
        described(Outcome(Run(bandit_dir), "", scores))
        == "the mean of steps 20, 30, beam 5, length penalty 0.6"
    )
    assert described(Outcome(Run(bandit_dir), "", {})) == "–" and numbered([1200]) == "step 1,200"
