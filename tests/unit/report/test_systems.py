import json
import shutil

import pytest

from facetmt.report.significance import agreed, p_values, paired_test
from facetmt.report.systems import group_systems, scoreboard
from facetmt.runlog import Run


@pytest.fixture(scope="module")
def seeds(fake, tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    return [Run(fake.write_run(folder / f"s{n}", steps=200, seed=n, sentences=40)) for n in (1, 2, 3)]


def rewritten(run, copy, change):
    """A copy of a run in which every hypothesis of a facet is changed."""
    directory = shutil.copytree(run.directory, copy)
    for path in (directory / "translations").iterdir():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        path.write_text("".join(json.dumps(change(row)) + "\n" for row in rows), encoding="utf-8")
    return Run(directory)


def test_seeds_of_one_recipe_are_one_system(seeds, mixed_dir):
    systems = group_systems([Run(mixed_dir), *seeds])
    assert [(system.name, system.kind, len(system.runs)) for system in systems] == [
        ("mixed", "Base", 1),
        ("s1 (3 seeds)", "Bandit", 3),
    ]


def test_the_same_seed_twice_is_two_systems(seeds):
    assert [len(system.runs) for system in group_systems([seeds[0], seeds[1], seeds[0]])] == [2, 1]


def test_mean_and_deviation_over_seeds(seeds):
    board = scoreboard(seeds)
    cell = board.cells[0][0]
    scores = [run.scores["average"]["bleu"] for run in seeds]
    mean = sum(scores) / 3
    assert cell.mean == pytest.approx(mean)
    assert cell.std == pytest.approx((sum((score - mean) ** 2 for score in scores) / 2) ** 0.5)
    assert not cell.best  # alone, nobody is best


def test_columns_are_average_facets_groups(seeds, fake, tmp_path):
    assert [column.name for column in scoreboard(seeds).columns] == [
        "Avg",
        "Med",
        "IT",
        "Law",
        "Koran",
        "Subs",
        "Small",
    ]
    many = fake.write_run(tmp_path / "many", sizes=fake.many_facets(20), steps=50, sentences=2, validations=1)
    kinds = [column.kind for column in scoreboard([Run(many)]).columns]
    assert kinds == ["average", "group", *["facet"] * 20]


def test_the_best_is_marked_and_equals_share_it(seeds, tmp_path):
    board = scoreboard([seeds[0], Run(shutil.copytree(seeds[0].directory, tmp_path / "same"))])
    assert all(cell.best for row in board.cells for cell in row)


def test_a_clear_difference_is_significant_and_a_copy_is_not(seeds, tmp_path):
    perfect = rewritten(seeds[0], tmp_path / "perfect", lambda row: {**row, "hypothesis": row["reference"]})
    same = rewritten(seeds[0], tmp_path / "same", lambda row: row)
    p, gain = paired_test(seeds[0], perfect, "Law", "bleu")
    assert p < 0.01 and gain > 0
    assert paired_test(seeds[0], same, "Law", "bleu") == (1.0, 0.0)
    assert paired_test(seeds[0], perfect, "Law", "chrf")[0] < 0.01


def test_other_sentences_cannot_be_compared(seeds, tmp_path):
    other = rewritten(seeds[0], tmp_path / "other", lambda row: {**row, "reference": row["reference"] + " x"})
    assert paired_test(seeds[0], other, "Law", "bleu") is None
    tested = p_values([[seeds[0]], [other]], ["Law"], "bleu")
    assert tested.values == {} and "Not tested for chance" in tested.notes[0]
    assert paired_test(seeds[0], other, "no such facet", "bleu") is None


def test_seeds_must_agree():
    assert agreed([(0.01, 1.0), (0.04, 0.5)], 2) == 0.04
    assert agreed([(0.01, 1.0), (0.01, -1.0)], 2) == 1.0
    assert agreed([(0.01, 1.0)], 2) is None


def test_a_page_does_not_test_for_hours(seeds):
    tested = p_values([[seeds[0]], [seeds[1]]], ["Law", "IT"], "bleu", most_lines=100)
    assert tested.values == {} and "facetmt compare" in tested.notes[0]
