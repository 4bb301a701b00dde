"""iSwitch's rule: updates move the weights together, every so many or so often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from olaf.policies.policy import RATE, Outcome, Policy, Update
from olaf.segments import Segments, Vector, stretches


class Periodic(Policy):
    """iSwitch: updates are collected and move the weights together, every ``updates`` or ``seconds``.

    w ← w + γ·(sum of all)/(worker updates in it). At least one of the two limits must be given.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        updates: int | None = None,
        seconds: float | None = None,
    ) -> None:
        """Raises ValueError when there is no limit, or one that is not above 0."""
        super().__init__(weights, segments, rate)
        limits = [limit for limit in (updates, seconds) if limit is not None]
        if not limits or min(limits) <= 0:
            raise ValueError(f"a period of {updates} updates or {seconds} s never ends; give one above 0")
        self._updates, self._seconds = updates, seconds
        self._sum = np.zeros_like(self.weights)
        self._counts = [0] * self.segments.count
        self._due: list[float | None] = [None] * self.segments.count

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Collected, or applied with all others."""
        self._sum[self.segments.span(update.segments)] += update.gradient
        outcomes = [self._collect(segment, update.count, now) for segment in update.segments]
        return stretches(outcomes, update.segments.start)

    def due(self) -> float | None:
        """The end of the period that ends first."""
        return min((due for due in self._due if due is not None), default=None)

    def tick(self, now: float) -> Sequence[int]:
        """Moves at the period's end."""
        over = [segment for segment, due in enumerate(self._due) if due is not None and now >= due]
        for segment in over:
            self._move(segment)
        return over

    def _collect(self, segment: int, count: int, now: float) -> Outcome:
        self._counts[segment] += count
        if self._due[segment] is None and self._seconds is not None:
            self._due[segment] = now + self._seconds
        if self._updates is not None and self._counts[segment] >= self._updates:
            self._move(segment)
            return Outcome.APPLIED
        return Outcome.COLLECTED

    def _move(self, segment: int) -> None:
        place = self.segments.slice(segment)
        self.weights[place] += self.rate * (self._sum[place] / np.float32(self._counts[segment]))
        self._sum[place] = 0
        self._counts[segment], self._due[segment] = 0, None
