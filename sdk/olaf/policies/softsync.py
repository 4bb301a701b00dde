"""SoftSync: the weights move whenever so many updates are there, of any workers."""

from __future__ import annotations

from olaf.policies.policy import RATE
from olaf.policies.stepping import Optimizer
from olaf.policies.waiting import DEADLINE, Group, Waiting
from olaf.transport.segments import Segments, Vector


class SoftSync(Waiting):
    """A group of ``updates`` worker updates steps along its plain mean; with 1 it is pure asynchrony."""

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        updates: float = 2,
        deadline: float | None = DEADLINE,
        optimizer: Optimizer | None = None,
    ) -> None:
        """Raises ValueError for a group of none, or a deadline that is not above 0."""
        super().__init__(weights, segments, rate, deadline, optimizer)
        if updates < 1:
            raise ValueError(f"a group of {updates} updates is impossible")
        self._updates = updates

    def weigh(self, lag: float) -> float:
        """Weigh all updates equally."""
        return 1.0

    def admits(self, segment: int, group: Group) -> bool:
        """Whether the group is complete."""
        return group.count >= self._updates
