import pytest

from facetmt.report.student import student_quantile


@pytest.mark.parametrize(
    ("tail", "freedom", "value"),
    [(0.025, 9, 2.262), (0.001, 9, 4.297), (2e-4, 12, 4.847), (2e-5, 18, 5.393), (0.025, 1e9, 1.960)],
)
def test_students_quantiles_as_in_tables(tail, freedom, value):
    assert student_quantile(1 - tail, freedom) == pytest.approx(value, rel=0.003)
    assert student_quantile(tail, freedom) == pytest.approx(-value, rel=0.003)
