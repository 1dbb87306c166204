"""The errors of the matrix: neither too small nor far too large, and of the right distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.report.student import student_quantile
from facetmt.train.jackknife import two_samples

TRUE = np.array([1.5, 1.0, 0.5])
SHARES = TRUE / TRUE.mean()


def products(rng, dev=0.5, train=0.5, groups=10):
    """Inner products of noisy directions and noisy gradients in a space of many dimensions: [G, F, H]."""
    size = 200
    direction = np.ones(size) / np.sqrt(size)
    ahead = direction + dev * rng.standard_normal((groups, size)) / np.sqrt(size) * 4
    gradients = (
        TRUE[:, None, None] * direction + train * rng.standard_normal((3, groups, size)) / np.sqrt(size) * 4
    )
    return np.einsum("gp,fhp->gfh", ahead, gradients)


def relative(found):
    return found / found.mean()


@pytest.mark.parametrize(("dev", "train"), [(0.5, 0.5), (1.0, 0.1), (0.1, 1.0)])
def test_intervals_hold_what_they_promise(dev, train):
    rng = np.random.default_rng(1)
    inside, errors, values = [], [], []
    for _ in range(400):
        found = two_samples(products(rng, dev, train), relative)
        wide = np.array([student_quantile(0.975, nu) for nu in found.freedom])
        inside.append(np.abs(found.value - SHARES) < wide * found.error)
        errors.append(found.error)
        values.append(found.value)
    assert 0.93 < np.mean(inside) <= 1.0
    # not so safe as to be useless either
    assert np.mean(errors, axis=0) == pytest.approx(np.std(values, axis=0), rel=0.35)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 12), st.floats(0.1, 10))
def test_scale_does_not_matter_and_freedom_is_between_both_samples(seed, groups, others, scale):
    rng = np.random.default_rng(seed)
    table = 5 + rng.standard_normal((groups, 4, others))
    one, other = two_samples(table, relative), two_samples(table * scale, relative)
    assert np.allclose(one.value, other.value) and np.allclose(one.error, other.error)
    assert np.all(one.freedom >= min(groups, others) - 1 - 1e-9)
    assert np.all(one.freedom <= groups + others - 2 + 1e-9)
    assert one.value.mean() == pytest.approx(1.0)


def test_without_any_scatter_the_error_is_zero():
    found = two_samples(np.ones((3, 2, 4)), relative)
    assert found.error.tolist() == [0.0, 0.0] and found.freedom.tolist() == [2.0, 2.0]
