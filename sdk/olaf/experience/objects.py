"""Objects shared beside the rows: a model's weights, a noise scale (ARTOS §4.2, its model block)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from olaf.experience.memory import fence

Values = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int64]


class Objects:
    """Named vectors with one writer each and any number of readers, who never wait for each other."""

    def __init__(self, places: Mapping[str, tuple[npt.NDArray[Any], Counts]]) -> None:
        """Each has two places in turn, and counts: begun, published, the version in either place."""
        self._places = places

    def publish(self, name: str, values: npt.ArrayLike, version: int) -> None:
        """Replace an object: readers see the old or the new one, whole."""
        places, counts = self._places[name]
        number = int(counts[1]) + 1
        counts[0] = number
        fence()
        places[number % 2] = values
        counts[2 + number % 2] = version
        fence()
        counts[1] = number

    def published(self, name: str) -> int:
        """How many times an object was published."""
        return int(self._places[name][1][1])

    def read(self, name: str) -> tuple[Values, int] | None:
        """A copy of an object and its version; None before there is one."""
        places, counts = self._places[name]
        while True:
            number = int(counts[1])
            if number == 0:
                return None
            fence()
            values, version = places[number % 2].copy(), int(counts[2 + number % 2])
            fence()
            if counts[0] <= number + 1:
                return values, version
