import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from facetmt.permutation import permuted, stream_key


@given(st.integers(1, 3000), st.integers(0, 5), st.integers(0, 2**62))
def test_every_epoch_is_a_permutation(n, epoch, key):
    index = permuted(np.arange(epoch * n, (epoch + 1) * n), n, key)
    assert np.array_equal(np.sort(index), np.arange(n))


@given(st.integers(1, 10**12), st.lists(st.integers(0, 10**15), max_size=20), st.integers(0, 2**62))
def test_positions_are_independent_of_each_other(n, positions, key):
    together = permuted(np.array(positions, np.int64), n, key)
    alone = [int(permuted(np.array([position]), n, key)[0]) for position in positions]
    assert together.tolist() == alone
    assert all(0 <= index < n for index in alone)


def test_epochs_and_keys_give_different_orders():
    n = 1000
    orders = [permuted(np.arange(n) + n * epoch, n, key).tolist() for epoch in (0, 1) for key in (1, 2)]
    assert len({tuple(order) for order in orders}) == 4


def test_orders_look_uniform():
    """Each index falls into each tenth of the epoch equally often: chi-square over 2,000 epochs."""
    n, epochs = 20, 2000
    index = permuted(np.arange(n * epochs), n, 7).reshape(epochs, n)
    for width in (1, 2):  # single places, and neighbours
        pairs = index[:, :width] @ (n ** np.arange(width))
        counts = np.bincount(pairs, minlength=n**width).astype(float)
        cells = n if width == 1 else n * (n - 1)
        counts = np.sort(counts)[-cells:]  # a permutation never has the same index twice
        expected = epochs / cells
        chi = ((counts - expected) ** 2 / expected).sum()
        assert abs(chi - (cells - 1)) < 6 * (2 * (cells - 1)) ** 0.5


def test_stream_keys_tell_their_parts_apart():
    assert stream_key(1, "facet", "it") == stream_key(1, "facet", "it")
    assert (
        len({stream_key(1, "a", "b"), stream_key(1, "ab"), stream_key(2, "a", "b"), stream_key(1, "b", "a")})
        == 4
    )
