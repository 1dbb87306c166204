"""The estimated share of misaligned pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.select.misaligned import misaligned_share


@given(st.floats(0, 1), st.integers(1, 2))
def test_the_share_of_a_mixture_is_found(share, directions):
    rng = np.random.default_rng(1)
    count = 2000
    scores = rng.normal(0, 1, (directions, count, 2))
    scores[:, round(share * count) :, 0] += 4
    assert misaligned_share(scores.astype(np.float32)) == pytest.approx(share, abs=0.08)


def test_lines_without_a_pair_do_not_count():
    values = np.array([[[-1, -1], [5, -1], [5, 1], [5, 1], [-np.inf, -np.inf], [5, np.nan]]], np.float32)
    assert misaligned_share(values) == pytest.approx(1 / 5)
    assert misaligned_share(values[:, 4:5]) == 0
