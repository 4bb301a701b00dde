"""The header's ``gen_time``: nanoseconds modulo 2**48, compared as serial numbers (as RFC 1982 does for DNS).

2**48 ns are 78 hours. Two generation times compare correctly when they are less than half of that apart,
39 hours. All functions take Python integers or integer arrays (which broadcast) and return the same.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

GEN_TIME_BITS = 48
_MASK = (1 << GEN_TIME_BITS) - 1
_HALF = 1 << (GEN_TIME_BITS - 1)

Times = TypeVar("Times", int, NDArray[np.int64])


def gen_time_of(time: Times) -> Times:
    """The ``gen_time`` that a frame carries for a time in ns."""
    return time & _MASK


def at_least_as_new(one: Times, other: Times) -> "bool | NDArray[np.bool_]":
    """Whether ``gen_time`` ``one`` is newer than ``other`` or the same: (one - other) mod 2**48 < 2**47."""
    return ((one - other) & _MASK) < _HALF


def nearest_time(gen_time: Times, near: Times) -> Times:
    """The time in ns, nearest to ``near``, for which a frame carries ``gen_time``.

    With ``near`` the time of reception this is the generation time: exact for ages below 39 hours, and
    later than ``near`` where the sender's clock is ahead.
    """
    return near - _HALF + 1 + ((gen_time - near + _HALF - 1) & _MASK)
