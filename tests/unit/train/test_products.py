"""The products of gradients, on a model that is small enough to take each gradient by itself."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from facetmt.data.batch import EOS
from facetmt.data.config import BatchConfig
from facetmt.data.dev import DevSet, dev_batches
from facetmt.data.store import StoreWriter, open_store
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.train import products
from facetmt.train.config import OptimiserConfig
from facetmt.train.evidence import STRIDE, make_measure, make_stepped, ratio
from facetmt.train.loss import plain_loss
from facetmt.train.place import Placement
from facetmt.train.products import GROUPS, MOST_TOKENS, choose_text, make_plan, measure
from facetmt.train.state import create_state

OPTIMISER = OptimiserConfig(schedule="constant", learning_rate=0.01, warmup=0)
WIDTH = BatchConfig(rows=8, length=12)
TINY = ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
MODEL = create(TINY, 24, seed=0)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """`copies` and `reversed` sentences of 3 words, `train` and `dev`."""
    folder, rng = tmp_path_factory.mktemp("stores"), np.random.default_rng(1)

    def store(name, split, count):
        with StoreWriter(folder / f"{name}-{split}", name, split, "v", np.dtype(np.uint16)) as writer:
            for _ in range(count):
                source = rng.integers(4, 24, 3).tolist()
                target = source if name == "copies" else source[::-1]
                writer.append(np.array([*source, EOS, *target, EOS]), np.array([[4, 4]]))
        return open_store(folder / f"{name}-{split}")

    names = ("copies", "reversed")
    return SimpleNamespace(
        train=[store(name, "train", 400) for name in names], dev=[store(name, "dev", 60) for name in names]
    )


@pytest.fixture(scope="module")
def state():
    """Variances as after some training, all different."""
    start = create_state(MODEL.params)
    rng = np.random.default_rng(2)
    variance = jax.tree.map(
        lambda leaf: jnp.asarray(rng.uniform(0.01, 1.0, leaf.shape), jnp.float32), start.params
    )
    return start._replace(variance=variance, step=jnp.asarray(50, jnp.int32))


def plan_of(stores, tokens=480):
    return make_plan(stores.dev, stores.train, WIDTH, 10_000, tokens, seed=1)


def whole(text, group):
    (batch,) = dev_batches(DevSet([text.store], [text.groups[group]]), text.shape)
    return batch


def test_every_product_is_that_of_the_two_gradients(stores, state):
    plan = plan_of(stores)
    found = measure(MODEL.graph, state, OPTIMISER, plan, Placement())
    assert found.shape == (2, GROUPS, 2, GROUPS)
    slope = jax.jit(lambda batch: jax.grad(plain_loss, argnums=1)(MODEL.graph, state.params, batch))
    unbias = 1 / (1 - OPTIMISER.beta2**50)
    for k, g, j, h in ((0, 0, 0, 0), (0, 3, 1, 7), (1, 9, 0, 2)):
        dev, train = slope(whole(plan.dev[k], g)), slope(whole(plan.train[j], h))
        terms = jax.tree.map(
            lambda one, other, v: jnp.sum(one * other / jnp.sqrt(v * unbias)), dev, train, state.variance
        )
        assert found[k, g, j, h] == pytest.approx(float(sum(jax.tree.leaves(terms))), rel=1e-3, abs=1e-5)


def test_it_is_what_evidence_measures_by_a_small_step(stores, state):
    plan = plan_of(stores)
    found = measure(MODEL.graph, state, OPTIMISER, plan, Placement())
    moved = jax.jit(make_stepped(MODEL.graph, OPTIMISER))(state, whole(plan.dev[0], 0))
    batch = whole(plan.train[0], 0)
    _, gain = np.asarray(jax.jit(make_measure(MODEL.graph, 1))(state.params, moved, batch), np.float64)
    assert ratio(gain)[0][0] == pytest.approx(0.01 * STRIDE * found[0, 0, 0, 0], rel=0.05)


def test_little_memory_changes_nothing_but_how_often_text_is_read(stores, state, monkeypatch):
    plan = plan_of(stores)
    monkeypatch.setattr(products, "MEMORY", 1)
    poor = plan_of(stores)
    assert (plan.at_once, poor.at_once) == (2, 1)
    assert poor.groups - plan.groups == GROUPS * len(plan.train)
    told = []
    one = measure(MODEL.graph, state, OPTIMISER, plan, Placement())
    two = measure(MODEL.graph, state, OPTIMISER, poor, Placement(), told.append)
    assert np.allclose(one, two, rtol=1e-4, atol=1e-6)
    assert sum(told) == poor.groups


def test_no_pair_is_read_twice_and_the_choice_is_the_seeds(stores):
    text = choose_text(stores.train[0], WIDTH, 480, 1, "x")
    chosen = np.concatenate(text.groups)
    assert len(text.groups) == GROUPS and len(set(chosen.tolist())) == len(chosen) == text.pairs
    again, other = (choose_text(stores.train[0], WIDTH, 480, seed, "x") for seed in (1, 2))
    assert np.array_equal(chosen, np.concatenate(again.groups))
    assert not np.array_equal(chosen, np.concatenate(other.groups))


def test_a_small_facet_gives_what_it_has(stores):
    text = choose_text(stores.dev[0], WIDTH, 100_000, 1, "x")
    assert text.pairs == 60 and {len(group) for group in text.groups} == {6}


@pytest.mark.parametrize("facets", [8, 99, 198])
def test_the_training_text_of_many_facets_is_bounded(stores, facets):
    """A model of 2 million parameters: the dev gradients of 13 facets fit into memory at once."""
    dev = stores.dev[:1] * min(facets, 16)
    plan = make_plan(dev, stores.train[:1] * facets, BatchConfig(rows=8, length=48), 2_000_000, 15_360, 1)
    lots = -(-len(plan.dev) // plan.at_once)
    assert lots == (1 if facets == 8 else 2)
    rows = sum(text.shape.rows for text in plan.train) * GROUPS * lots
    assert rows * 48 <= 1.3 * MOST_TOKENS
    assert plan.groups == GROUPS * (len(dev) + facets * lots)
