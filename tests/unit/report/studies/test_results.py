"""Tables and plots: right, escaped, and the same bytes each time."""

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.errors import UserError
from facetmt.report.studies.kept import write_summary
from facetmt.report.studies.overview import gains, overview
from facetmt.report.studies.plots import PLOTS
from facetmt.report.studies.results import filled, write_results
from facetmt.report.studies.rows import mean_curve, rows_of
from facetmt.report.studies.svg import shown, spanned, ticks
from facetmt.report.studies.tables import TABLES, by_system


@pytest.fixture
def studies(study_dir, tmp_path):
    """A folder of summaries, as it is kept beside the code."""
    for name in ("A", "B"):
        (tmp_path / "studies" / name).mkdir(parents=True)
        shutil.copy(write_summary(study_dir), tmp_path / "studies" / name)
    return tmp_path / "studies"


def rows(table):
    """Cells of a Markdown table; an escaped bar is no border."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert len({len(row) for row in cells}) == 1
    return cells[:1] + cells[2:]


def test_scores_are_means_over_seeds_baseline_first_few_seeds_marked(content):
    table = TABLES["bleu"](content)
    head, *body = rows(table)
    assert head == ["system", "seeds", "Avg", "Small", "Med", "IT", "Law", "Koran", "Subs"]
    assert [row[:2] for row in body] == [["take-it-all", "3"], ["uniform †", "1"], [r"EXP3 \| \<b\>", "3"]]
    cells = content["systems"]["take-it-all"]["cells"].values()
    values = [cell["test"]["facets"]["Law"]["bleu"] for cell in cells]
    assert f"{fmean(values):.2f} ± {stdev(values):.2f}" in body[0][6]
    assert "±" not in body[1][2]
    for column in range(2, len(head)):
        means = [float(row[column].strip("*+- ").split()[0].strip("*")) for row in body]
        bold = [row[column].startswith("**") for row in body]
        assert bold == [mean == max(means) for mean in means]
    for text in ("† fewer than 3 seeds.", "Not finished: late,1.", "paired bootstrap", "BLEU: nrefs:1"):
        assert text in table


def test_a_caveat_of_all_seeds_names_the_system_alone(content):
    rows = rows_of(content)  # three seeds, one, three
    names = ["uniform/1", "EXP3 | <b>/1", "EXP3 | <b>/2", "EXP3 | <b>/3", "take-it-all/2"]
    assert by_system(f"{', '.join(names)}: what", rows) == "uniform, EXP3 | <b>, take-it-all/2: what"


def test_marks_are_those_of_the_significance(content):
    changed = json.loads(json.dumps(content))
    tested = changed["systems"]["uniform"]["significance"]
    tested["Law"], tested["IT"], tested["Med"] = (
        {"p": 0.004, "gain": 2},
        {"p": 0.03, "gain": -1},
        {"p": 0.2, "gain": 1},
    )
    head, _, uniform, _ = rows(TABLES["bleu"](changed))
    marks = {
        name: cell.rpartition(" ")[2].strip("*.0123456789") for name, cell in zip(head, uniform, strict=True)
    }
    assert (marks["Law"], marks["IT"], marks["Med"]) == ("++", "-", "")
    assert "+" not in TABLES["chrf"](changed).split("\n- ")[0]  # only BLEU was tested


def test_the_way_to_the_baselines_best_counts_only_if_all_seeds_reach_it(content):
    changed = json.loads(json.dumps(content))
    base = changed["systems"]["take-it-all"]["cells"]
    cells = changed["systems"]["EXP3 | <b>"]["cells"]
    for seed, cell in cells.items():
        cell["dev"]["reach"]["step"] = base[seed]["dev"]["reach"]["step"] / 2
        cell["timing"]["reach_seconds"] = 3 * base[seed]["timing"]["reach_seconds"]
    _, first, _, exp3 = rows(TABLES["speed"](changed))
    assert first[4] == first[6] == "100%" and exp3[4] == "50%" and exp3[6] == "300%"
    cells["2"]["dev"]["reach"]["step"] = cells["2"]["timing"]["reach_seconds"] = None
    _, _, _, exp3 = rows(TABLES["speed"](changed))
    assert exp3[3:7] == ["reached by 2 of 3 seeds", "–", "reached by 2 of 3 seeds", "–"]
    for cell in cells.values():
        cell["dev"]["reach"]["step"] = None
    assert rows(TABLES["speed"](changed))[3][3] == "not reached"


def test_shares_losses_and_settings(content):
    head, pairs, *body = rows(TABLES["shares"](content))
    assert head[2:] == list(content["sizes"]) and pairs[2] == "248,000"
    assert sum(float(cell.split("%")[0]) for cell in body[2][2:]) == pytest.approx(100, abs=0.5)
    _, *body = rows(TABLES["loss"](content))
    means = [float(row[2].strip("*").split()[0]) for row in body]
    assert [row[2].startswith("**") for row in body] == [mean == min(means) for mean in means]
    settings = TABLES["settings"](content)
    assert "`{schedule: {policy: mixed}}`" in settings and "1, 2, 3" in settings
    assert content["recipe_sha256"][:16] in settings and "Run with cores 1; facetmt 0.2.0." in settings


@pytest.mark.parametrize("kind", PLOTS)
def test_plots_are_well_formed_and_name_every_system_or_facet(content, kind):
    text = PLOTS[kind](content)
    root = ElementTree.fromstring(text)  # of our own making
    words = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "nan" not in text
    if kind == "shares":
        assert set(content["sizes"]) <= set(words) and "EXP3 | <b> (3 seeds)" in words
        assert "uniform (1 seed)" not in words  # its shares never move
    else:
        assert {"take-it-all (3 seeds)", "uniform (1 seed)", "EXP3 | <b> (3 seeds)"} <= set(words)
    box = [float(number) for number in root.attrib["viewBox"].split()]
    for element in root.iter():
        for x, y in [pair.split(",") for pair in element.attrib.get("points", "").split()]:
            assert 0 <= float(x) <= box[2] and 0 <= float(y) <= box[3]


def test_the_overview_has_the_gain_of_each_system_with_enough_seeds(content):
    [(name, mean, std)] = gains(rows_of(content))
    base, exp3 = (content["systems"][one]["cells"] for one in ("take-it-all", "EXP3 | <b>"))
    own = [exp3[seed]["test"]["average"]["bleu"] - base[seed]["test"]["average"]["bleu"] for seed in base]
    assert (name, mean, std) == ("EXP3 | <b>", pytest.approx(fmean(own)), pytest.approx(stdev(own)))
    words = [one.text for one in ElementTree.fromstring(overview({"A": content, "B": content})).iter()]
    assert words.count("EXP3 | <b>") == 2 and "uniform" not in words
    assert "A: 60 steps, 3 seeds; baseline: take-it-all" in words


def test_without_enough_seeds_or_a_baseline_there_is_no_overview(content):
    changed = json.loads(json.dumps(content))
    changed["systems"]["take-it-all"]["cells"] = {}
    assert overview({"A": changed}) is None
    changed = json.loads(json.dumps(content))
    del changed["systems"]["EXP3 | <b>"]["cells"]["3"]
    assert overview({"A": changed}) is None and overview({}) is None


def test_where_few_facets_count_their_scores_are_shown_not_the_average_of_all(content):
    changed = json.loads(json.dumps(content))
    for number, system in enumerate(changed["systems"].values()):
        for cell in system["cells"].values():
            cell["test"]["groups"]["objective"] = {"bleu": 10.0 * number, "chrf": 0.0}
    assert "test BLEU of the objective" in PLOTS["scores"](changed)
    assert "average test BLEU" in PLOTS["scores"](content)
    assert rows(TABLES["bleu"](changed))[0][2:5] == ["Small", "objective", "Med"]
    [(_, mean, std)] = gains(rows_of(changed))
    assert abs(mean) >= 10 and std == 0


def test_a_study_of_one_unscored_curve_has_no_plot_of_it(content):
    changed = json.loads(json.dumps(content))
    for system in changed["systems"].values():
        for cell in system["cells"].values():
            cell["dev"]["curve"] = {"step": [60], "loss": [1.0], "bleu": [1.0]}
            cell["shares"]["over_time"] = None
    assert PLOTS["bleu"](changed) is None and PLOTS["shares"](changed) is None


def test_a_new_page_has_everything_and_a_second_call_changes_no_byte(studies, tmp_path):
    out = tmp_path / "docs" / "results"
    paths = write_results(studies, out)
    assert paths[0] == tmp_path / "docs" / "results.md"
    names = sorted(path.name for path in out.iterdir())
    assert names == sorted([*(f"{name}.{kind}.svg" for name in "AB" for kind in PLOTS), "overview.svg"])
    before = {path: path.read_bytes() for path in paths}
    assert write_results(studies, out) == paths
    assert {path: path.read_bytes() for path in paths} == before
    page = paths[0].read_text("utf-8")
    assert page.count("<!-- table: A.") == len(TABLES) and "![A: bleu](results/A.bleu.svg)" in page


def test_prose_stays_and_tables_are_made_anew(studies, tmp_path):
    page = tmp_path / "results.md"
    page.write_text(
        "Prose.\n\n<!-- table: B.bleu -->\nold figures\n<!-- end -->\n\nMore | prose.\n", encoding="utf-8"
    )
    write_results(studies, tmp_path / "results")
    text = page.read_text("utf-8")
    assert text.startswith("Prose.\n\n<!-- table: B.bleu -->\n| system |")
    assert text.endswith("<!-- end -->\n\nMore | prose.\n") and "old figures" not in text


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("x\n<!-- table: C.bleu -->\n<!-- end -->", "line 2: .*there is no such study; choose among A"),
        ("<!-- table: A.blue -->\n<!-- end -->", "line 1: .*there is no such table; choose among bleu"),
        ("<!-- table: A.bleu -->\n", "line 1: .*write it as"),
        ("<!-- table: A.bleu -->\n<!-- table: A.loss -->\n<!-- end -->", "line 1: .*write it as"),
        ("<!-- table: A -->\n<!-- end -->", "line 1: .*write it as"),
        ("<!-- table: A.bleu --> x <!-- end -->", "line 1: .*write it as"),
    ],
)
def test_a_wrong_mark_is_named_with_its_line(content, tmp_path, page, said):
    with pytest.raises(UserError, match=said):
        filled(page, {"A": content}, tmp_path / "results.md")


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_round_few_and_inside(low, width):
    found = ticks(low, low + width)
    assert 1 <= len(found) <= 12 and found == sorted(set(found))
    slack = 1e-6 * max(abs(low), width, 1)
    assert all(low - slack <= tick <= low + width + slack for tick in found)


@given(st.lists(st.floats(-1e6, 1e6), max_size=5))
def test_a_span_is_never_empty(values):
    low, high = spanned(values)
    assert low < high and all(low <= value <= high for value in values)


def test_labels_of_ticks():
    assert [shown(value) for value in (0.30000000000000004, -0.0, 12000.0, 2.5)] == [
        "0.3",
        "0",
        "12,000",
        "2.5",
    ]


def test_curves_are_averaged_where_all_seeds_were_validated():
    curves = [{"step": [1, 2, 3], "bleu": [1.0, 2.0, None]}, {"step": [2, 3, 4], "bleu": [4.0, 5.0, 6.0]}]
    assert mean_curve(curves, "bleu") == ([2], [3.0])
