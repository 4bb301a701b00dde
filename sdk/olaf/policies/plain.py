"""Every update moves the weights."""

from __future__ import annotations

import numpy as np

from olaf.policies.policy import BLOCK, RATE, Outcome, Policy, Update
from olaf.transport.segments import Segments, Vector


class Plain(Policy):
    """Every update moves the weights: w ← w + γ·sum, as if its constituents had come one by one.

    So n workers move them n times as far as one does in the same time: the effective rate of learning grows
    with their number. With ``workers`` = n each moves them by an n-th, and together by the mean.
    """

    def __init__(
        self, weights: Vector, segments: Segments | None = None, rate: float = RATE, workers: int = 1
    ) -> None:
        """Raises ValueError for no workers."""
        if workers < 1:
            raise ValueError(f"a mean over {workers} workers is impossible")
        super().__init__(weights, segments, rate)
        self._step = np.float32(rate / workers)

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Always applied."""
        weights = self.weights[self.segments.span(update.segments)]
        for start in range(0, len(weights), BLOCK):
            block = slice(start, start + BLOCK)
            weights[block] += self._step * update.gradient[block]
        return [(Outcome.APPLIED, update.segments)]
