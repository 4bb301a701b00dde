"""Age-of-Model while it happens (OLAF §2.2, §6), defined as in olafctl.aom.

Δ(t) is t minus the generation time of the freshest update received by t. It begins at the first reception; a
reception that is no fresher than what was received before leaves it alone. Times are integer ns on a clock
that never jumps; ages come from wall clocks and are 0 where the sender's is ahead.
"""

from __future__ import annotations


class AgeOfModel:
    """Δ of one segment at the parameter server."""

    def __init__(self) -> None:
        self.stale = 0
        """Receptions that made the model no fresher."""
        self._start = self._last = 0
        self._age: int | None = None
        self._doubled_area = 0

    def received(self, now: int, age: int) -> None:
        """An update that was generated ``age`` ns ago (0 if negative) is received at ``now``."""
        age = max(age, 0)
        if self._age is None:
            self._start = self._last = now
            self._age = age
            return
        held = self._advance(now, self._age)
        self._age = min(held, age)
        self.stale += age >= held

    def average(self, now: int) -> float | None:
        """The time average of Δ in ns since the first reception; None before it, or at that instant."""
        if self._age is None or now <= self._start:
            return None
        self._age = self._advance(now, self._age)
        return self._doubled_area / (2 * (now - self._start))

    def _advance(self, now: int, age: int) -> int:
        """Add the trapezium up to ``now``; returns the age then."""
        passed = now - self._last
        self._doubled_area += passed * (2 * age + passed)
        self._last = now
        return age + passed
