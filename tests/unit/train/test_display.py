"""What is shown where there is no terminal."""

from facetmt.train.display import PlainStages


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
