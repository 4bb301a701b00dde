"""The beginning of a numbering: whatever the engine has left of earlier sums is flushed out of it.

One member contributes zeros to every segment until a result comes. Its number is the segment's base: the
result after it is the first one of this training. All other members have the bases from that member's
snapshot, so they agree on them without a word, whatever ran on this engine before, and also where the
engine itself has begun again.
"""

from __future__ import annotations

from olaf.replicas.commits import Commits

_WINDOW = 64
"""Segments under way at a time."""
_MOST = 16
"""Zeros for a segment at a time, after those that make a result."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Seconds until zeros are sent again."""


class Opening:
    """One member's, of all segments."""

    def __init__(self, commits: Commits, segments: int, wanted: int, now: float) -> None:
        """``wanted`` is H."""
        self._commits, self._wanted = commits, wanted
        self._bases: list[int | None] = [None] * segments
        self._begun = 0
        """Segments below this one were begun."""
        self._left = segments
        self._tries = 0
        self._due = now

    def tick(self, now: float) -> float:
        """Send what is due; returns when to look again."""
        self._begin()
        if now >= self._due:
            for segment in range(self._begun):
                if self._tries and self._bases[segment] is None:
                    self._commits.again(segment)
                    # The engine may want more than this member knows, or take the first ones for late.
                    self._commits.fill(segment, min(1 << self._tries, _MOST))
            self._due = now + min(_FIRST_PAUSE * 2.0 ** min(self._tries, 16), _LONGEST_PAUSE)
            self._tries += 1
        return self._due

    def came(self, segment: int, seq: int) -> list[int] | None:
        """A result of the engine; returns all bases with the last one."""
        if self._bases[segment] is None:
            self._bases[segment] = seq
            self._left -= 1
            self._tries = 0
            self._commits.answered(segment)
        if self._left:
            return None
        return [base for base in self._bases if base is not None]

    def missing(self) -> list[int]:
        """Segments without any result."""
        return [segment for segment, base in enumerate(self._bases) if base is None]

    def _begin(self) -> None:
        open_ = self._begun - (len(self._bases) - self._left)
        while self._begun < len(self._bases) and open_ < _WINDOW:
            self._commits.fill(self._begun, self._wanted)
            self._begun += 1
            open_ += 1
