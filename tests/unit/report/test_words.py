import pytest

from facetmt.report.words import apart, duration, listed, plural, signed


def test_scores_are_shown_with_as_many_decimals_as_tell_them_apart():
    assert apart(0.14, 0.11) == ("0.14", "0.11") and apart(20.0, 3.0) == ("20.0", "3.0")
    assert apart(1.0, 1.0) == ("1.000000", "1.000000")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h")]
)
def test_durations(seconds, shown):
    assert duration(seconds) == shown


def test_counts_signs_and_lists():
    assert plural(1, "facet") == "1 facet" and plural(1200, "facet") == "1,200 facets"
    assert signed(-0.5) == "−0.50" and signed(0.5) == "+0.50"
    assert listed(list("abcde")) == "a, b, c, d, e" and listed(list("abcdefg")) == "a, b, c, d, e and 2 more"
