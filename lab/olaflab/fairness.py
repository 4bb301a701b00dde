"""Jain's fairness index, as OLAF's tables 2 and 3 use it: f = μ² / (μ² + σ²)."""

import numpy as np
from numpy.typing import ArrayLike

from olafswitch.errors import BadInput, Problem


def jain_index(values: ArrayLike) -> float:
    """Return the index of n ≥ 1 finite values, none negative, in an array of any shape: (Σx)² / (n·Σx²).

    It lies in [1/n, 1]: 1/n when one has all, 1 when all are equal, all zero included. Raises BadInput
    without values, or with one that is negative, infinite or not a number.
    """
    shares = np.asarray(values, dtype=np.float64).ravel()
    if not shares.size:
        raise BadInput(Problem("fairness of no values at all"))
    if not np.isfinite(shares).all():
        raise BadInput(Problem("fairness of a value that is infinite or not a number"))
    if (shares < 0).any():
        raise BadInput(Problem("fairness of a negative value"))
    largest = shares.max()
    if largest == 0:
        return 1.0
    scaled = shares / largest  # so that no square overflows or vanishes
    return float(scaled.sum() ** 2 / (scaled.size * np.square(scaled).sum()))
