"""What diagnose says of runs whose logs were written by the real scheduler."""

import numpy as np
import pytest

from facetmt.errors import UserError
from facetmt.report.diagnose import diagnose, diagnosis_text, verdict
from facetmt.runlog import PROBS, PULLS, Run


def read(path):
    return [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]


def write(path, rows):
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")


def with_better(directory, facet, size):
    """Add to the rewards of one facet: what its draws would have brought if it were better."""
    rows = read(directory / PULLS)
    for row in rows[1:]:
        if row[1] == facet:
            row[6] = str(float(row[6]) + size)
    write(directory / PULLS, rows)


@pytest.fixture
def bandit(fake, tmp_path):
    return fake.write_run(tmp_path / "bandit", steps=1200, sentences=2, learning_rate=0.02)


def test_rewards_that_say_nothing(bandit):
    found = diagnose(Run(bandit))
    assert found.replayed and found.rewards == 1200 and found.dropped == 0
    assert not found.found.told.any()
    said = diagnosis_text(Run(bandit))
    assert said.startswith("The reward cannot tell these facets apart within this budget")
    assert "use `auto` or a static mixture" in said.replace("\n", " ").replace("  ", " ")
    assert all(name in said for name in Run(bandit).facets)
    assert "1,200 rewards" in said and "Clipped rewards: " in said and "upper bound" in said


def test_a_facet_that_brings_more_is_named(bandit):
    with_better(bandit, "Law", 0.6)
    found = diagnose(Run(bandit))
    # the policy did not learn from these rewards: π is that of the log points
    assert not found.replayed and "had to be guessed" in diagnosis_text(Run(bandit))
    place = found.facets.index("Law")
    assert found.found.told[place] and found.found.difference[place] == pytest.approx(0.6, abs=0.2)
    assert verdict(found).startswith("The reward tells Law (+0.")


@pytest.mark.parametrize(
    "settings",
    [
        {"feedback_lag": 1},
        {"policy": "exp3s", "prior_tau": 5.0},
        {"policy": "odm", "reward": "loss"},
    ],
    ids=str,
)
def test_every_policy_with_rewards_is_followed_exactly(fake, tmp_path, settings):
    run = Run(fake.write_run(tmp_path / "run", steps=200, sentences=2, **settings))
    found = diagnose(run)
    assert found.replayed
    assert "200 rewards" in diagnosis_text(run) or "199 rewards" in diagnosis_text(run)


def test_saturation_is_that_of_the_logged_probabilities(bandit):
    rows = read(bandit / PROBS)
    facets = len(rows[0]) - 1
    low, high = 0.25 / facets, 0.75 + 0.25 / facets
    for row in rows[1:]:
        row[1:] = [str(high), *[str(low)] * (facets - 1)]
    write(bandit / PROBS, rows)
    found = diagnose(Run(bandit))
    assert found.high == 1.0 and found.low == pytest.approx((facets - 1) / facets)
    assert "Where π went nevertheless is luck." in verdict(found)


def test_dropped_rewards_are_counted_and_nothing_else(fake, tmp_path):
    run = Run(fake.write_run(tmp_path / "run", steps=300, sentences=2, broken_rewards=7))
    found = diagnose(run)
    assert (found.rewards, found.dropped) == (293, 7) and found.replayed


def test_what_is_said_of_runs_without_such_rewards(
    auto_dir, static_dir, mixed_dir, blend_dir, fake, tmp_path
):
    said = diagnosis_text(Run(auto_dir))
    assert "does not learn from the rewards of single steps" in said
    assert all(sentence in said for sentence in Run(auto_dir).news) and Run(auto_dir).news
    assert "learns from nothing" in diagnosis_text(Run(static_dir))
    assert "learns from nothing" in diagnosis_text(Run(mixed_dir))
    assert "mixes facets in each batch" in diagnosis_text(Run(blend_dir))
    short = fake.write_run(tmp_path / "short", steps=8, sentences=2, log_every=4, validations=1)
    assert "too few rewards yet" in diagnosis_text(Run(short))
    alone = fake.write_run(tmp_path / "alone", sizes={"IT": 500}, steps=50, sentences=2)
    assert "has one facet" in diagnosis_text(Run(alone))


def test_a_run_that_has_not_started_is_a_users_mistake(bandit):
    (bandit / PROBS).unlink()
    with pytest.raises(UserError, match=r"there is no probs\.csv"):
        diagnosis_text(Run(bandit))


def test_many_facets_are_cut_to_those_that_differ_most(fake, tmp_path):
    sizes = fake.many_facets(40)
    run = Run(fake.write_run(tmp_path / "run", sizes=sizes, steps=1000, sentences=1, scored=False))
    said = diagnosis_text(run)
    assert "20 others" in said
    assert np.isfinite(diagnose(run).found.noise)
