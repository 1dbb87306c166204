import numpy as np
import pytest

from facetmt.adapters.indices import Indices, grouped, indices_by_facet

NAMES = ["law", "it"]


@pytest.mark.parametrize(
    "facets",
    [
        {"law": [0, 2], "it": [1, 3, 4]},
        {"law": range(0, 4, 2), "it": np.array([1, 3, 4])},
        ["law", "it", "law", "it", "it"],
        np.array(["law", "it", "law", "it", "it"]),
    ],
)
def test_samples_of_each_facet(facets):
    law, it = indices_by_facet(facets, NAMES)
    assert law[np.array([1, 0])].tolist() == [2, 0] and it[np.arange(3)].tolist() == [1, 3, 4]


def test_a_column_longer_than_a_chunk():
    column = ["it" if number % 3 else "law" for number in range(200_000)]
    rows = grouped(column, NAMES)
    assert np.array_equal(rows["law"], np.arange(0, 200_000, 3)) and len(rows["it"]) == 133_333


def test_a_column_of_numbers():
    assert grouped(np.array([7, 8, 7]), ["7", "8"])["7"].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("facets", "message"),
    [
        ({"law": [0], "it": []}, "'it' has no samples"),
        ({"law": [0], "it": [1], "new": [2]}, "does not know the facet 'new'; it has law, it"),
        (["law", "it", "new"], "does not know the facet 'new'; it has law, it"),
        ({"law": [0.5], "it": [1]}, "whole numbers"),
        ({"law": [0, -1], "it": [1]}, "index -1"),
        ({"law": range(-2, 3), "it": [1]}, "index -2"),
    ],
)
def test_what_cannot_be_right_is_refused(facets, message):
    with pytest.raises(ValueError, match=message):
        indices_by_facet(facets, NAMES)


def test_large_indices_are_kept():
    assert Indices([2**40, 1])[np.array([0])].tolist() == [2**40]
