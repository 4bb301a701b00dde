"""Age-of-Model while it happens (OLAF §2.2, §6), defined as in olaflab.segments.

A segment's age is the time since the generation of the freshest update of it that was received; a reception
no fresher than what was received before leaves it alone. Δ(t) is the age of the model's oldest segment, and
begins when every segment has been received once. Times are integer ns on a clock that never jumps; ages
come from wall clocks and are 0 where the sender's is ahead.
"""

from __future__ import annotations

import heapq

from olaf.transport.segments import stretches


class AgeOfModel:
    """Δ of one cluster at the parameter server."""

    def __init__(self, segments: int) -> None:
        self.stale = 0
        """Receptions that made no segment fresher."""
        self._born: list[int | None] = [None] * segments
        """When the freshest update of each segment was generated."""
        self._segments: dict[int, int] = {}
        """How many segments' freshest update was generated then."""
        self._by_age: list[int] = []
        """All times that are keys of ``_segments``, as a heap."""
        self._missing = segments
        self._oldest: int | None = None
        self._start = self._last = 0
        self._doubled_area = 0

    def received(self, now: int, segment: int, age: int, segments: int = 1) -> None:
        """An update of a segment, generated ``age`` ns ago (0 if negative), is received at ``now``.

        ``segments``: of so many neighbouring ones, at the same time.
        """
        born = now - max(age, 0)
        for held, alike in stretches(self._born[segment : segment + segments], segment):
            if held is not None and born <= held:
                self.stale += len(alike)
                continue
            if held is None:
                self._missing -= len(alike)
            else:
                self._segments[held] -= len(alike)
            if born not in self._segments:
                self._segments[born] = 0
                heapq.heappush(self._by_age, born)
            self._segments[born] += len(alike)
            self._born[alike.start : alike.stop] = [born] * len(alike)
        if self._missing:
            return
        if self._oldest is None:
            self._start = self._last = now
        else:
            self._advance(now, self._oldest)
        while not self._segments[self._by_age[0]]:
            del self._segments[heapq.heappop(self._by_age)]
        self._oldest = self._by_age[0]

    def average(self, now: int) -> float | None:
        """The time average of Δ in ns since it began; None before that, or at that instant."""
        if self._oldest is None or now <= self._start:
            return None
        self._advance(now, self._oldest)
        return self._doubled_area / (2 * (now - self._start))

    def _advance(self, now: int, oldest: int) -> None:
        """Add the trapezium up to ``now``."""
        self._doubled_area += (now - self._last) * (now - oldest + self._last - oldest)
        self._last = now
