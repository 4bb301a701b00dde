"""Jain's fairness index, as OLAF's tables 2 and 3 use it: f = μ² / (μ² + σ²)."""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from olafctl.errors import BadInput, Problem


def jain_exact(values: Iterable[int | Fraction]) -> Fraction:
    """The index of non-negative values: 1/n when one has all, 1 when all are equal (all zero included).

    Raises BadInput without values or with a negative one.
    """
    shares = tuple(values)
    _check(len(shares), any(share < 0 for share in shares))
    squares = sum(share * share for share in shares)
    total = sum(shares)
    return Fraction(total * total, len(shares) * squares) if squares else Fraction(1)


def jain(values: ArrayLike) -> float:
    """:func:`jain_exact` in floating point, of an array of any shape."""
    shares = np.asarray(values, dtype=np.float64).ravel()
    _check(shares.size, bool(np.any(shares < 0)))
    largest = shares.max()
    if largest == 0:
        return 1.0
    scaled = shares / largest
    return float(scaled.sum() ** 2 / (scaled.size * np.square(scaled).sum()))


def _check(count: int, negative: bool) -> None:
    if not count:
        raise BadInput(Problem("fairness of no values at all"))
    if negative:
        raise BadInput(Problem("fairness of a negative value"))
