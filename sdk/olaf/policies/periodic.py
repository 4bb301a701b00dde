"""iSwitch's rule: updates move the weights together, every so many or so often."""

from __future__ import annotations

import numpy as np

from olaf.policies.policy import RATE, Outcome, Policy, Update
from olaf.transport.segments import Segments, Vector, stretches


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
        """Raises ValueError without a limit, or for one that is not above 0."""
        limits = [limit for limit in (updates, seconds) if limit is not None]
        if not limits or min(limits) <= 0:
            raise ValueError(f"a period of {updates} updates or {seconds} s never ends; give one above 0")
        super().__init__(weights, segments, rate, seconds)
        self._updates = updates
        self._sum = np.zeros_like(self.weights)
        self._counts = [0] * self.segments.count

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Collected, or applied with all others."""
        self._sum[self.segments.span(update.segments)] += update.gradient
        outcomes = [self._collect(segment, update.count, now) for segment in update.segments]
        return stretches(outcomes, update.segments.start)

    def _collect(self, segment: int, count: int, now: float) -> Outcome:
        self._counts[segment] += count
        if self._updates is not None and self._counts[segment] >= self._updates:
            self._advance(range(segment, segment + 1))
            self._deadlines.end(segment)
            return Outcome.APPLIED
        self._deadlines.begin(segment, now)
        return Outcome.COLLECTED

    def _advance(self, segments: range) -> None:
        for segment in segments:
            place = self.segments.slice(segment)
            self.weights[place] += self.rate * (self._sum[place] / np.float32(self._counts[segment]))
            self._sum[place] = 0
            self._counts[segment] = 0
