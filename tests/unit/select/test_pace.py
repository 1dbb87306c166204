"""Rate and time left, with a clock that the test turns."""

import pytest

from facetmt.select.pace import EVERY, Pace, duration, plain_lines


def test_the_rate_counts_neither_what_was_there_nor_the_first_portion():
    told, now = [], [0.0]
    pace = Pace("scoring it", "pairs", 10_000, lambda text, done: told.append(text), lambda: now[0])
    pace.skipped(4000)
    now[0] = 60.0  # it takes a minute to compile
    pace.worked(1000)
    now[0] = 62.0
    pace.worked(1000)
    now[0] = 66.0
    pace.worked(4000)
    assert told == [
        "scoring it: 4,000/10,000 pairs",
        "scoring it: 5,000/10,000 pairs",
        "scoring it: 6,000/10,000 pairs, 500 pairs/s, 8 s left",
        "scoring it: 10,000/10,000 pairs, 833 pairs/s",
    ]


def test_without_a_terminal_there_is_a_line_now_and_then_and_one_at_the_end(capsys):
    now = [0.0]
    show = plain_lines(3, lambda: now[0])
    for done, seconds in ((0, 1), (1, EVERY + 1), (2, EVERY + 2), (3, EVERY + 3)):
        now[0] = seconds
        show(f"{done} done", done)
    assert capsys.readouterr().err == "1 done\n3 done\n"


@pytest.mark.parametrize(
    ("seconds", "text"), [(7, "7 s"), (99, "99 s"), (720, "12 min"), (12_600, "3.5 h"), (360_000, "100.0 h")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text
