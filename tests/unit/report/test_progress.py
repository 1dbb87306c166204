from dataclasses import replace

import pytest

from facetmt.report.digest import digest
from facetmt.report.page.headline import reach_card
from facetmt.report.progress import PARTS, best, judged, reached, seconds_by_part, share_of, standings
from facetmt.runlog import Run


def validated(run, scores):
    rows = tuple(
        {"step": 100 * place, "seconds": 10.0 * place, "bleu": {"average": score}, "loss": {"average": 1.0}}
        for place, score in enumerate(scores, start=1)
    )
    return replace(run, validation=rows)


@pytest.fixture(scope="module")
def run(bandit_dir):
    return digest(Run(bandit_dir))


def test_the_earliest_of_equal_scores_is_the_best(run):
    assert best(validated(run, [1, 5, 5, 2])).step == 200
    assert best(validated(run, [])) is None


def test_time_to_the_baselines_best(run):
    base, fast, slow = (
        validated(run, scores) for scores in ([10, 20, 30, 29], [15, 31, 32, 33], [1, 2, 3, 4])
    )
    first, second, third = standings([base, fast, slow])
    assert first.step_ratio == 1 and first.gain is None
    assert second.step_ratio == pytest.approx(2 / 3) and second.time_ratio == pytest.approx(2 / 3)
    assert third.reach is None and third.time_ratio is None
    assert reached(fast, 31).step == 200


def test_the_test_score_decides_only_where_all_have_one(run, fake, tmp_path):
    unscored = digest(Run(fake.write_run(tmp_path / "x", steps=300, scored=False)))
    assert judged(standings([run, run]))[0] == "test"
    kind, winner = judged(standings([validated(unscored, [50]), run]))
    assert kind == "dev" and winner.dev.bleu == 50
    assert judged(standings([validated(unscored, [])])) is None
    assert standings([validated(unscored, [50]), validated(run, [52])])[1].gain == pytest.approx(2)


def test_the_parts_of_the_time_add_up(run):
    parts = seconds_by_part(run)
    assert tuple(parts) == PARTS and sum(parts.values()) == pytest.approx(run.seconds, rel=0.01)
    assert share_of(run, "reward passes") == pytest.approx(0.21 / 1.21, rel=0.2)


def test_compiling_and_measurements_are_parts_of_the_time(run, auto_dir):
    parts = seconds_by_part(digest(Run(auto_dir)))
    assert parts["compiling"] == 8.0 and parts["measurements"] > 0 and parts["reward passes"] == 0
    older = [{key: value for key, value in row["time"].items() if key != "compile"} for row in run.metrics]
    rows = tuple({**row, "time": time} for row, time in zip(run.metrics, older, strict=True))
    assert seconds_by_part(replace(run, metrics=rows))["compiling"] == 0.0


def test_rewards_that_were_not_measured_cost_nothing_known(run):
    silent = replace(
        run, metrics=tuple({k: v for k, v in row.items() if k != "reward_share"} for row in run.metrics)
    )
    assert seconds_by_part(silent)["reward passes"] == 0
    assert (
        seconds_by_part(replace(run, metrics=())) is None
        and share_of(replace(run, metrics=()), "saving") is None
    )


def test_a_score_that_was_not_reached_differs_from_the_score_that_was(run):
    base, slow = standings([validated(run, [0.1004]), validated(run, [0.0996])])
    assert "has not reached 0.1004 dev BLEU (best 0.0996)" in reach_card(slow, base)
