"""Check what comes from outside: another process, or numbers that are not finite."""

from __future__ import annotations

import logging
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from olaf.errors import Taken

_LOG = logging.getLogger("olaf")
_LARGEST = float(np.finfo(np.float32).max)


class OwnProcess:
    """Refuse the use of an object in a process that was forked after the object was made."""

    def __init__(self, what: str, remedy: str) -> None:
        self._what, self._remedy, self._process = what, remedy, os.getpid()

    @property
    def here(self) -> bool:
        """Whether this is the process that made the object."""
        return os.getpid() == self._process

    def check(self) -> None:
        """Raise Taken in any process but the one that made the object."""
        if not self.here:
            raise Taken(
                f"{self._what} belongs to process {self._process} and cannot be used in process "
                f"{os.getpid()}, which was forked from it: {self._remedy}"
            )


class Dropped:
    """Count values that are dropped because they are not finite in binary32; warn at the first."""

    def __init__(self, what: str) -> None:
        """``what`` was dropped, in the plural, such as "rewards"."""
        self._what, self.count = what, 0

    def add(self, number: int = 1) -> None:
        """Count dropped values."""
        if number and not self.count:
            _LOG.warning(
                "%s have numbers that are not finite in binary32; they are dropped, and so are later ones",
                self._what,
            )
        self.count += number


def usable(values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Mark the values that binary32 holds as finite numbers."""
    with np.errstate(invalid="ignore"):
        found: npt.NDArray[np.bool_] = np.abs(np.asarray(values, np.float64)) <= _LARGEST
    return found


def as_number(value: Any) -> float:
    """Return a number of any library as a Python float, whatever numpy is set to do about overflows."""
    with np.errstate(all="ignore"):
        return float(value)
