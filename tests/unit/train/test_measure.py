"""Memory that a step needs and has, and the cost of the reward's passes by a clock of the test's own."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from facetmt.bandit import REWARDS
from facetmt.data.batch import Batch
from facetmt.errors import UserError
from facetmt.train import measure
from facetmt.train.config import TrainConfig


def test_the_memory_needed_grows_with_the_shape():
    def square_twice(x):
        return (x @ x) @ x

    sizes = []
    for side in (64, 256):
        shape = jax.ShapeDtypeStruct((side, side), jnp.float32)
        sizes.append(measure.needed(jax.jit(square_twice).lower(shape).compile()))
    assert sizes[0] >= 64 * 64 * 4 and sizes[1] >= 15 * sizes[0]


def test_free_memory_comes_from_the_device(monkeypatch):
    class Device:
        def memory_stats(self):
            return {"bytes_limit": 1000, "bytes_in_use": 300}

    monkeypatch.setattr(jax, "local_devices", lambda: [Device()])
    assert measure.available() == 700


def test_or_from_the_host():
    free = measure.host_memory()
    assert free is None or 0 < free < 1 << 50


def test_a_step_is_refused_only_where_both_sides_are_known():
    for wanted, there in ((5, 5), (None, 1), (5, None)):
        measure.check(wanted, there)
    with pytest.raises(UserError, match=r"needs 2\.00 GiB .* but only 0\.00 GiB are left; lower batch\.rows"):
        measure.check(2 << 30, -5)


def test_an_allocation_that_fails_is_one_sentence_and_other_errors_stay():
    class Failing:
        def lower(self, *inputs):
            raise jax.errors.JaxRuntimeError(self.text)

    step = Failing()
    step.text = "RESOURCE_EXHAUSTED: out of memory"
    with pytest.raises(UserError, match=r"does not fit .* lower batch\.rows"):
        measure.MeasuredStep(step)(None, None, None, True)
    step.text = "INTERNAL: something else"
    with pytest.raises(jax.errors.JaxRuntimeError, match="something else"):
        measure.MeasuredStep(step)(None, None, None, True)


SECONDS = (100.0, 5.0, 1.0, 2.0)  # of each forward pass; the first one compiles


@pytest.fixture
def cost(monkeypatch):
    """Reward -> its cost, where every pass takes its time of SECONDS, and the batches that were passed."""

    def make(reward, dev_hold=4):
        seen, clock = [], [0.0]

        def forward(params, batch):
            clock[0] += SECONDS[len(seen)]
            seen.append(batch)
            return SimpleNamespace(loss=SimpleNamespace(block_until_ready=lambda: None))

        monkeypatch.setattr(measure, "make_facet_loss", lambda graph, facets: forward)
        monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
        session = SimpleNamespace(
            signal=SimpleNamespace(reward=REWARDS.get(reward)),
            recipe=SimpleNamespace(train=TrainConfig(dev_hold=dev_hold)),
            prepared=SimpleNamespace(facets=["it", "law"]),
            state=SimpleNamespace(params=None),
            graph=None,
        )
        return measure.RewardCost(session), seen

    return make


def batch(*shape):
    return Batch(*(np.zeros(shape) for _ in Batch._fields))


TRAIN, DEV = batch(8, 4), batch(1, 4)


@pytest.mark.parametrize("reward", [None, "loss"])
def test_without_a_pass_of_its_own_a_reward_costs_nothing(cost, reward):
    costs, seen = cost(reward)
    costs.show(TRAIN, None)
    assert costs.share(10.0) == 0.0 and seen == []


@pytest.mark.parametrize(("reward", "shown"), [("pg", TRAIN), ("dev-loss", DEV)])
def test_the_batch_is_that_of_the_reward_and_the_median_counts(cost, reward, shown):
    costs, seen = cost(reward)
    costs.show(TRAIN, DEV)
    costs.show(batch(1, 1), batch(1, 1))  # the first one is enough
    assert costs.share(10.0) == 0.2
    assert costs.share(1.0) == 1.0  # measured once, and never more than all
    assert len(seen) == len(SECONDS) and all(one is shown for one in seen)


@pytest.mark.parametrize(("hold", "share"), [(1, 0.4), (4, 0.25)])
def test_a_held_dev_batch_needs_its_before_only_when_it_is_new(cost, hold, share):
    costs, _ = cost("dev-pgnorm", dev_hold=hold)
    costs.show(TRAIN, DEV)
    assert costs.share(10.0) == share


def test_one_of_the_micro_batches_is_timed_and_counts_for_all(cost):
    costs, seen = cost("pg")
    costs.show(batch(3, 8, 4), None)
    assert costs.share(10.0) == 0.6
    assert {one.source.shape for one in seen} == {(8, 4)}
