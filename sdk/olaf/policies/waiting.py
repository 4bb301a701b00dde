"""Policies under which updates wait in a group, until a rule lets it make one step."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from olaf.policies.policy import RATE, Outcome, Update
from olaf.policies.stepping import Optimizer, Stepping
from olaf.transport.segments import Segments, Vector, stretches

DEADLINE = 1.0
"""Default of the seconds after which a group steps as it is."""


class Group:
    """What waits for one segment."""

    __slots__ = ("count", "stale", "weight")

    def __init__(self) -> None:
        self.count = 0
        """Worker updates."""
        self.stale = 0.0
        """The sum of their staleness."""
        self.weight = 0.0
        """The sum of their weights."""


class Waiting(Stepping):
    """A group of H worker updates steps along its weighted mean, (1/H) Σ w_i·g_i.

    The weights' mean f scales the step, and the gradient is the mean divided by f: the same thing without an
    optimiser; with one that normalises gradients, as Adam does, a common factor of these would cancel.

    After ``deadline`` seconds since its first update a group steps as it is, so that none waits for ever.
    What waits when the server dies is lost, as a frame on its way is.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        deadline: float | None = DEADLINE,
        optimizer: Optimizer | None = None,
    ) -> None:
        """Raises ValueError for a deadline that is not above 0."""
        super().__init__(weights, segments, rate, optimizer, deadline)
        self._sum = np.zeros_like(self.weights)
        self._groups = [Group() for _ in range(self.segments.count)]

    @abstractmethod
    def weigh(self, lag: float) -> float:
        """The weight of an update that is ``lag`` versions stale."""

    @abstractmethod
    def admits(self, segment: int, group: Group) -> bool:
        """Whether the group may step now."""

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Collected, or applied with the group."""
        begin = self.segments.span(update.segments).start
        outcomes = []
        for lag, part in update.stretches():
            weight, place = self.weigh(lag), self.segments.span(part)
            gradient = update.gradient[place.start - begin : place.stop - begin]
            self._sum[place] += gradient if weight == 1 else np.float32(weight) * gradient
            for segment in part:
                group = self._groups[segment]
                group.count += update.count
                group.stale += update.count * lag
                group.weight += update.count * weight
                admitted = self.admits(segment, group)
                if not admitted:
                    self._deadlines.begin(segment, now)
                outcomes.append(Outcome.APPLIED if admitted else Outcome.COLLECTED)
        found = stretches(outcomes, update.segments.start)
        for outcome, part in found:
            if outcome is Outcome.APPLIED:
                self._advance(part)
        return found

    def _advance(self, segments: range) -> None:
        """Make one step of each segment's group; equal ones together."""
        groups = self._groups[segments.start : segments.stop]
        for (weight, count), alike in stretches([(g.weight, g.count) for g in groups], segments.start):
            place = self.segments.span(alike)
            mean = self._sum[place] if weight == 1 else self._sum[place] / np.float32(weight)
            self._stepper.step(alike, mean, weight / count)
            self._sum[place] = 0
        for segment in segments:
            self._groups[segment] = Group()
            self._deadlines.end(segment)
