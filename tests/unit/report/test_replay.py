import numpy as np
import pytest

from facetmt.errors import UserError
from facetmt.report.replay import replay, replay_text
from facetmt.runlog import Run


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"policy": "exp3s"},
        {"policy": "odm", "reward": "dev-loss"},
        {"feedback_lag": 1},
        {"prior_tau": 5.0, "window": 50},
    ],
)
def test_the_same_settings_give_back_the_run_itself(fake, tmp_path, settings):
    run = Run(
        fake.write_run(tmp_path / "x", steps=400, log_every=1, scored=False, broken_rewards=3, **settings)
    )
    result = replay(run, replicates=2)
    assert result.effective == pytest.approx(
        397 - run.pulls.step.size % 2
    ) and result.reward == pytest.approx(result.logged_reward)
    probs = run.probs[1]  # after each step: what the next one is drawn from
    drawn = np.array([probs[step - 2] for step in result.prob_step[1:]])
    if "feedback_lag" not in settings:
        assert np.allclose(drawn, result.probs[1:])


def test_another_policy_has_an_interval_and_a_smaller_sample(bandit_dir):
    result = replay(bandit_dir, policy="static", tau=float("inf"), replicates=3)
    assert [share.replayed for share in result.shares] == pytest.approx([0.2] * 5)
    assert result.effective < result.steps
    assert result.low <= result.reward <= result.high and result.error > 0
    assert sum(share.logged for share in result.shares) == pytest.approx(1)


def test_the_estimate_is_right_on_average(fake, tmp_path):
    """Uniform draws; facet 0 always earns 1, facet 1 earns −1: a policy with 80 % on facet 0 earns 0.6."""
    directory = fake.write_run(
        tmp_path / "x", sizes={"a": 800, "b": 200}, steps=4000, exploration=1.0, scored=False
    )
    path = directory / "pulls.csv"
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    cells = [row.split(",") for row in rows]
    lines = [f"{c[0]},{c[1]},{c[2]},2.0,{1.0 if c[1] == 'a' else 3.0},0.5,1.0" for c in cells]
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    result = replay(directory, policy="static", tau=1.0, reward="dev-pg", replicates=0)
    assert result.low - 0.03 < 0.6 < result.high + 0.03 and abs(result.reward - 0.6) < 0.05
    assert result.effective / 4000 == pytest.approx(1 / (0.8**2 * 2 + 0.2**2 * 2), rel=0.05)


def test_a_static_run_can_be_replayed_by_its_training_loss(static_dir):
    result = replay(static_dir, policy="exp3", reward="loss", replicates=1)
    assert result.schedule.policy == "exp3" and result.probs.shape[1] == 5


def test_replays_are_repeatable_and_the_range_holds_the_replay(bandit_dir):
    first, second = (replay(bandit_dir, exploration=0.5, replicates=4, seed=7) for _ in range(2))
    assert first.shares == second.shares and (first.low, first.high) == (second.low, second.high)
    assert all(share.low <= share.replayed <= share.high for share in first.shares)


def test_the_answer_says_what_it_cannot_say(bandit_dir):
    text = replay_text(replay(bandit_dir, policy="exp3s", replicates=1), top=2)
    assert "What this cannot say" in text and "trained under the logged curriculum" in text.replace("\n", " ")
    assert "3 others" in text and "Effective sample size" in text.replace("\n", " ")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"reward": "pg"}, "logged losses of a dev batch"),
        ({"policy": "mixed"}, "cannot be replayed"),
        ({"policy": "multidds"}, "cannot be replayed"),
        ({"policy": "greedy"}, "policy is .greedy., which does not exist"),
        ({"reward": "bleu"}, "reward is .bleu., which does not exist"),
        ({"exploration": 2.0}, "between 0 and 1"),
        ({"gamma": 0.1}, "schedule: there is no setting gamma"),
    ],
)
def test_users_errors(bandit_dir, settings, words):
    with pytest.raises(UserError, match=words):
        replay(bandit_dir, **settings)


def test_runs_that_say_nothing(mixed_dir, static_dir, fake, tmp_path):
    with pytest.raises(UserError, match="no batch was drawn from a single facet"):
        replay(mixed_dir, policy="exp3")
    with pytest.raises(UserError, match="logged losses of the training batch"):
        replay(static_dir, policy="exp3")
    with pytest.raises(UserError, match="did not log the losses that pg needs"):
        replay(static_dir, policy="exp3", reward="pg")
    unsized = fake.write_run(tmp_path / "x", steps=30, scored=False)
    (unsized / "facets.json").unlink()
    with pytest.raises(UserError, match=r"facets\.json"):
        replay(unsized, policy="static")


def test_mixed_batches_cannot_be_replayed(auto_dir, blend_dir, bandit_dir):
    for directory in (auto_dir, blend_dir):
        for settings in ({}, {"policy": "exp3s"}):
            with pytest.raises(UserError, match="no batch was drawn from a single facet"):
                replay(directory, **settings)
    for settings in ({"policy": "auto"}, {"batches": "mixed"}):
        with pytest.raises(UserError, match="cannot be replayed; choose another policy"):
            replay(bandit_dir, **settings)
