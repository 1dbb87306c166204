"""One step: the update, the reward's passes, skipping, accumulation, determinism."""

import jax
import numpy as np
import pytest
from flax import nnx

from facetmt.bandit import REWARDS
from facetmt.data.batch import Batch
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.train.config import OptimiserConfig
from facetmt.train.loss import facet_loss, training_loss
from facetmt.train.state import create_state
from facetmt.train.step import average, make_facet_loss, make_step, read_metrics

VOCABULARY, FACETS, SEED = 12, 3, 5
MODEL = create(
    ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.3),
    VOCABULARY,
    seed=0,
)
CONFIG = OptimiserConfig(learning_rate=0.01, warmup=0, schedule="constant", clip=0.5)


def batch_of(seed, rows=4, length=6):
    """Rows of one random pair each, of random length, padded."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, length + 1, (rows, 1))
    inside = (np.arange(length)[None] < lengths).astype(np.int32)
    position = np.arange(length)[None] * inside
    ids = [rng.integers(4, VOCABULARY, (rows, length)) * inside for _ in range(3)]
    facet = np.repeat(rng.integers(0, FACETS, (rows, 1)), length, axis=1)
    arrays = (ids[0], inside, position, ids[1], ids[2], inside, position, facet)
    return Batch(*(array.astype(np.int32) for array in arrays))


BATCH, DEV, OTHER = batch_of(0), batch_of(1, rows=2), batch_of(2, rows=2)
STEPS = {}  # compiled once for all tests


def step_for(reward, config=CONFIG, **settings):
    key = (reward, config, *settings.items())
    if key not in STEPS:
        row = REWARDS.get(reward)  # none: no reward
        STEPS[key] = make_step(MODEL.graph, config, reward=row, num_facets=FACETS, seed=SEED, **settings)
    return STEPS[key]


def take(reward, state, batch, dev=None, fresh=True, **settings):
    """One step; always called alike, so that it is traced once."""
    state, values = step_for(reward, **settings)(state, batch, dev, np.bool_(fresh))
    return state, read_metrics(values)


def run(reward, batches=(BATCH,), dev=None, **settings):
    """State and metrics after a step on each batch."""
    state, rows = create_state(MODEL.params), []
    for batch in batches:
        state, row = take(reward, state, batch, dev, **settings)
        rows.append(row)
    return state, rows


def same(first, second):
    jax.tree.map(np.testing.assert_array_equal, first, second)


@jax.jit
def dropped_loss(params, batch, step):
    """The training loss a token with the dropout of the given step."""
    key = jax.random.fold_in(jax.random.key(SEED), step)
    model = nnx.merge(MODEL.graph, params)
    total = training_loss(model, batch, CONFIG.label_smoothing, key)
    return total / (batch.target_segment > 0).sum()


@jax.jit
def dev_loss(params, batch):
    return average(facet_loss(MODEL.graph, params, batch, FACETS), "tokens")


def test_training_on_one_batch_lowers_its_loss():
    _, rows = run("none", [BATCH] * 60)
    assert rows[-1].loss < 0.8 * rows[0].loss
    assert all(row.finite and row.gradient_norm > 0 for row in rows)
    assert rows[0].tokens == (BATCH.target_segment > 0).sum()
    assert rows[0].before == rows[0].after == rows[0].loss


def test_train_gains_use_the_same_dropout_before_and_after():
    state, (first, row) = run("pgnorm", [BATCH, BATCH])
    old, _ = run("pgnorm", [BATCH])
    assert row.before == pytest.approx(float(dropped_loss(old.params, BATCH, 1)), rel=1e-5)
    assert row.after == pytest.approx(float(dropped_loss(state.params, BATCH, 1)), rel=1e-5)
    assert row.after < row.before and first.before != row.before


def test_dev_gains_are_measured_without_dropout():
    state, (row,) = run("dev-pgnorm", dev=DEV)
    assert row.before == pytest.approx(float(dev_loss(MODEL.params, DEV)), rel=1e-5)
    assert row.after == pytest.approx(float(dev_loss(state.params, DEV)), rel=1e-5)
    by_facet = make_facet_loss(MODEL.graph, FACETS)(state.params, DEV)
    np.testing.assert_allclose(row.dev_loss, by_facet.loss, rtol=1e-5)
    np.testing.assert_array_equal(row.dev_tokens, by_facet.tokens)
    assert row.dev_tokens.sum() == (DEV.target_segment > 0).sum()


def test_a_held_dev_batch_takes_before_from_the_last_after():
    state, first = take("dev-pgnorm", create_state(MODEL.params), BATCH, DEV, True)
    state, held = take("dev-pgnorm", state, BATCH, DEV, False)
    assert held.before == first.after
    params = jax.tree.map(np.array, state.params)
    state, new = take("dev-pgnorm", state, BATCH, OTHER, True)
    assert new.before == pytest.approx(float(dev_loss(params, OTHER)), rel=1e-5)


def test_dev_loss_measures_after_alone():
    state, (row,) = run("dev-loss", dev=DEV, dev_average="facets")
    assert np.isnan(row.before)
    by_facet = make_facet_loss(MODEL.graph, FACETS)(state.params, DEV)
    assert row.after == pytest.approx(float(average(by_facet, "facets")), rel=1e-5)


def test_a_dev_reward_without_a_dev_batch_says_so():
    with pytest.raises(ValueError, match="dev batch"):
        run("dev-loss")


def test_the_average_over_facets_weighs_facets_alike():
    by_facet = make_facet_loss(MODEL.graph, FACETS)(MODEL.params, DEV)
    present = np.asarray(by_facet.tokens) > 0
    means = np.asarray(by_facet.loss)[present] / np.asarray(by_facet.tokens)[present]
    assert float(average(by_facet, "facets")) == pytest.approx(means.mean(), rel=1e-5)


@pytest.mark.parametrize("over", ["tokens", "facets"])
def test_what_counts_alone_decides_the_dev_loss(over):
    by_facet = make_facet_loss(MODEL.graph, FACETS)(MODEL.params, DEV)
    (one, *_) = np.flatnonzero(np.asarray(by_facet.tokens) > 0)
    weights = [float(facet == one) for facet in range(FACETS)]
    alone = float(by_facet.loss[one] / by_facet.tokens[one])
    assert float(average(by_facet, over, weights)) == pytest.approx(alone, rel=1e-5)
    assert float(average(by_facet, over, [1.0] * FACETS)) == pytest.approx(float(average(by_facet, over)))


@pytest.mark.parametrize("reward", ["pgnorm", "dev-pgnorm"])
def test_measuring_never_changes_the_update(reward):
    plain, _ = run("none")
    state, _ = run(reward, dev=DEV if reward.startswith("dev") else None)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), plain.params, state.params)


def test_accumulated_micro_batches_equal_one_large_batch():
    still = create(
        ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0), 12, seed=0
    )
    micro = [batch_of(seed, rows=2) for seed in (3, 4)]
    stacked = Batch(*(np.stack(arrays) for arrays in zip(*micro, strict=True)))
    joined = Batch(*(np.concatenate(arrays) for arrays in zip(*micro, strict=True)))
    results = []
    for batch in (stacked, joined):
        step = make_step(still.graph, CONFIG, reward=REWARDS["pg"], num_facets=FACETS, seed=SEED)
        state, values = step(create_state(still.params), batch)
        results.append((state, read_metrics(values)))
    (first, row), (second, expected) = results
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), first.params, second.params)
    for name in ("loss", "tokens", "before", "after", "gradient_norm"):
        assert getattr(row, name) == pytest.approx(getattr(expected, name), rel=1e-4), name


def test_clipping_bounds_the_gradient_that_adam_sees():
    state, (row,) = run("none")
    seen = np.sqrt(sum(float((leaf**2).sum()) for leaf in jax.tree.leaves(state.mean))) / (1 - CONFIG.beta1)
    assert row.gradient_norm > CONFIG.clip
    assert seen == pytest.approx(CONFIG.clip, rel=1e-3)


def test_two_runs_are_equal_to_the_bit_and_a_continued_run_too():
    batches = [batch_of(seed) for seed in range(4)]
    whole, rows = run("pgnorm", batches)
    again, rows_again = run("pgnorm", batches)
    same(whole, again)
    same(rows, rows_again)
    half, _ = run("pgnorm", batches[:2])
    kept = jax.tree.map(np.asarray, half)  # as a checkpoint would
    for batch in batches[2:]:
        kept, _ = take("pgnorm", kept, batch)
    same(whole, kept)
