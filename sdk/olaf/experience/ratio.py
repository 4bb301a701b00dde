"""The ratio of samples drawn to rows inserted, which holds back either side.

The idea and the name are Reverb's SampleToInsertRatio; ARTOS has nothing like it.
"""

from __future__ import annotations

from olaf.experience.ring import Ring


class SampleToInsertRatio:
    """Holds the learner back when it would use rows too often, and actors when it cannot keep up."""

    def __init__(self, ring: Ring, ratio: float, tolerance: float, minimum: int = 1) -> None:
        """``ratio`` samples a row, give or take ``tolerance`` samples, once ``minimum`` rows are there.

        Raises ValueError for a tolerance below one insertion's samples: both sides could wait for ever.
        """
        if not ratio > 0 or tolerance < max(1.0, ratio) or minimum < 1:
            raise ValueError(
                f"ratio {ratio}, tolerance {tolerance} (at least {max(1.0, ratio)}), minimum {minimum}"
            )
        self._ring, self._ratio, self._tolerance, self._minimum = ring, ratio, tolerance, minimum

    @property
    def inserted(self) -> int:
        """Rows, of all actors."""
        return int(self._ring.count().sum())

    @property
    def sampled(self) -> int:
        """Rows drawn, by all processes."""
        return int(self._ring.control["sampled"][0])

    def may_insert(self, rows: int = 1) -> bool:
        """Whether so many rows more do not leave the learner too far behind."""
        after = self.inserted + rows
        return after <= self._minimum or after * self._ratio - self.sampled <= self._offset + self._tolerance

    def may_sample(self, rows: int = 1) -> bool:
        """Whether so many samples more do not use the rows too often."""
        inserted = self.inserted
        if inserted < self._minimum:
            return False
        return inserted * self._ratio - self.sampled - rows >= self._offset - self._tolerance

    def drew(self, rows: int) -> None:
        """Count samples."""
        with self._ring.locks.hold():
            self._ring.control["sampled"][0] += rows

    @property
    def _offset(self) -> float:
        """The rows that are there before the first sample are not owed to the learner."""
        return self._minimum * self._ratio
