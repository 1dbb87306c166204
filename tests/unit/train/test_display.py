"""What is shown during training: plain lines, and the live line on a terminal."""

import sys

import pytest

from facetmt.errors import UserError
from facetmt.train.display import LiveLine, PlainLines, describe, describe_validation, watch

ROW = {"step": 1200, "loss": 2.3456, "tokens_per_second": 12345.6, "seconds": 60.4}
SHARES = {"it": 0.1, "law": 0.5, "[bold]": 0.25, "koran": 0.15}
VALIDATED = {"step": 1200, "loss": {"average": 2.5}, "bleu": {"average": 12.34}}


def test_the_largest_shares_come_first():
    assert describe(ROW, SHARES) == "loss 2.346  12,346 tokens/s  law 50% [bold] 25% koran 15%"
    assert describe({**ROW, "loss": None}, {}).startswith("loss  –")


def test_a_validation_says_whether_it_is_the_best():
    assert describe_validation(VALIDATED, True) == "step 1,200: dev loss 2.500  dev BLEU 12.3  (best so far)"
    assert describe_validation(VALIDATED, False).endswith("dev BLEU 12.3")


def test_plain_lines_go_to_standard_error(tmp_path, capsys):
    (lines,) = watch(tmp_path, 4000, 0, tensorboard=False)
    assert isinstance(lines, PlainLines)
    lines.metrics(ROW, SHARES)
    lines.validation(VALIDATED, False)
    lines.close()
    said = capsys.readouterr()
    assert said.err.splitlines()[0].startswith("step 1,200/4,000  loss 2.346") and said.out == ""
    assert said.err.splitlines()[0].endswith("  60 s") and "dev BLEU" in said.err.splitlines()[1]


def test_a_terminal_gets_a_live_line_in_which_names_are_no_markup(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    (line,) = watch(tmp_path, 4000, 0, tensorboard=False)
    assert isinstance(line, LiveLine)
    line.metrics(ROW, SHARES)
    line.say("resumed at [step] 5")
    line.close()
    said = capsys.readouterr().err
    assert "1,200/4,000" in said and "[bold] 25%" in said and "resumed at [step] 5" in said


def test_a_missing_tensorboard_is_the_users_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(UserError, match="the package tensorboardX is missing; pip install"):
        watch(tmp_path, 10, 0, tensorboard=True)
