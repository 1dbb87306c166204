"""MultiDDS-S's measurement on a model that is small enough to compute every cosine."""

import itertools
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from facetmt.bandit import MultiDds, temperature_probs
from facetmt.data.batch import EOS
from facetmt.data.config import BatchConfig
from facetmt.data.dev import DevSet
from facetmt.data.store import StoreWriter, open_store
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.train.alignment import Alignment
from facetmt.train.loss import facet_loss
from facetmt.train.place import Placement

SHAPE = BatchConfig(rows=3, length=12)
SIZES = {"rare": 8, "large": 300, "noise": 300}
MODEL = create(
    ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0), 20, seed=0
)


def target(facet: str, rng: np.random.Generator) -> list[int]:
    """The dev text is like `rare`; `noise` looks like neither."""
    words = {"rare": (4, 6), "large": (4, 12), "noise": (12, 20)}[facet]
    return rng.integers(*words, 4).tolist()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("stores"), np.random.default_rng(1)

    def store(facet: str, split: str, count: int, like: str):
        with StoreWriter(folder / f"{facet}-{split}", facet, split, "v", np.dtype(np.uint16)) as writer:
            for _ in range(count):
                ids = [*rng.integers(4, 20, 4), EOS, *target(like, rng), EOS]
                writer.append(np.array(ids), np.array([[5, 5]]))
        return open_store(folder / f"{facet}-{split}")

    stores = {
        "train": [store(name, "train", size, name) for name, size in SIZES.items()],
        "dev": [
            store(name, "dev", count, "rare") for name, count in (("rare", 40), ("large", 40), ("noise", 0))
        ],
    }
    chosen = [np.arange(40), np.arange(40), np.arange(0)]
    return SimpleNamespace(stores=stores.__getitem__, dev=DevSet(stores["dev"], chosen))


@pytest.fixture(scope="module")
def measure(prepared):
    return lambda: Alignment(MODEL.graph, prepared, SHAPE, 5, Placement())


def test_r_is_the_mean_cosine_with_the_dev_gradient_of_each_facet(prepared, measure):
    """R(i) = mean_j cos(∇dev_j, ∇train_i), one cosine at a time."""

    def gradient(batch):
        def loss(params):
            sums = facet_loss(MODEL.graph, params, batch, 3)
            return sums.loss.sum() / sums.tokens.sum()

        return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(jax.grad(loss)(MODEL.params))])

    def cosine(one, other):
        return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))

    found = measure()
    dev = [gradient(found._dev.draw(found._dev.cursor(j), j)[0]) for j in range(2)]  # noise has no dev text
    train = [gradient(found._train.draw(found._train.cursor(i), i)[0]) for i in range(3)]
    expected = [np.mean([cosine(one, d) for d in dev]) for one in train]
    assert found(MODEL.params) == pytest.approx(expected, abs=1e-4)
    assert expected[0] > expected[1] > expected[2]


def test_every_measurement_looks_at_new_batches_and_goes_on_from_its_state(measure):
    found, again = measure(), measure()
    first, second = found(MODEL.params), found(MODEL.params)
    assert first != second
    again(MODEL.params)
    resumed = measure()
    resumed.restore(again.state())
    assert resumed(MODEL.params) == second


def test_a_facet_that_clearly_helps_at_least_doubles_within_the_recipes_measurements(measure):
    """TED: 50,000 steps measured every 1,000; Adam at 1e-4, 200 steps of it each time."""
    start = temperature_probs(list(SIZES.values()), 1.0)
    policy = MultiDds(3, learning_rate=1e-4, updates=200, prior=start)
    found = measure()
    for _ in range(50):
        policy.update(list(enumerate(found(MODEL.params))), 1.0)
    assert policy.probs()[0] > 2 * start[0]
    for low, high in itertools.pairwise(policy.probs()[[2, 1]]):
        assert low < high
