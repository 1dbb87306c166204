import pytest

from facetmt.report.page.markup import Cell, chart, number_cell, panel, row_html, table_html, text_cell

EVIL = '<b>"x"&'


def test_text_from_outside_is_escaped_everywhere():
    for html in (
        row_html([text_cell(EVIL)], facet=EVIL),
        panel(EVIL, EVIL, ""),
        chart("key", EVIL, EVIL, EVIL),
    ):
        assert EVIL not in html and "&lt;b&gt;&quot;x&quot;&amp;" in html


@pytest.mark.parametrize(
    ("value", "html", "key"),
    [
        (1.5, "1.50", 1.5),
        (-1.5, "−1.50", -1.5),
        (None, "–", float("-inf")),
        (float("nan"), "–", float("-inf")),
    ],
)
def test_numbers_sort_by_their_value_and_missing_ones_come_last(value, html, key):
    assert number_cell(value) == Cell(html, key)


def test_only_sortable_tables_have_headings_to_click():
    assert 'data-sort="1"' in table_html(["A"], [], sortable=True)
    assert "data-sort" not in table_html(["A"], []) and "tall" in table_html(["A"], [], tall=True)


def test_a_panel_of_one_run_has_room_for_its_name():
    assert "run-name" in panel("x", "y", "z", per_run=True) and "run-name" not in panel("x", "y", "z")
