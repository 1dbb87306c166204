"""Labels from margins, and the options that make no sense together."""

from pathlib import Path

import numpy as np
import pytest

from facetmt.errors import UserError
from facetmt.select.language_models import LabelConfig
from facetmt.select.translationese import agreement, as_lines, label, label_file, work_folder

A, B = Path("a"), Path("b")


class Labeller:
    """A line is natural if it starts with n."""

    portion, about = 2, {"models": "none"}

    def margins(self, lines, check):
        return np.array([1.0 if line.startswith("n") else -1.0 for line in lines])


def test_every_line_gets_a_label_and_the_shares_are_those_of_the_file(tmp_path):
    text, out = tmp_path / "text", tmp_path / "text.facet"
    text.write_text("nature\ntranslation\nx\n\nnn", encoding="utf-8")
    shares = label_file(Labeller(), text, out)
    labels = ["natural", *["translationese"] * 3, "natural"]
    assert out.read_text(encoding="utf-8").split() == labels
    assert shares == pytest.approx({"natural": 0.4, "translationese": 0.6})
    assert work_folder(out).is_dir()


def test_an_empty_text_and_a_folder_that_cannot_be_written_are_refused(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(UserError, match="empty: the file is empty; give one with text"):
        label_file(Labeller(), tmp_path / "empty", tmp_path / "out")
    (tmp_path / "text").write_text("nature\n", encoding="utf-8")
    (tmp_path / "out").mkdir()
    with pytest.raises(
        UserError, match=r"out: cannot write there .*; make room, then run the same command again"
    ):
        label_file(Labeller(), tmp_path / "text", tmp_path / "out")


def test_labels_are_written_in_portions(monkeypatch):
    monkeypatch.setattr("facetmt.select.translationese.PORTION", 2)
    assert as_lines(np.array([True, False, True])) == b"natural\ntranslationese\nnatural\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((A, None, [], [], None), "give --natural with --translated"),
        ((None, None, [A, B], [A], None), "an --out for each --text"),
        ((None, None, [], [], None), "nothing to do; give"),
        ((None, None, [A, B], [A, B], A), "--gold a: .* give exactly one --text"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(given, expected, tmp_path):
    with pytest.raises(UserError, match=expected):
        label(tmp_path / "models", *given, LabelConfig())
    assert not (tmp_path / "models").exists()


def test_agreement_counts_the_lines_whose_truth_is_known(tmp_path):
    labels, gold = tmp_path / "labels", tmp_path / "gold"
    labels.write_text("natural\nnatural\ntranslationese\n", encoding="utf-8")
    gold.write_text("natural\ntranslationese\n\n", encoding="utf-8")
    assert agreement(labels, gold) == 0.5
    gold.write_text("natural\nhuman\nnatural\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"gold: not labels \(\['human'\]\); write natural or translationese"):
        agreement(labels, gold)
