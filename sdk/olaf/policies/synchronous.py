"""SwitchML's rule: the weights move when all workers have contributed."""

from __future__ import annotations

import numpy as np

from olaf.policies.policy import RATE, Outcome, Policy, Update
from olaf.transport.port import Address
from olaf.transport.segments import Segments, Vector, stretches


class Synchronous(Policy):
    """SwitchML: the weights move when all ``workers`` have contributed, by the mean of their gradients.

    A member that sends again within a round replaces what it sent; a merged frame counts for all in it.
    After ``deadline`` seconds since the first contribution the round ends with those that are there.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        workers: int = 1,
        deadline: float | None = None,
    ) -> None:
        """Raises ValueError for no workers or a deadline not above 0."""
        if workers < 1 or (deadline is not None and deadline <= 0):
            raise ValueError(f"a round of {workers} workers within {deadline} s is impossible")
        super().__init__(weights, segments, rate, deadline)
        self._workers = workers
        self._merged = np.zeros_like(self.weights)
        self._merged_counts = [0] * self.segments.count
        self._single: list[dict[Address, Vector]] = [{} for _ in range(self.segments.count)]

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Collected, or applied with the round."""
        begin = self.segments.span(update.segments).start
        outcomes = []
        for segment in update.segments:
            place = self.segments.slice(segment)
            gradient = update.gradient[place.start - begin : place.stop - begin]
            if update.count == 1:
                self._single[segment][update.member] = gradient.copy()
            else:
                self._merged[place] += gradient
                self._merged_counts[segment] += update.count
            outcomes.append(self._contributed(segment, now))
        return stretches(outcomes, update.segments.start)

    def _contributed(self, segment: int, now: float) -> Outcome:
        if self._merged_counts[segment] + len(self._single[segment]) >= self._workers:
            self._advance(range(segment, segment + 1))
            self._deadlines.end(segment)
            return Outcome.APPLIED
        self._deadlines.begin(segment, now)
        return Outcome.COLLECTED

    def _advance(self, segments: range) -> None:
        for segment in segments:
            place, single = self.segments.slice(segment), self._single[segment]
            total = self._merged[place]
            for gradient in single.values():
                total = total + gradient
            count = np.float32(self._merged_counts[segment] + len(single))
            self.weights[place] += self.rate * (total / count)
            self._merged[place] = 0
            self._merged_counts[segment] = 0
            single.clear()
