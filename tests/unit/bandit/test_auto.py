import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.bandit.auto import Auto, next_measurement
from facetmt.bandit.policy import Policy, Static

NAMES = ["it", "law", "noise"]
PRIOR = [0.4, 0.4, 0.2]


def errors(policy: Auto, size: float) -> np.ndarray:
    return np.full(policy.arms, size)


def learn(
    policy: Auto, slopes: list[float], last: int = 1000, noise: float = 0.0, seed: int = 1
) -> list[str]:
    """Dev losses that fall with these slopes; NaN for a facet without dev text."""
    rng, news = np.random.default_rng(seed), []
    for step in range(50, last + 1, 50):
        losses = 6.0 - np.array(slopes) * math.log(step) + rng.normal(0, noise, len(slopes))
        news += policy.observe_dev(step, losses)
    return news


def use(policy: Auto, values: list[float], error: float = 0.02, last: int = 400) -> list[str]:
    news = []
    for step in range(50, last + 1, 50):
        news += policy.observe_use(step, np.array(values), errors(policy, error))
    return news


def align(policy: Auto, values: list[float], error: float = 0.1, last: int = 1000) -> list[str]:
    news = []
    for step in range(50, last + 1, 50):
        news += policy.observe_alignment(step, np.array(values), errors(policy, error))
    return news


def test_without_evidence_the_shares_are_the_prior_to_the_bit():
    prior = np.random.default_rng(1).dirichlet(np.ones(7))
    policy: Policy = Auto([str(arm) for arm in range(7)], prior)
    policy.update(((0, 5.0),), 1.0)
    assert policy.probs().tobytes() == Static(prior).probs().tobytes()


def test_facets_alike_keep_the_prior():
    policy = Auto(NAMES, PRIOR)
    learn(policy, [0.5, 0.5, 0.5])
    use(policy, [0.4, 0.4, 0.4])
    align(policy, [1.0, 1.0, 1.0])
    policy.observe_epochs(1000, np.array([0.1, 2.0, 4.0]))
    assert np.allclose(policy.probs(), PRIOR, rtol=1e-6)
    assert policy.reasons() == []


def test_what_learns_gets_more_and_shares_go_where_the_slopes_are():
    policy = Auto(["a", "b"], [0.5, 0.5])
    news = learn(policy, [0.6, 0.2], last=20_000)
    assert np.allclose(policy.probs(), [0.75, 0.25], atol=0.01)
    assert "b reduced to" in news[0] and "its dev loss falls by 0.20 ± 0.00" in news[0]
    assert "the average by 0.40" in news[0]


def test_measurements_are_even_in_log_time():
    steps = [next_measurement(0)]
    while steps[-1] < 100_000:
        steps.append(next_measurement(steps[-1]))
    assert steps[:3] == [50, 55, 61]
    assert len(steps) < 85  # a training 60 times as long measures little more than twice as often
    ratios = np.array(steps[1:]) / np.array(steps[:-1])
    assert np.all((ratios >= 1.1 - 1e-9) & (ratios < 1.12))


@given(cost=st.floats(0, 1000))
def test_measuring_never_costs_more_than_a_tenth_of_the_training(cost):
    step, spent = next_measurement(0, cost), 0.0
    while step < 50_000:
        spent += cost
        assert spent <= 0.1 * step + 1e-6
        step = next_measurement(step, cost)


def test_shares_move_in_log_time():
    """From 5,000 to 10,000 steps the same happens as from 500 to 1,000."""
    moved = []
    for scale in (1, 10):
        policy = Auto(["a", "b"], [0.5, 0.5])
        for step in range(50 * scale, 1000 * scale + 1, 50 * scale):
            policy.observe_dev(step, 6.0 - np.array([0.6, 0.2]) * math.log(step))
        moved.append(policy.probs()[0])
    assert math.isclose(moved[0], moved[1], rel_tol=1e-6)
    assert 0.6 < moved[0] < 0.75


def test_slopes_within_their_error_change_nothing():
    shares = []
    for seed in range(40):
        policy = Auto(["a", "b", "c", "d"], [0.25] * 4)
        learn(policy, [0.3] * 4, noise=0.3, seed=seed)
        shares.append(policy.probs())
    assert np.abs(np.array(shares) - 0.25).mean() < 0.03
    policy = Auto(["a", "b", "c", "d"], [0.25] * 4)
    learn(policy, [0.5, 0.3, 0.3, 0.1], noise=0.01)
    assert policy.probs()[0] > 0.3 and policy.probs()[3] < 0.15


