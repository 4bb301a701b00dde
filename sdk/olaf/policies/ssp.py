"""SSP: no worker gets more than so many updates ahead of the slowest."""

from __future__ import annotations

import numpy as np

from olaf.policies.policy import RATE, Outcome, Update
from olaf.policies.stepping import Optimizer, Stepping
from olaf.policies.waiting import DEADLINE
from olaf.transport.port import Address
from olaf.transport.segments import Segments, Vector, stretches


class _Clock:
    """One member's updates of one segment."""

    __slots__ = ("heard", "held", "holds", "ticks")

    def __init__(self, ticks: int) -> None:
        self.ticks = ticks
        """Its updates, from those of the slowest on when it came."""
        self.heard = 0.0
        self.held: Vector | None = None
        """The sum of those that wait."""
        self.holds = 0


class StaleSynchronous(Stepping):
    """Stale-synchronous: the update of a member more than ``slack`` updates ahead of the slowest waits.

    It is applied once the slowest has caught up. Workers never wait in Olaf, so what waits is their updates:
    the weights do not run ahead of the slowest. A member that is silent for ``deadline`` seconds is the
    slowest no longer, and after as long a wait updates are applied in any case. A merged frame is one update
    of its newest contributor; its other contributors are unknown.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        slack: int = 1,
        deadline: float = DEADLINE,
        optimizer: Optimizer | None = None,
    ) -> None:
        """Raises ValueError for a slack below 0, or a deadline that is not above 0."""
        super().__init__(weights, segments, rate, optimizer, deadline)
        if slack < 0:
            raise ValueError(f"a slack of {slack} updates; give 0 or more")
        self._slack, self._deadline = slack, deadline
        self._clocks: list[dict[Address, _Clock]] = [{} for _ in range(self.segments.count)]

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Applied, or collected until the slowest has caught up."""
        begin = self.segments.span(update.segments).start
        outcomes = []
        for segment in update.segments:
            place = self.segments.slice(segment)
            gradient = update.gradient[place.start - begin : place.stop - begin]
            clocks = self._clocks[segment]
            clock = clocks.get(update.member)
            if clock is None:
                clock = clocks[update.member] = _Clock(min((c.ticks for c in clocks.values()), default=1) - 1)
            clock.ticks += 1
            clock.heard = now
            clock.held = gradient.copy() if clock.held is None else clock.held + gradient
            clock.holds += update.count
            released = self._release(segment, now)
            if clock.held is not None:
                self._deadlines.begin(segment, now)
            outcomes.append(Outcome.APPLIED if released else Outcome.COLLECTED)
        return stretches(outcomes, update.segments.start)

    def _release(self, segment: int, now: float) -> bool:
        """Apply what need not wait any more; whether there was any."""
        clocks = self._clocks[segment]
        for member in [m for m, clock in clocks.items() if now - clock.heard > self._deadline]:
            if clocks[member].held is None:
                del clocks[member]
        slowest = min(clock.ticks for clock in clocks.values())
        free = [
            clock
            for clock in clocks.values()
            if clock.held is not None and clock.ticks - slowest <= self._slack
        ]
        self._apply(segment, free)
        if all(clock.held is None for clock in clocks.values()):
            self._deadlines.end(segment)
        return bool(free)

    def _advance(self, segments: range) -> None:
        for segment in segments:
            self._apply(segment, list(self._clocks[segment].values()))

    def _apply(self, segment: int, clocks: list[_Clock]) -> None:
        """Make as many steps as updates, along their mean."""
        waiting = [(clock, clock.held) for clock in clocks if clock.held is not None]
        count = sum(clock.holds for clock, _ in waiting)
        if not count:
            return
        total = np.zeros(self.segments.length(segment), np.float32)
        for clock, held in waiting:
            total += held
            clock.held, clock.holds = None, 0
        total /= np.float32(count)
        self._stepper.step(range(segment, segment + 1), total, count)
