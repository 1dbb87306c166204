import json
import shutil

import pytest

from facetmt.report.outcomes import plain
from facetmt.report.significance import interval, of_mean
from facetmt.report.systems import group_systems, scoreboard, step_seconds
from facetmt.runlog import Run


def test_seeds_of_one_recipe_are_one_system(seeds, mixed_dir):
    systems = group_systems([Run(mixed_dir), *seeds])
    assert [(system.name, system.kind, len(system.outcomes)) for system in systems] == [
        ("mixed", "Base", 1),
        ("s1 (3 seeds)", "Bandit", 3),
    ]


def test_the_same_seed_twice_is_two_systems(seeds):
    assert [len(system.outcomes) for system in group_systems([seeds[0], seeds[1], seeds[0]])] == [2, 1]


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


def test_marks_tell_better_from_worse(fake, seeds, tmp_path):
    perfect = fake.rewritten(
        seeds[0], tmp_path / "perfect", lambda row: {**row, "hypothesis": row["reference"]}
    )
    for first, second, mark in ((seeds[0], perfect, "++"), (perfect, seeds[0], "--")):
        board = scoreboard([first, second])
        law = [column.name for column in board.columns].index("Law")
        assert [row[law].mark for row in board.cells] == ["", mark]
        assert "+ better, - worse" in board.notes[0]


def test_intervals_are_those_of_sacrebleu_alone_or_beside_a_rival(seeds):
    alone, beside = (
        scoreboard(seeds[:1], intervals=True),
        scoreboard([seeds[0], other_system(seeds)], intervals=True),
    )
    for column, one, two in zip(alone.columns, alone.cells[0], beside.cells[0], strict=True):
        if column.kind == "facet":
            assert one.interval == pytest.approx(interval(plain(seeds[0]), column.name, "bleu"))
        assert (one.interval is None) == (column.kind == "group")
        assert two.interval == (None if one.interval is None else pytest.approx(one.interval, rel=0.02))
    halves = [
        one.interval
        for column, one in zip(alone.columns, alone.cells[0], strict=True)
        if column.kind == "facet"
    ]
    assert alone.cells[0][0].interval == pytest.approx(of_mean(halves)) and 0 < alone.cells[0][
        0
    ].interval < max(halves)
    assert all(
        one.interval is None for one in scoreboard(seeds, intervals=True).cells[0]
    )  # seeds have a deviation


def other_system(seeds):
    """A run of another seed under another recipe, so that it is no seed of the same system."""
    copy = shutil.copytree(seeds[1].directory, seeds[1].directory.with_name("other"), dirs_exist_ok=True)
    recipe = copy / "recipe.yaml"
    recipe.write_text(recipe.read_text("utf-8").replace("exploration: 0.25", "exploration: 0.5"), "utf-8")
    return Run(copy)


def test_named_outcomes_are_rows_of_their_own(fake, seeds, tmp_path):
    copy = shutil.copytree(seeds[0].directory, tmp_path / "tagged")
    fake.write_outcome(copy, "natural-tag", lambda row: row["reference"], tag="natural")
    board = scoreboard([Run(copy)])
    assert [system.name for system in board.systems] == ["tagged", "tagged [natural-tag]"]
    assert (
        board.cells[1][0].mean == pytest.approx(100) and board.cells[1][0].best and not board.cells[0][0].best
    )
    assert board.cells[1][1].mark == "++"
    (copy / "scores.json").unlink()
    assert [system.name for system in scoreboard([Run(copy)]).systems] == ["tagged [natural-tag]"]


def log_times(directory, train, probe=None):
    rows = [
        {"step": 10 * place, "time": {"train": seconds, **({"probe": probe[place - 1]} if probe else {})}}
        for place, seconds in enumerate(train, start=1)
    ]
    (directory / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return step_seconds(Run(directory))


def test_a_step_costs_what_it_costs_however_often_the_run_was_resumed(seeds, tmp_path):
    run = shutil.copytree(seeds[0].directory, tmp_path / "x")
    steady = log_times(run, [30, 31, 32, 33, 34])  # the first line has 29 seconds of compiling
    assert steady == pytest.approx(0.1)
    assert log_times(run, [30, 31, 61, 62, 63]) == pytest.approx(steady)  # compiled anew at the third
    assert log_times(run, [30, 60, 61]) == pytest.approx(steady)
    assert log_times(run, [30]) is None
    # probes in every second window, 2 seconds each; the second one compiled for 20 more
    assert log_times(run, [1, 2, 3, 4, 5], [0, 2, 2, 24, 24]) == pytest.approx(0.1 + 2 * 2 / 40)


def test_systems_are_grouped_by_their_policies(mixed_dir, auto_dir, blend_dir):
    systems = group_systems([Run(directory) for directory in (mixed_dir, auto_dir, blend_dir)])
    assert [system.kind for system in systems] == ["Base", "Auto", "Bandit"]


def test_runs_named_by_their_seed_are_called_by_their_folder_unless_that_says_too_little(fake, tmp_path):
    for folder, policy, seeds in (("a", "exp3", (1, 2)), ("b", "mixed", (7,))):
        for seed in seeds:
            fake.write_run(
                tmp_path / folder / str(seed), policy=policy, seed=seed, steps=20, sentences=2, validations=1
            )
    study = [Run(tmp_path / name) for name in ("a/1", "a/2", "b/7")]
    assert [system.name for system in group_systems(study)] == ["a (2 seeds)", "b"]
    assert group_systems(study)[0].rows == ("a/1", "a/2")
    shutil.copytree(tmp_path / "b" / "7", tmp_path / "a" / "7")
    one_folder = [Run(tmp_path / name) for name in ("a/1", "a/7")]
    assert [system.name for system in group_systems(one_folder)] == ["a/1", "a/7"]
