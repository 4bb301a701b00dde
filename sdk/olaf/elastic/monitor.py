"""When to wake actors so that none is waited for (ARTOS §4.3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


class Monitor:
    """The last iterations: how long actors took to be there, and when the learner was done.

    Times are in seconds. Iterations are *stable* if the learner's times differ by less
    than a share of their mean; then actors of the next iteration are woken before this one ends.
    """

    def __init__(self, window: int = 5, share: float = 0.2) -> None:
        """A window of that many iterations. Raises ValueError for fewer than two, or a share not above 0."""
        if window < 2 or not share > 0:
            raise ValueError(f"window={window}, share={share}; give a window of 2 or more, a share above 0")
        self._share = share
        self.window: deque[tuple[float, float]] = deque(maxlen=window)
        """``start`` and ``end`` of each."""

    def add(self, start: float, end: float) -> None:
        """An iteration: actors were there ``start`` after they were woken, its learner was done at ``end``.

        ``end`` is since the iteration began.
        """
        self.window.append((start, end))

    @property
    def stable(self) -> bool:
        """Whether the window is full and its iterations agree."""
        if len(self.window) < (self.window.maxlen or 0):
            return False
        ends = [end for _, end in self.window]
        return _spread(ends) < self._share * sum(ends) / len(ends)

    def prewarm(self) -> float | None:
        """When to wake the next iteration's actors, since this one began; None to wait for the learner."""
        if not self.stable:
            return None
        first, slowest = min(end for _, end in self.window), max(start for start, _ in self.window)
        return max(0.0, first - slowest - _spread([end - start for start, end in self.window]))


def _spread(values: Sequence[float]) -> float:
    return max(values) - min(values)