def test_nothing_is_compared_where_nothing_is_learned():
    policy = Auto(["a", "b"], [0.5, 0.5])
    learn(policy, [0.01, -0.02], noise=0.001)
    assert policy.probs().tolist() == [0.5, 0.5]


def test_text_whose_sources_are_not_used_is_dropped_with_a_sentence():
    policy = Auto(NAMES, PRIOR, [1, 1, 0])
    news = use(policy, [0.5, 0.3, 0.0])
    assert policy.probs()[2] < 0.01
    assert math.isclose(policy.probs()[0], policy.probs()[1], rel_tol=1e-9)
    assert news[0].startswith("step 50: noise reduced to ")
    assert "its translations hardly depend on its sources, 0.00 ± 0.02 where the others have 0.4" in news[0]
    assert policy.reasons()[0].startswith("noise has 0.5")
    assert "at first 20 %: its translations hardly depend" in policy.reasons()[0]


def test_a_doubtful_source_use_changes_nothing():
    policy = Auto(NAMES, PRIOR, [1, 1, 0])
    use(policy, [0.5, 0.3, 0.0], error=0.3, last=100)
    assert policy.probs().tolist() == PRIOR


def test_weak_but_honest_facets_keep_their_share():
    policy = Auto(["a", "b", "c", "weak"], [0.25] * 4)
    use(policy, [0.6, 0.5, 0.5, 0.2])
    assert policy.probs().tolist() == [0.25] * 4


def test_a_facet_whose_sources_come_to_be_used_comes_back():
    policy = Auto(NAMES, PRIOR, [1, 1, 0])
    use(policy, [0.5, 0.3, 0.0])
    news = []
    for step in range(450, 2001, 50):
        news += policy.observe_use(step, np.array([0.5, 0.3, 0.3]), errors(policy, 0.02))
    assert np.allclose(policy.probs(), PRIOR, atol=0.03)
    assert "noise raised to" in news[-1] and "its translations depend on its sources" in news[-1]


def test_where_one_facet_counts_what_helps_it_gets_more():
    policy = Auto(["medical", "near", "far"], [1 / 3] * 3, [1, 0, 0])
    news = align(policy, [2.0, 1.0, 0.2], last=150)
    probs = policy.probs()
    assert probs[0] > 0.7 > probs[1] > probs[2]
    assert any("medical raised to" in line and "times as much as the average" in line for line in news)


def test_where_all_count_alignment_is_not_listened_to():
    policy = Auto(NAMES, PRIOR)
    align(policy, [2.0, 1.0, 0.2])
    assert np.allclose(policy.probs(), PRIOR, rtol=1e-12)


def test_facets_that_count_go_together():
    policy = Auto(["a", "b", "c", "d"], [0.25] * 4, [1, 1, 0, 0])
    align(policy, [2.0, 1.0, 1.0, 0.2], last=200)
    probs = policy.probs()
    assert math.isclose(probs[0], probs[1], rel_tol=1e-12)
    assert probs[1] > probs[2] > probs[3]


def test_alignments_within_their_error_change_nothing():
    rng = np.random.default_rng(4)
    shares = []
    for _ in range(30):
        policy = Auto(["a", "b", "c"], [1 / 3] * 3, [1, 0, 0])
        for step in range(50, 1001, 50):
            policy.observe_alignment(step, rng.normal(1.0, 1.0, 3), errors(policy, 1.0))
        shares.append(policy.probs())
    assert np.abs(np.mean(shares, axis=0) - 1 / 3).max() < 0.1


def test_the_weights_of_the_objective_enter_with_the_slopes():
    policy = Auto(["a", "b"], [0.5, 0.5], [2, 1])
    learn(policy, [0.5, 0.5], last=20_000)
    assert 0.55 < policy.probs()[0] < 0.67


def test_a_repeated_facet_whose_dev_loss_rises_gives_way():
    shares = []
    for epochs in (1.0, 3.9, 4.0001):
        policy = Auto(["tiny", "large"], [0.5, 0.5], [1, 0])
        policy.observe_epochs(1, np.array([epochs, 0.5]))
        news = learn(policy, [-0.1, math.nan], noise=0.002)
        shares.append(policy.probs()[0])
    assert shares[0] == shares[1] == 0.5
    assert shares[2] < 0.1
    assert "tiny reduced to" in news[0] and "after 4 epochs of its text" in news[0]


def test_text_used_often_is_worth_less():
    policy = Auto(["tiny", "large"], [0.5, 0.5])
    news = policy.observe_epochs(900, np.array([34.0, 0.5]))
    assert math.isclose(policy.probs()[0], math.exp(-2) / (1 + math.exp(-2)))
    assert news == [
        "step 900: tiny reduced to 12 %: its text was used 34 times, the others' up to 0.5 times",
        "step 900: large raised to 88 %: its text was used 0.5 times, the others' up to 34 times",
    ]


