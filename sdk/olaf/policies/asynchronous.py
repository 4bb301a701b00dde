"""Pure asynchrony: every update is a step as it arrives, however stale."""

from __future__ import annotations

import numpy as np

from olaf.policies.policy import RATE, Outcome, Update
from olaf.policies.stepping import Optimizer, Stepping
from olaf.transport.segments import Segments, Vector


class Asynchronous(Stepping):
    """Every update is a step. A frame of c merged ones is one of c times the length, along their mean.

    n learners that are always busy are then n - 1 versions stale in the mean.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        optimizer: Optimizer | None = None,
    ) -> None:
        """Like any policy that steps; without a deadline, since nothing waits."""
        super().__init__(weights, segments, rate, optimizer)

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Always applied."""
        count = update.count
        mean = update.gradient if count == 1 else update.gradient / np.float32(count)
        self._stepper.step(update.segments, mean, count)
        return [(Outcome.APPLIED, update.segments)]
