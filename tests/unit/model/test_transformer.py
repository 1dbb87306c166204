"""The model's size, its masks, and that packing, precision and rematerialisation change nothing."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from facetmt.model.config import ModelConfig
from facetmt.model.primitives import dropout_bits
from facetmt.model.transformer import Transformer, count_parameters, create, graph_of

TINY = {"width": 16, "mlp": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}


def size(config, vocabulary):
    shapes = nnx.eval_shape(lambda: Transformer(config, vocabulary, rngs=nnx.Rngs(0)))
    return count_parameters(nnx.to_pure_dict(nnx.state(shapes, nnx.Param)))


def test_base_and_big_have_the_published_size():
    # Vaswani et al. (2017), table 3: base 65M and big 213M, "about 37000" joint subwords.
    # Their big row agrees with 37k rows of embedding to the million; ours adds biases and norms (0.1M).
    assert abs(size(ModelConfig(preset="big"), 37_000) / 1e6 - 213) < 1.5
    # Their base rows (widths 256, 512 and 1024, 2 to 8 layers) all imply 41k-42k rows rather than 37k:
    # 65M = 44.1M in the layers + 20.9M of embedding. Same vocabulary, same size:
    assert abs(size(ModelConfig(preset="base"), 41_000) / 1e6 - 65) < 0.5
    # and with 37k rows ours is smaller by just those 4k rows.
    assert size(ModelConfig(preset="base"), 41_000) - size(ModelConfig(preset="base"), 37_000) == 4000 * 512


def test_the_size_is_the_sum_of_its_parts():
    width, mlp = 512, 2048
    attention, feed, norm = 4 * width**2, 2 * width * mlp + mlp + width, 2 * width
    layers = 6 * (attention + feed + 2 * norm) + 6 * (2 * attention + feed + 3 * norm)
    assert size(ModelConfig(preset="base"), 1000) == layers + 2 * norm + 1000 * width


def test_a_separate_source_vocabulary_and_an_untied_output_cost_a_matrix_each():
    config = ModelConfig(**TINY)
    joint = count_parameters(create(config, 20, seed=0).params)
    assert count_parameters(create(config, 20, 30, seed=0).params) == joint + 30 * 16
    assert count_parameters(create(ModelConfig(**TINY, tied=False), 20, seed=0).params) == joint + 20 * 16


@partial(jax.jit, static_argnums=0)
def run(graph, params, source, target, segments, positions, key):
    module = nnx.merge(graph, params)
    bits = None if key is None else dropout_bits(key, module.sites)
    first, second = (None, None) if key is None else jnp.split(bits, [module.encoder_sites])
    memory = module.encode(source, segments[0], positions[0], first)
    return module.logits(module.decode(target, segments[1], positions[1], memory, segments[0], second))


def forward(model, source, target, segments=None, positions=None, key=None):
    """Logits [R, T, V]; one segment a row unless given."""
    segments = segments or (np.ones_like(source), np.ones_like(target))
    positions = positions or tuple(
        np.broadcast_to(np.arange(ids.shape[1]), ids.shape) for ids in (source, target)
    )
    return np.asarray(run(model.graph, model.params, source, target, segments, positions, key))


@pytest.fixture(scope="module")
def model():
    return create(ModelConfig(**TINY, dropout=0.2), 20, seed=0)


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    lengths = [(3, 4), (5, 2), (2, 3)]
    return [tuple(rng.integers(4, 20, (1, n)).astype(np.int32) for n in pair) for pair in lengths]


def packed(rows, source_length, target_length):
    """Each list of pairs in one row, with segments and positions, padded at the end."""
    arrays = []
    for side, length in ((0, source_length), (1, target_length)):
        ids, segment, position = (np.zeros((len(rows), length), np.int32) for _ in range(3))
        for row, pairs in enumerate(rows):
            start = 0
            for number, pair in enumerate(pairs, 1):
                stop = start + pair[side].shape[1]
                ids[row, start:stop], segment[row, start:stop] = pair[side][0], number
                position[row, start:stop] = np.arange(stop - start)
                start = stop
        arrays.append((ids, segment, position))
    (source, *source_rest), (target, *target_rest) = arrays
    segments, positions = zip(source_rest, target_rest, strict=True)
    return source, target, segments, positions


def test_a_packed_row_gives_what_its_pairs_give_alone(model, pairs):
    rows = [pairs, *([pair] for pair in pairs)]
    together, *alone = forward(model, *packed(rows, 13, 12))
    expected = np.concatenate([row[: pair[1].shape[1]] for row, pair in zip(alone, pairs, strict=True)])
    np.testing.assert_allclose(together[: len(expected)], expected, atol=1e-5)
    assert np.isfinite(together).all()


def test_no_target_position_sees_the_future(model):
    source, target = np.array([[5, 6, 7]]), np.array([[2, 8, 9, 10]])
    changed = np.array([[2, 8, 15, 16]])
    before, after = forward(model, source, target), forward(model, source, changed)
    np.testing.assert_array_equal(before[:, :2], after[:, :2])
    assert np.abs(before[:, 2:] - after[:, 2:]).max() > 1e-3


def test_every_target_position_sees_the_whole_source(model):
    target = np.array([[2, 8, 9]])
    before = forward(model, np.array([[5, 6, 7]]), target)
    after = forward(model, np.array([[5, 6, 11]]), target)
    assert (np.abs(before - after).max(axis=-1) > 1e-4).all()


def test_rows_of_padding_alone_are_finite(model):
    nothing = np.zeros((2, 4), np.int32)
    segments, positions = (nothing, nothing), (nothing, nothing)
    assert np.isfinite(forward(model, nothing, nothing, segments, positions)).all()


def test_dropout_depends_on_the_key_alone(model, pairs):
    first, again, other = (forward(model, *pairs[0], key=jax.random.key(k)) for k in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3
    assert np.abs(first - forward(model, *pairs[0])).max() > 1e-3


def test_rematerialisation_changes_no_gradient(pairs):
    gradients = []
    for remat in (False, True):
        config = ModelConfig(**TINY, dropout=0.2, remat=remat)
        model = create(config, 20, seed=0)

        def loss(params, graph=model.graph):
            module = nnx.merge(graph, params)
            ones, positions = np.ones_like(pairs[0][0]), np.arange(3)[None]
            bits = dropout_bits(jax.random.key(1), module.encoder_sites)
            memory = module.encode(pairs[0][0], ones, positions, bits)
            return jnp.sum(memory**2)

        gradients.append(jax.jit(jax.grad(loss))(model.params))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), *gradients)


def test_bfloat16_computes_near_float32_and_keeps_float32_parameters(model, pairs):
    config = ModelConfig(**TINY, dropout=0.2, compute="bfloat16")
    half = create(config, 20, seed=0)
    assert {leaf.dtype for leaf in jax.tree.leaves(half.params)} == {jnp.dtype("float32")}
    exact, rough = forward(model, *pairs[0]), forward(half, *pairs[0])
    assert rough.dtype == np.float32
    assert 0 < np.abs(exact - rough).max() < 0.1


def test_the_seed_alone_decides_the_parameters(model):
    again, other = (create(ModelConfig(**TINY, dropout=0.2), 20, seed=seed) for seed in (0, 1))
    jax.tree.map(np.testing.assert_array_equal, model.params, again.params)
    assert np.abs(
        model.params["target_embedding"]["embedding"] - other.params["target_embedding"]["embedding"]
    ).max()
    assert graph_of(ModelConfig(**TINY, dropout=0.2), 20) == model.graph
