"""What auto is told, on a model that is small enough to check by hand."""

import math
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from facetmt.bandit.auto import Auto
from facetmt.data.batch import EOS
from facetmt.data.config import BatchConfig
from facetmt.data.dev import DevSet
from facetmt.data.store import StoreWriter, open_store
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.train.config import OptimiserConfig
from facetmt.train.evidence import Evidence, make_measure, pair_sums, ratio
from facetmt.train.place import Placement
from facetmt.train.state import create_state
from facetmt.train.step import make_step

NAMES = ("copies", "noise")
RECIPE = SimpleNamespace(
    seed=3,
    batch=BatchConfig(rows=8, length=12),
    optimiser=OptimiserConfig(schedule="constant", learning_rate=0.01, warmup=0),
)
MODEL = create(
    ModelConfig(width=32, mlp=64, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0), 24, seed=0
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """`copies`: the target is the source; `noise`: it has nothing to do with it, and there is no dev text."""
    folder, rng = tmp_path_factory.mktemp("stores"), np.random.default_rng(1)

    def store(name: str, split: str, count: int):
        with StoreWriter(folder / f"{name}-{split}", name, split, "v", np.dtype(np.uint16)) as writer:
            for _ in range(count):
                source = rng.integers(4, 24, 3).tolist()
                target = source if name == "copies" else rng.integers(4, 24, 3).tolist()
                writer.append(np.array([*source, EOS, *target, EOS]), np.array([[4, 4]]))
        return open_store(folder / f"{name}-{split}")

    stores = {
        "train": [store(name, "train", 400) for name in NAMES],
        "dev": [store("copies", "dev", 60), store("noise", "dev", 0)],
    }
    return SimpleNamespace(
        facets=[SimpleNamespace(name=name) for name in NAMES],
        stores=stores.__getitem__,
        dev=DevSet(stores["dev"], [np.arange(60), np.arange(0)]),
    )


@pytest.fixture(scope="module")
def trained(prepared):
    """A model that has learned to copy."""
    from facetmt.data.sampler import FacetSampler

    step = make_step(MODEL.graph, RECIPE.optimiser, num_facets=2, seed=1)
    state, sampler = create_state(MODEL.params), FacetSampler(prepared.stores("train"), RECIPE.batch, 1)
    for number in range(160):
        state, _ = step(state, sampler.next(number % 2), None, np.bool_(False))
    return state


def evidence(prepared, objective=None):
    policy = Auto(NAMES, [0.5, 0.5], [1.0, 0.0] if objective is None else objective)
    epochs = {"copies": 1.0, "noise": 1.0}
    return policy, Evidence(RECIPE, prepared, MODEL.graph, Placement(), policy, lambda: epochs)


def test_text_whose_targets_do_not_depend_on_its_sources_is_found(prepared, trained):
    policy, measure = evidence(prepared)
    news = []
    while (step := measure.state()["next"]) < 2000:
        news += measure(step, trained)
    assert policy.probs()[1] < 0.2
    assert any("noise reduced to" in sentence for sentence in news)


def test_nothing_is_measured_between_the_times_and_all_of_it_continues_from_its_state(prepared, trained):
    policy, measure = evidence(prepared)
    assert measure(7, trained) == [] and np.array_equal(policy.probs(), [0.5, 0.5])
    for _ in range(3):
        measure(measure.state()["next"], trained)
    again, resumed = evidence(prepared)
    again.restore(policy.state(), [0, 1])
    resumed.restore(measure.state())
    for _ in range(3):
        step = measure.state()["next"]
        assert measure(step, trained) == resumed(step, trained)
    assert again.state() == policy.state() and np.array_equal(again.probs(), policy.probs())


def test_the_cost_of_measuring_sets_the_pause(prepared):
    """2 x 4 rows of 24 tokens are measured, where a step has 8 rows of 12 tokens."""
    _, all_count = evidence(prepared, [1.0, 1.0])
    _, one_counts = evidence(prepared)
    # the dev pairs fill two batches of the same shape, every third time; two passes, or three and a gradient
    plain = (2 + 2 / 3) * 8 * 48 / (3 * 8 * 24)
    aligned = ((3 + 2 / 3) * 8 * 48 + 3 * 64 * 24) / (3 * 8 * 24)
    assert all_count.state()["next"] == 50 > plain / 0.1
    assert one_counts.state()["next"] == math.ceil(aligned / 0.1)


def test_source_use_and_alignment_by_hand(prepared, trained):
    """Swapped sources: each pair of a row reads its neighbour; alignment: the gain of a step, per token."""
    from facetmt.data.sampler import RowSampler
    from facetmt.train.loss import score

    shape = BatchConfig(rows=4, length=12)
    (batch,), _ = RowSampler(prepared.stores("train"), shape, 5).draw_rows([2, 2])
    params = trained.params
    moved = jax.tree.map(lambda leaf: leaf * 1.001, params)
    use, gain = np.asarray(make_measure(MODEL.graph, 2)(params, moved, batch))
    assert (batch.source_segment.max(axis=1) == 3).all()
    other = batch._replace(source_segment=np.select(
        [batch.source_segment == 1, batch.source_segment == 2, batch.source_segment == 3], [2, 3, 1], 0
    ).astype(np.int32))  # fmt: skip
    plain, length = score(MODEL.graph, params, batch)
    swapped, _ = score(MODEL.graph, params, other)
    ahead, _ = score(MODEL.graph, moved, batch)
    for facet, rows in enumerate((slice(0, 2), slice(2, 4))):
        tokens = float(length[rows].sum())
        assert ratio(use)[0][facet] == pytest.approx(float((plain - swapped)[rows].sum()) / tokens, rel=1e-4)
        assert ratio(gain)[0][facet] == pytest.approx(float((ahead - plain)[rows].sum()) / tokens, rel=1e-3)
    assert ratio(use)[0][0] > ratio(use)[0][1]


def test_alignment_is_the_product_of_the_gradients(prepared, trained):
    """⟨P·∇dev, ∇train_i⟩, so small a step that no curvature shows."""
    from facetmt.data.sampler import RowSampler
    from facetmt.train.evidence import STRIDE, make_stepped
    from facetmt.train.loss import plain_loss

    shape = BatchConfig(rows=4, length=12)
    (dev,), _ = RowSampler(prepared.stores("dev")[:1], shape, 5).draw_rows([4])
    (batch,), _ = RowSampler(prepared.stores("train"), shape, 5).draw_rows([2, 2])
    moved = make_stepped(MODEL.graph, RECIPE.optimiser)(trained, dev)
    _, gain = np.asarray(make_measure(MODEL.graph, 2)(trained.params, moved, batch), np.float64)
    slope = jax.grad(plain_loss, argnums=1)
    unbias = 1 / (1 - RECIPE.optimiser.beta2 ** float(trained.step))
    direction = jax.tree.map(
        lambda g, v: g / np.sqrt(v * unbias + 1e-24),
        slope(MODEL.graph, trained.params, dev),
        trained.variance,
    )
    for facet, rows in enumerate((slice(0, 2), slice(2, 4))):
        one = type(batch)(*(field[rows] for field in batch))
        product = sum(
            float(jnp.vdot(p, g))
            for p, g in zip(
                jax.tree.leaves(direction),
                jax.tree.leaves(slope(MODEL.graph, trained.params, one)),
                strict=True,
            )
        )
        assert ratio(gain)[0][facet] == pytest.approx(0.01 * STRIDE * product, rel=0.05, abs=1e-6)


def test_a_ratio_and_its_error():
    value = jnp.array([[1.0, 3.0, 0.0], [2.0, 0.0, 0.0]])
    length = jnp.array([[1.0, 2.0, 0.0], [2.0, 0.0, 0.0]])
    found, error = ratio(np.asarray(pair_sums(value, length, jnp.array([0, 1]), 3), np.float64))
    assert found[:2] == pytest.approx([4 / 3, 1.0]) and np.isnan(found[2])
    left = [1 - 4 / 3, 3 - 8 / 3]
    assert error[0] == pytest.approx(np.hypot(*left) / 3) and error[1] == 0.0


def test_where_all_facets_count_alike_no_gradient_is_taken(prepared):
    _, measure = evidence(prepared, [1.0, 1.0])
    assert measure.state()["objective"] is None
