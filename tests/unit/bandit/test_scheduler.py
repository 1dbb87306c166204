import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.bandit import Exp3, Exp3S, FacetScheduler, QuantileScaler, Static

FACETS = ["it", "law", "koran"]


def scheduler(kind=Exp3, reward="dev-pgnorm", facets=FACETS, **settings) -> FacetScheduler:
    return FacetScheduler(facets, kind(len(facets), **settings), reward, seed=1)


def run(bandit: FacetScheduler, losses: list[tuple[float, float]]) -> list[tuple]:
    rows = []
    for before, after in losses:
        record = bandit.feedback(bandit.pull(), before=before, after=after)
        rows.append((record.facet, record.prob, record.raw, record.scaled))
    return rows


losses = st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), max_size=50)


def test_a_pull_names_a_facet_and_its_probability():
    bandit = scheduler()
    pull = bandit.pull()
    assert bandit.facets[pull.arm] in FACETS
    assert pull.prob == bandit.probs()[pull.arm]


def test_feedback_returns_what_the_log_needs():
    bandit = scheduler(reward="pg")
    bandit.feedback(bandit.pull(), before=2.0, after=2.0)
    record = bandit.feedback(bandit.pull(), before=3.0, after=2.0)
    assert (record.before, record.after, record.raw, record.scaled) == (3.0, 2.0, 1.0, 1.0)
    assert np.array_equal(record.probs, bandit.probs())
    assert not record.dropped


def test_a_facet_that_helps_is_chosen_more():
    bandit = scheduler(learning_rate=0.1, exploration=0.25)
    for _ in range(2000):
        pull = bandit.pull()
        gain = 0.5 if bandit.facets[pull.arm] == "law" else 0.0
        bandit.feedback(pull, before=2.0, after=2.0 - gain)
    assert bandit.probs()[1] > 0.8
    assert bandit.counts()["law"] > 1400
    assert sum(bandit.counts().values()) == 2000


@pytest.mark.parametrize("kind", [Exp3, Exp3S])
@given(head=losses, tail=losses)
@settings(deadline=None, max_examples=30)
def test_restore_continues_bit_for_bit(kind, head, tail):
    whole, first, second = scheduler(kind), scheduler(kind), scheduler(kind)
    expected = run(whole, head + tail)
    begun = run(first, head)
    second.restore(json.loads(json.dumps(first.state())))
    assert begun + run(second, tail) == expected
    assert second.probs().tobytes() == whole.probs().tobytes()
    assert json.dumps(second.state()) == json.dumps(whole.state())


def test_delayed_and_batched_feedback_teach_the_same():
    one, other = scheduler(reward="pg"), scheduler(reward="pg")
    pulls = [one.pull() for _ in range(4)]
    assert pulls == [other.pull() for _ in range(4)]
    rows = [(pull, 2.0 + index, 2.0) for index, pull in enumerate(pulls)]
    records = one.feedback_batch(rows)
    singles = [other.feedback(pull, before=before, after=after) for pull, before, after in rows]
    assert [record.scaled for record in records] == [record.scaled for record in singles]
    assert one.probs().tobytes() == other.probs().tobytes()


def test_delayed_feedback_is_unbiased():
    """E[x] of one pull is 1 for every arm, however late the reward comes."""
    bandit = FacetScheduler(["a", "b"], Static([0.9, 0.1]), seed=3)
    credit = np.zeros(2)
    for _ in range(20_000):
        for arm, share in bandit.pull().credit:
            credit[arm] += share
    assert np.abs(credit / 20_000 - 1).max() < 0.1


@pytest.mark.parametrize("after", [math.nan, math.inf, -math.inf])
def test_a_non_finite_reward_is_dropped_and_counted(after):
    bandit = scheduler()
    probs = bandit.probs()
    record = bandit.feedback(bandit.pull(), before=2.0, after=after)
    assert record.dropped and math.isnan(record.scaled)
    assert bandit.health().dropped == 1
    assert np.array_equal(bandit.probs(), probs)


def test_a_forgotten_loss_is_an_error_not_a_dropped_reward():
    bandit = scheduler(reward="pg")
    with pytest.raises(ValueError, match="'pg' needs the loss"):
        bandit.feedback(bandit.pull(), before=2.0)
    assert bandit.health().dropped == 0


def test_the_loss_reward_needs_no_second_pass():
    bandit = scheduler(reward="loss")
    assert bandit.feedback(bandit.pull(), before=2.5).raw == 2.5


def test_a_reward_of_the_users_own():
    def squared(before: float, after: float) -> float:
        return (before - after) ** 2

    bandit = scheduler(reward=squared)
    assert bandit.feedback(bandit.pull(), before=3.0, after=1.0).raw == 4.0
    assert bandit.reward_name == "squared"


def test_facets_are_matched_by_name_on_restore():
    bandit = scheduler(learning_rate=0.1, exploration=0.0)
    run(bandit, [(2.0, 1.0 + 0.1 * (i % 7)) for i in range(50)])
    other = scheduler(facets=["koran", "medical", "it"], learning_rate=0.1, exploration=0.0)
    other.restore(bandit.state())
    old, new = (
        dict(zip(FACETS, bandit.probs(), strict=True)),
        dict(zip(other.facets, other.probs(), strict=True)),
    )
    assert math.isclose(new["koran"] / new["it"], old["koran"] / old["it"], rel_tol=1e-12)
    assert math.isclose(new["medical"], 1 / 3, rel_tol=1e-12)
    assert other.counts() == {"koran": bandit.counts()["koran"], "medical": 0, "it": bandit.counts()["it"]}


def test_the_state_of_another_reward_is_refused():
    with pytest.raises(ValueError, match="saved with reward 'pg'"):
        scheduler(reward="loss").restore(scheduler(reward="pg").state())


def test_health_of_a_uniform_and_of_a_collapsed_policy():
    uniform = scheduler().health()
    assert uniform.starved == 0 and math.isclose(uniform.entropy, 100.0)
    collapsed = FacetScheduler(FACETS, Static([1.0, 0.0, 0.0])).health()
    assert math.isclose(collapsed.starved, 2 / 3) and collapsed.entropy == 0.0
    assert FacetScheduler(["only"], Exp3(1)).health().entropy == 100.0


@pytest.mark.parametrize(
    ("facets", "policy", "reward", "message"),
    [
        (["a", "a"], Exp3(2), "pg", "must differ"),
        (["a", "b"], Exp3(3), "pg", "3 arms for 2 facets"),
        (["a", "b"], Exp3(2), "gain", "unknown reward 'gain'"),
    ],
)
def test_impossible_schedulers_are_refused(facets, policy, reward, message):
    with pytest.raises(ValueError, match=message):
        FacetScheduler(facets, policy, reward)


def test_the_scaler_can_be_chosen():
    bandit = FacetScheduler(FACETS, Exp3(3), "loss", scaler=QuantileScaler(window=2))
    run(bandit, [(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)])
    assert bandit.scaler.state()["recent"] == [2.0, 3.0]
