"""Progress with a clock that the test turns, and tables of names that look like markup."""

import pytest

from facetmt.console import SAME, Lines, Pace, duration, print_line, print_table, progress, say, stages


def pace(total, unit="pairs"):
    """A pace, its clock, and what it said."""
    told, now = [], [0.0]
    return Pace("scoring it", unit, total, lambda text, *_: told.append(text), lambda: now[0]), now, told


def test_the_rate_counts_neither_what_was_there_nor_the_first_portion():
    work, now, told = pace(10_000)
    work.skipped(4000)
    now[0] = 60.0  # it takes a minute to compile
    work.worked(1000)
    now[0] = 62.0
    work.worked(1000)
    now[0] = 66.0
    work.worked(4000)
    assert told == [
        "scoring it: 4,000/10,000 pairs",
        "scoring it: 5,000/10,000 pairs",
        "scoring it: 6,000/10,000 pairs, 500 pairs/s, 8 s left",
        "scoring it: 10,000/10,000 pairs, 833 pairs/s",
    ]


def test_where_the_total_is_not_known_a_share_gives_the_time_left():
    work, now, told = pace(None, "lines")
    for seconds, done, share in ((1, 100, 0.1), (3, 300, 0.3), (4, 400, None)):
        now[0] = seconds
        work.reached(done, share)
    assert told == [
        "scoring it: 100 lines",
        "scoring it: 300 lines, 100 lines/s, 7 s left",
        "scoring it: 400 lines, 100 lines/s",
    ]


def test_work_without_a_unit_has_no_rate():
    work, now, told = pace(1000, "")
    work.reached(0)
    now[0] = 10.0
    work.reached(500)
    assert told == ["scoring it: 0/1,000", "scoring it: 500/1,000, 10 s left"]


def test_without_a_terminal_there_is_a_line_now_and_then_and_one_at_the_end(capsys):
    now = [0.0]
    lines = Lines(lambda: now[0])
    for seconds, done in ((0.5, 0), (2, 1), (3, 2), (SAME + 2, 3), (SAME + 3, 4), (SAME + 4, 4)):
        now[0] = seconds
        lines.show("work", f"{done} done", done == 4)
    assert capsys.readouterr().err == "1 done\n3 done\n4 done\n"


def test_a_new_stage_is_mentioned_sooner_than_the_same_one_again(capsys):
    clock = iter([0.0, 0.2, 0.9, 1.5, 3.0, 6.6, 6.7, 7.8]).__next__
    lines = Lines(clock)
    for stage, done, total in (
        ("scan", 1, 2),
        ("sample", 5, 10),  # what is soon done says nothing
        ("vocabulary", 0, 1),
        ("vocabulary", 0, 1),
        ("vocabulary", 1, 1),
        ("encode", 1, 2000),
        ("encode", 1200, 2000),
    ):
        lines.show(stage, f"{stage} {done:,}/{total:,}", done >= total)
    assert capsys.readouterr().err == "vocabulary 0/1\nvocabulary 1/1\nencode 1,200/2,000\n"


def test_short_work_says_nothing(capsys):
    with progress("translating", "lines", 3) as work:
        work.worked(3)
    with stages() as tell:
        tell("scan", 1, 1)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_there_are_bars(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with stages() as tell:
        tell("[bold] encode", 1, 3)
        tell("store", 2, 0)
    said = capsys.readouterr()
    assert "[bold] encode: 1/3" in said.err and "store: 2 " in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(7, "7 s"), (99, "99 s"), (720, "12 min"), (12_600, "3.5 h"), (360_000, "100.0 h")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_results_and_remarks_go_apart_and_names_are_no_markup(capsys):
    print_table(("facet", "BLEU"), [("[bold]", "1.00")], title="Scores", left=("facet",), bold=("[bold]",))
    print_line("[red]it: " + "x" * 200)
    say("a remark")
    said = capsys.readouterr()
    assert "[bold]" in said.out and f"[red]it: {'x' * 200}\n" in said.out and said.err == "a remark\n"