def test_a_change_is_told_once():
    policy = Auto(NAMES, PRIOR, [1, 1, 0])
    first = use(policy, [0.5, 0.3, 0.0])
    assert 1 <= len(first) <= 3
    assert policy.observe_use(450, np.array([0.5, 0.3, 0.0]), errors(policy, 0.02)) == []


def measure(policy: Auto, steps: range, rng: np.random.Generator) -> list[str]:
    """All kinds of evidence at once, with noise."""
    news = []
    for step in steps:
        losses = 6.0 - np.array([0.7, 0.3, 0.5, np.nan]) * math.log(step) + rng.normal(0, 0.02, 4)
        news += policy.observe_dev(step, losses)
        news += policy.observe_use(step, rng.normal([0.5, 0.4, 0.3, 0.0], 0.03), errors(policy, 0.03))
        news += policy.observe_alignment(step, rng.normal([2, 1, 1, 0.5], 0.3), errors(policy, 0.3))
        news += policy.observe_epochs(step, step / np.array([900.0, 100.0, 5000.0, 9000.0]))
    return news


@pytest.mark.parametrize("cut", [50, 300, 1000])
def test_restore_continues_bit_for_bit(cut):
    names, objective = ["a", "b", "c", "noise"], [1, 0.5, 0.5, 0]
    whole, first, second = (Auto(names, [0.25] * 4, objective) for _ in range(3))
    told = measure(whole, range(50, 1501, 50), np.random.default_rng(5))
    rng = np.random.default_rng(5)
    head = measure(first, range(50, cut + 1, 50), rng)
    second.restore(json.loads(json.dumps(first.state(), allow_nan=False)), range(4))
    assert second.probs().tobytes() == first.probs().tobytes()
    assert head + measure(second, range(cut + 50, 1501, 50), rng) == told
    assert second.state() == whole.state()
    assert second.probs().tobytes() == whole.probs().tobytes()
    assert second.reasons() == whole.reasons() and told


def test_a_new_facet_starts_without_evidence():
    policy = Auto(NAMES, PRIOR, [1, 1, 0])
    use(policy, [0.5, 0.3, 0.0])
    other = Auto(["noise", "new", "it"], [0.2, 0.4, 0.4], [0, 1, 1])
    other.restore(policy.state(), [2, None, 0])
    assert math.isclose(other.probs()[1], other.probs()[2])
    assert other.probs()[0] < 0.01


def test_the_state_of_another_policy_is_refused():
    with pytest.raises(ValueError, match="state of a 'exp3' policy"):
        Auto(NAMES, PRIOR).restore({"kind": "exp3"}, range(3))


def test_probabilities_cannot_be_written_to():
    policy = Auto(NAMES, PRIOR)
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            policy.probs()[0] = 1.0
        use(policy, [0.5, 0.3, 0.0])


def test_wild_measurements_leave_a_distribution():
    rng = np.random.default_rng(6)
    policy = Auto([str(arm) for arm in range(99)], np.full(99, 1 / 99), rng.integers(0, 2, 99))
    for step in range(1, 60):
        wild = rng.choice([np.nan, np.inf, -1e9, 0.0, 1e-9, 1.0, 1e9], 99)
        policy.observe_dev(step, wild)
        policy.observe_use(step, rng.permutation(wild), np.abs(rng.permutation(wild)))
        policy.observe_alignment(step, rng.permutation(wild), np.abs(rng.permutation(wild)))
        policy.observe_epochs(step, rng.exponential(100, 99))
        assert np.all(policy.probs() > 0) and math.isclose(policy.probs().sum(), 1, abs_tol=1e-12)


def test_one_facet_has_everything():
    policy = Auto(["only"], [1.0])
    learn(policy, [0.5])
    use(policy, [0.0])
    align(policy, [1.0])
    assert policy.probs().tolist() == [1.0]


@pytest.mark.parametrize("objective", [[0, 0, 0], [1, -1, 1], [1, math.nan, 1], [1, 1]])
def test_an_impossible_objective_is_refused(objective):
    with pytest.raises(ValueError, match="objective"):
        Auto(NAMES, PRIOR, objective)


def test_measurements_that_do_not_fit_are_refused():
    policy = Auto(NAMES, PRIOR)
    with pytest.raises(ValueError, match="3 values"):
        policy.observe_dev(50, np.ones(2))
    with pytest.raises(ValueError, match="step of at least 1"):
        policy.observe_use(0, np.ones(3), np.ones(3))
