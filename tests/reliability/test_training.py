"""Losses, gradients and rewards that are not finite, and empty batches."""

import json
import math

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.bandit import REWARDS, Exp3, Exp3S, FacetScheduler
from facetmt.data.batch import BOS, EOS, Batch
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.train.config import OptimiserConfig
from facetmt.train.state import create_state
from facetmt.train.step import make_step, read_metrics

MODEL = create(ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=1), 12, seed=0)
CONFIG = OptimiserConfig(learning_rate=0.01, warmup=0, schedule="constant", clip=0.5)
ROWS, LENGTH = 3, 6


@pytest.fixture(scope="module")
def take():
    """One step with a dev reward, compiled once; returns the new state and metrics."""
    step = make_step(MODEL.graph, CONFIG, reward=REWARDS["dev-pgnorm"], num_facets=2, seed=5)

    def run(params, batch, dev):
        state, values = step(create_state(params), batch, dev, np.bool_(True))
        return state, read_metrics(values)

    return run


def batch_of(*targets) -> Batch:
    """One pair per row: a fixed source and the given target (None: only padding)."""
    arrays = {name: np.zeros((ROWS, LENGTH), np.int32) for name in Batch._fields}
    for row, target in enumerate(targets):
        if target is not None:
            long = len(target) + 1
            arrays["source"][row, :3] = [5, 6, EOS]
            arrays["source_segment"][row, :3] = arrays["target_segment"][row, :long] = 1
            arrays["source_position"][row, :3] = range(3)
            arrays["target_position"][row, :long] = range(long)
            arrays["target"][row, :long], arrays["label"][row, :long] = [BOS, *target], [*target, EOS]
    return Batch(**arrays)


FULL, NOTHING = batch_of([7, 8], [9], [4, 5, 6]), batch_of(None, None, None)


def broken(value: float):
    params = jax.tree.map(np.array, MODEL.params)
    params["decoder_norm"]["scale"][0] = value
    return params


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30])
def test_row_12_a_loss_or_gradient_that_is_not_finite_skips_the_update_and_is_counted(take, value):
    params = broken(value)
    state, row = take(params, FULL, FULL)
    assert not row.finite and row.skipped_in_row == 1
    assert (int(state.step), int(state.skipped), int(state.skipped_in_row)) == (1, 1, 1)
    jax.tree.map(np.testing.assert_array_equal, state.params, params)
    assert not any(np.asarray(leaf).any() for leaf in jax.tree.leaves((state.mean, state.variance)))


def test_row_12_after_several_in_a_row_the_run_stops_and_names_step_and_facet(facetmt, project):
    run = project / "diverging"
    wild = [
        "optimiser.learning_rate=1.0e+30",
        "optimiser.warmup=0",
        "train.max_skipped=3",
        "train.log_every=1",
    ]
    words = [word for setting in wild for word in ("--set", setting)]
    done = facetmt("train", project / "recipe.yaml", "--run", run, *words)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    answer = done.stderr.splitlines()[-1]
    pulls = (run / "pulls.csv").read_text(encoding="utf-8").splitlines()
    step, facet, *_ = pulls[-1].split(",")
    assert "the loss was not finite for 3 steps in a row" in answer
    assert f"the last at step {step} on facet {facet};" in answer
    assert "lower optimiser.learning_rate" in answer and "--resume" in answer
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert max(row["skipped_in_row"] for row in rows) == 2  # the third ended it


@pytest.mark.parametrize(
    "batch", [NOTHING, batch_of([7, 8], None, None), batch_of([], [7], None), batch_of([], [], [])]
)
def test_row_14_rows_of_padding_and_empty_targets_give_no_nan(take, batch):
    for dev in (FULL, batch):
        state, row = take(MODEL.params, batch, dev)
        assert row.finite and all(map(math.isfinite, (row.loss, row.before, row.after, row.gradient_norm)))
        assert row.tokens == (batch.target_segment > 0).sum()
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.params))


def test_row_14_a_batch_without_tokens_moves_nothing(take):
    state, row = take(MODEL.params, NOTHING, FULL)
    assert (row.loss, row.tokens, row.gradient_norm, row.finite) == (0.0, 0, 0.0, True)
    jax.tree.map(np.testing.assert_array_equal, state.params, MODEL.params)
    _, row = take(MODEL.params, FULL, NOTHING)
    assert row.before == row.after == 0.0


losses = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 2.5, 1e-300, 1e300]) | st.floats(0.01, 20)


@given(
    kind=st.sampled_from([Exp3, Exp3S]),
    arms=st.sampled_from([1, 2, 198]),
    gamma=st.sampled_from([0.0, 0.25, 1.0]),
    reward=st.sampled_from(["loss", "pg", "pgnorm", "dev-loss"]),
    extreme=st.none() | st.integers(0, 99),
    stream=st.lists(st.tuples(losses, losses), max_size=30),
)
@settings(max_examples=150)
def test_row_13_whatever_the_rewards_are_pi_is_a_distribution(kind, arms, gamma, reward, extreme, stream):
    facets = [f"f{arm}" for arm in range(arms)]
    scheduler = FacetScheduler(facets, kind(arms, exploration=gamma), reward, seed=1)
    if extreme is not None:
        state = scheduler.state()
        state["policy"]["weights"] = np.random.default_rng(extreme).uniform(-1e6, 1e6, arms).tolist()
        scheduler.restore(state)
    bad = 0
    for before, after in stream:
        former = scheduler.probs()
        record = scheduler.feedback(scheduler.pull(), before=before, after=after)
        probs = scheduler.probs()
        assert np.all(np.isfinite(probs)) and math.isclose(probs.sum(), 1.0, abs_tol=1e-12)
        assert probs.min() >= gamma / arms
        if not math.isfinite(record.raw):
            bad += 1
            assert math.isnan(record.scaled) and np.array_equal(former, probs)
        else:
            assert -1.0 <= record.scaled <= 1.0
    assert scheduler.health().dropped == bad


@pytest.mark.parametrize("constant", [0.0, 3.0, -7.5])
def test_row_13_constant_rewards_and_the_first_one_teach_nothing(constant):
    scheduler = FacetScheduler(["a", "b", "c"], Exp3(3), "loss", seed=1)
    for _ in range(50):
        assert scheduler.feedback(scheduler.pull(), before=constant).scaled == 0.0
    assert scheduler.probs().tolist() == pytest.approx([1 / 3] * 3, abs=0)


def test_row_13_bad_rewards_do_not_freeze_the_policy():
    scheduler = FacetScheduler(["good", "bad"], Exp3(2), "pg", seed=1)
    for step in range(1500):
        pull = scheduler.pull()
        after = math.nan if step < 200 else 2.0 - (pull.arm == 0)
        scheduler.feedback(pull, before=2.0, after=after)
    assert scheduler.health().dropped == 200 and scheduler.probs()[0] > 0.8
