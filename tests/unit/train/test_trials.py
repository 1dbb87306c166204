"""The grid, the folders and locks of settings, and what people read at the end of a search."""

import pytest

from facetmt.errors import UserError
from facetmt.files import claimed
from facetmt.train.interrupt import EXIT_CODE
from facetmt.train.trials import (
    PAPER_GRID,
    Trial,
    exit_code,
    lock_of,
    parse_grid,
    print_trials,
    run_name,
)

DONE = Trial({"schedule.tau": 1}, 12.345, "complete", "tau=1-abc")
FAILED = Trial({"schedule.tau": None}, None, "failed", "tau=None-def", "the disk is full")


def test_values_are_read_as_in_a_recipe():
    assert parse_grid(["train.patience=null,3", "data.target=no,de", "schedule.tau=1e-3,.inf,true"]) == {
        "train.patience": [None, 3],
        "data.target": ["no", "de"],
        "schedule.tau": [0.001, float("inf"), True],
    }
    assert parse_grid([]) == PAPER_GRID
    for word in ("schedule.tau", "schedule.tau=", "=1,2"):
        with pytest.raises(UserError, match=f"--grid {word}: write it as key=value"):
            parse_grid([word])
    with pytest.raises(UserError, match=r"--grid a=\[1,2\],3: the values must be numbers, words"):
        parse_grid(["a=[1,2],3"])


def test_a_setting_has_its_own_folder_whatever_the_order_of_its_keys():
    assert (
        run_name({"a.x": 1, "b": "é/.."}) == run_name({"a.x": 1, "b": "é/.."}) != run_name({"a.x": 1, "b": 2})
    )
    assert run_name({"a": 1, "b": 2})[-6:] == run_name({"b": 2, "a": 1})[-6:]
    assert "/" not in run_name({"b": "../x"})


def test_a_claimed_run_is_free_again_afterwards(tmp_path):
    with claimed(lock_of(tmp_path / "run")) as free, claimed(lock_of(tmp_path / "run")) as second:
        assert free and not second
    with claimed(lock_of(tmp_path / "run")) as free:
        assert free


def test_the_table_shows_every_setting(capsys):
    print_trials(["schedule.tau"], [DONE, FAILED])
    said = capsys.readouterr().out
    assert "12.35" in said or "12.34" in said
    assert "–" in said and "failed" in said and "tau=1-abc" in said


def test_the_exit_code_says_how_the_search_ended(capsys):
    assert exit_code([DONE], True) == 0
    assert exit_code([DONE, FAILED], False) == EXIT_CODE
    assert "run the same command again to continue" in capsys.readouterr().err
    with pytest.raises(UserError, match="1 settings failed; the first, tau=None-def: the disk is full"):
        exit_code([DONE, FAILED], True)
