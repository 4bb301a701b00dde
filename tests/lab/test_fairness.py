"""Jain's index of fairness (OLAF table 2)."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaflab.fairness import jain_index
from olafswitch.errors import BadInput


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8))
def test_jain_is_the_papers_ratio_of_mean_and_variance(values: list[int]) -> None:
    """f = μ² / (μ² + σ²) (OLAF table 2), with the variance of the values themselves."""
    mean = Fraction(sum(values), len(values))
    variance = sum((value - mean) ** 2 for value in values) / Fraction(len(values))
    expected = mean**2 / (mean**2 + variance) if any(values) else Fraction(1)
    assert jain_index(values) == pytest.approx(float(expected), rel=1e-12)
    assert 1 / len(values) - 1e-12 <= jain_index(values) <= 1 + 1e-12


def test_jain_is_one_for_equals_and_one_nth_for_a_monopoly() -> None:
    assert jain_index([245, 245, 245]) == pytest.approx(1)
    assert jain_index([1, 0, 0, 0]) == pytest.approx(1 / 4)
    assert jain_index([0, 0]) == 1.0
    assert jain_index([1e300, 1e300]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("values", "says"), [([], "no values"), ([1, -1], "negative"), ([1, float("nan")], "not a number")]
)
def test_bad_values_are_reported(values: list[float], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        jain_index(values)
