"""When what waits moves the weights in any case."""

from __future__ import annotations


class Deadlines:
    """One for each segment in which something waits: all wait equally long, so they pass as they began."""

    def __init__(self, wait: float | None) -> None:
        """``wait`` in seconds; with None nothing has a deadline."""
        self._wait = wait
        self._due: dict[int, float] = {}

    def begin(self, segment: int, now: float) -> None:
        """Note that an update waits there, from now on if none did before."""
        if self._wait is not None:
            self._due.setdefault(segment, now + self._wait)

    def end(self, segment: int) -> None:
        """Note that no update waits there any more."""
        self._due.pop(segment, None)

    def first(self) -> float | None:
        """The one that comes first, in seconds."""
        return next(iter(self._due.values()), None)

    def passed(self, now: float) -> list[int]:
        """The segments whose deadline is over, in order of time."""
        over = []
        for segment, due in self._due.items():
            if now < due:
                break
            over.append(segment)
        return over
