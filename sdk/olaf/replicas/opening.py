"""The beginning of a numbering: what the engine has left of earlier sums is flushed out of it.

One member contributes zeros to every segment, one at a time, until a result comes. Its number is the
segment's base: the result after it is the first one of this training, and nothing is left of the zeros. All
other members have the bases from that member's snapshot, so they agree on them without a message, whatever
ran on this engine before, and also where the engine itself has been restarted.
"""

from __future__ import annotations

from olaf.replicas.commits import Commits

_WINDOW = 64
"""Segments under way at a time."""
PAUSE = 0.05
"""Seconds from one zero to the next, in which the result of the first must have come."""


class Opening:
    """One member's, of all segments."""

    def __init__(self, commits: Commits, segments: int, now: float) -> None:
        self._commits = commits
        self._bases: list[int | None] = [None] * segments
        self._due = now

    def tick(self, now: float) -> float:
        """Send what is due; returns when to look again."""
        if now >= self._due:
            for segment in self.missing()[:_WINDOW]:
                self._commits.fill(segment)
            self._due = now + PAUSE
        return self._due

    def came(self, segment: int, seq: int) -> list[int] | None:
        """A result of the engine; returns all bases with the last one."""
        if self._bases[segment] is None:
            self._bases[segment] = seq
            self._commits.answered(segment)
        found = [base for base in self._bases if base is not None]
        return found if len(found) == len(self._bases) else None

    def missing(self) -> list[int]:
        """Segments without any result."""
        return [segment for segment, base in enumerate(self._bases) if base is None]
