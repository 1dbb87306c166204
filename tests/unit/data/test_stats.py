import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.data.stats import entropy


def test_the_papers_multi_domain_row():
    """Table 1 gives 85.4 % for the sizes of the multi-domain task (in thousands)."""
    assert entropy([248_000, 467_300, 222_900, 18_000, 500_000]) == pytest.approx(85.4, abs=0.05)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=50))
def test_entropy_is_a_share(sizes):
    assert 0 <= entropy(sizes) <= 100 + 1e-9
    assert entropy([7] * len(sizes)) == pytest.approx(100)
