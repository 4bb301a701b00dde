"""Non-negative numbers of which one can be drawn in proportion, in logarithmic time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from olaf.experience.ring import Integers

Floats = npt.NDArray[np.float64]


class SumTree:
    """A binary tree whose inner nodes are the sums of what is below them."""

    def __init__(self, size: int) -> None:
        """``size`` zeros."""
        self._base = 1 << max(size - 1, 1).bit_length()
        self._nodes = np.zeros(2 * self._base)
        self.leaves: Floats = self._nodes[self._base : self._base + size]
        """(size,) To be read; :meth:`set` writes."""

    @property
    def total(self) -> float:
        """The sum."""
        return float(self._nodes[1])

    def set(self, places: Integers, values: npt.ArrayLike) -> None:
        """Write numbers; of a place that is named twice, the last counts."""
        leaves = places + self._base
        self._nodes[leaves] = values
        nodes = np.sort(leaves)
        while len(nodes) and nodes[0] > 1:
            nodes = nodes >> 1
            nodes = nodes[np.append(True, nodes[1:] != nodes[:-1])]  # still sorted: each parent once
            self._nodes[nodes] = self._nodes[2 * nodes] + self._nodes[2 * nodes + 1]

    def fill(self, values: Floats) -> None:
        """Write all numbers, (size,)."""
        self.leaves[:] = values
        level = self._base
        while level > 1:
            below = self._nodes[level : 2 * level]
            level //= 2
            np.add(below[::2], below[1::2], out=self._nodes[level : 2 * level])

    def find(self, sums: Floats) -> Integers:
        """For each of ``sums``, in [0, total), the place at which the running sum exceeds it."""
        left, nodes = sums.copy(), np.ones(len(sums), np.int64)
        for _ in range(self._base.bit_length() - 1):
            nodes *= 2
            below = self._nodes[nodes]
            right = left >= below
            left -= np.where(right, below, 0.0)
            nodes += right
        places: Integers = np.minimum(nodes - self._base, len(self.leaves) - 1)
        return places
