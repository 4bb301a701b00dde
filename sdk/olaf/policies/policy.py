"""What every policy is: one model's weights, and the rule by which updates move them.

The weights w belong to the policy; an update carries the *sum* of the gradients of ``count`` worker
updates, since the network may have merged them. Gradients ascend: w ← w + γ·g.

Each segment of a model is a small model of its own: what follows states of "the weights" or "the global
reward" holds for each. Segments that arrive together are one update of all of them, which has to do exactly
what they would one by one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Callable

import numpy as np

from olaf.policies.deadlines import Deadlines
from olaf.transport.port import Address
from olaf.transport.segments import Segments, Vector, representable, stretches

RATE = 0.001
"""Default of γ (OLAF §2.1)."""

BLOCK = 1 << 15
"""Values computed with at a time, so that what is in between stays in the processor's cache."""

State = dict[str, Vector]
"""A policy's memory as arrays, for a checkpoint."""


@dataclass
class Update:
    """Received frames of neighbouring segments; ``gradient`` is a view that lives only during the call."""

    gradient: Vector
    """The gradient of these segments, (n,)."""
    count: int
    reward: float
    member: Address
    """The newest contributor."""
    segments: range = range(1)
    lags: Sequence[float] = ()
    """Staleness δ of each segment, in versions, at arrival; empty where all are fresh. Of a merged update it
    is the mean of its constituents', or if the frame does not carry that, the oldest's."""

    def stretches(self) -> list[tuple[float, range]]:
        """Neighbouring segments of equal staleness, with it."""
        if not self.lags:
            return [(0, self.segments)]
        return stretches(list(self.lags), self.segments.start)


class Outcome(Enum):
    """What became of a segment's update."""

    APPLIED = "applied"
    """The weights moved."""
    COLLECTED = "collected"
    """It will move them with others; its sender then receives the new weights."""
    REFUSED = "refused"


class Policy(ABC):
    """One model's weights and the rule that moves them."""

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        deadline: float | None = None,
    ) -> None:
        """``weights`` has shape (n,) and is copied; without ``segments`` it is one. ``rate`` is γ.

        What waits in a segment steps after ``deadline`` seconds in any case; ValueError for none above 0, or
        a rate that binary32 cannot hold.
        """
        if not representable(rate) or rate == -math.inf:
            raise ValueError(f"a rate of {rate}; give a finite number")
        if deadline is not None and not deadline > 0:
            raise ValueError(f"a deadline of {deadline} s; give a deadline above 0")
        self.weights: Vector = np.array(weights, dtype="<f4")
        self.segments = segments or Segments(len(weights), 1)
        self.rate = np.float32(rate)
        self._deadlines = Deadlines(deadline)

    @abstractmethod
    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """An update arrived; ``now`` in seconds. Returns what became of its segments, in order."""

    def due(self) -> float | None:
        """When ``tick`` has something to do, in seconds; None for not at all."""
        return self._deadlines.first()

    def tick(self, now: float) -> Sequence[int]:
        """Time has passed; which segments' weights moved."""
        over = self._deadlines.passed(now)
        for segment in over:
            self._advance(range(segment, segment + 1))
            self._deadlines.end(segment)
        return over

    def _advance(self, segments: range) -> None:
        """Step with what waits in these neighbouring segments; only where something does."""
        raise NotImplementedError

    def state(self) -> State:
        """What must outlive the process, without the weights."""
        return {}

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Take back what ``state`` returned; raises ValueError for the state of another policy."""
        if state:
            raise ValueError(f"{type(self).__name__} does not keep {', '.join(state)}")


PolicyMaker = Callable[[Vector, Segments], Policy]
"""Makes a model's policy from its first weights and its segments."""
