"""The rows of a ring that can be drawn, as they are at one moment."""

from __future__ import annotations

import numpy as np

from olaf.experience.ring import Integers, Ring


class Window:
    """From the oldest whole row of each actor to the newest whose successor is there, closing rows left out.

    Rows are counted by *ordinal*: how many that can be drawn lie before it in its actor's window. The write
    head is the end of every window, so nothing that is counted on from a row runs across it.
    """

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._following = ring.layout.following is not None
        self.stop: Integers = np.maximum(ring.count() - self._following, 0)
        """(actors,) After the last row."""
        begin = ring.first()[: len(self.stop)]
        self.first: Integers = np.minimum(begin, self.stop)
        """(actors,) The first row."""
        actors = np.arange(len(self.first))
        self._closed = self._closings(actors, self.first)
        self.sizes: Integers = self.ordinal(actors, self.stop)
        """(actors,) How many rows."""
        while self._following and len(moved := np.flatnonzero(ring.first()[: len(begin)] != begin)):
            # A writer may have overwritten the first row while its episode's number was read.
            self.stop[moved] = np.maximum(ring.count()[moved] - 1, 0)
            begin[moved] = ring.first()[moved]
            self.first[moved] = np.minimum(begin[moved], self.stop[moved])
            self._closed[moved] = self._closings(moved, self.first[moved])
            self.sizes[moved] = self.ordinal(moved, self.stop[moved])

    @property
    def total(self) -> int:
        """How many rows, of all actors."""
        return int(self.sizes.sum())

    def ordinal(self, actors: Integers, positions: Integers) -> Integers:
        """The ordinals of rows; of one to the end of the window, the number of rows before it."""
        passed = positions - self.first[actors]
        if not self._following:
            return passed
        return passed - (self._closings(actors, positions) - self._closed[actors]) % (1 << 32)

    def usable(self, actors: Integers, positions: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """The rows within the window that do not close an episode."""
        if not self._following:
            return np.ones(len(positions), bool)
        return ~self._ring.closing(actors, positions)

    def after(self, actors: Integers, positions: Integers) -> Integers:
        """The next row that can be drawn after each; it may be the window's end."""
        return positions + 1 + ~self.usable(actors, positions + 1)

    def spread(self, random: np.random.Generator, count: int, apart: int = 1) -> tuple[Integers, Integers]:
        """Draw ``count`` rows, with as many as ``apart`` from each to its window's end, all equally likely.

        Raises IndexError where there is none.
        """
        spans = np.where(self.sizes >= apart, np.maximum(self.stop - self.first - apart + 1, 0), 0)
        ends = np.cumsum(spans)
        if not len(ends) or not ends[-1]:
            raise IndexError(f"no {apart} rows to draw: all actors have {self.total}")
        actors, positions = np.empty(count, np.int64), np.empty(count, np.int64)
        have = 0
        while have < count:
            spots = random.integers(0, ends[-1], count - have)
            drawn = np.searchsorted(ends, spots, side="right")
            places = self.first[drawn] + spots - (ends[drawn] - spans[drawn])
            if self._following:
                fits = self.ordinal(drawn, places) <= self.sizes[drawn] - apart
                fits &= self.usable(drawn, places)
                drawn, places = drawn[fits], places[fits]
            actors[have : have + len(drawn)], positions[have : have + len(drawn)] = drawn, places
            have += len(drawn)
        return actors, positions

    def _closings(self, actors: Integers, positions: Integers) -> Integers:
        """How many rows before each close an episode, modulo 2³²."""
        return self._ring.column("episode")[self._ring.slots(actors, positions)].astype(np.int64)
