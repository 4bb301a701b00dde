"""iSwitch's rule: updates move the weights together, every so many or so often."""

from __future__ import annotations

import math

from olaf.policies.policy import RATE
from olaf.policies.softsync import SoftSync
from olaf.transport.segments import Segments, Vector


class Periodic(SoftSync):
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
        super().__init__(weights, segments, rate, math.inf if updates is None else updates, seconds)
