"""What is shown where there is no terminal."""

from facetmt.train.display import EVERY, PlainProgress, PlainStages, work_progress


def test_long_work_is_told_now_and_then_with_the_time_left(capsys):
    now = [0.0]
    tell = PlainProgress("translating", "sentences", clock=lambda: now[0])
    for seconds, done in ((1, 50), (EVERY, 200), (EVERY + 1, 250), (60, 1500)):
        now[0] = seconds
        tell(done, done / 2000)
    tell(1600, None)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "translating: 200 sentences, 10%, about 0:01:30 left",
        "translating: 1,500 sentences, 75%, about 0:00:20 left",
    ]


def test_where_the_end_is_not_known_only_the_count_is_told(capsys):
    now = [0.0]
    tell = PlainProgress("translating", "lines", clock=lambda: now[0])
    now[0] = EVERY
    tell(1234, None)
    assert capsys.readouterr().err == "translating: 1,234 lines\n"


def test_short_work_says_nothing(capsys):
    with work_progress("translating", "lines") as tell:
        tell(3, 1.0)
    assert capsys.readouterr().err == ""


def test_stages_are_told_now_and_then(capsys):
    clock = iter([0.0, 0.2, 0.9, 1.5, 3.0, 6.6, 6.7, 7.8]).__next__
    tell = PlainStages(clock)
    for step in (
        ("scan", 1, 2),
        ("sample", 5, 10),  # what is soon done says nothing
        ("vocabulary", 0, 1),
        ("vocabulary", 0, 1),
        ("vocabulary", 1, 1),
        ("encode", 1, 2000),
        ("encode", 1200, 2000),
    ):
        tell(*step)
    assert capsys.readouterr().err == "vocabulary 0/1\nvocabulary 1/1\nencode 1,200/2,000\n"
