"""When to wake actors so that none is waited for (ARTOS §4.3)."""

from __future__ import annotations

from collections import deque


class Monitor:
    """The last iterations: how long actors took to be there, and when the learner was done.

    Times are in seconds. Iterations are *stable* if the learner's times differ by less
    than a share of their mean; then actors of the next iteration are woken before this one ends.
    """

    def __init__(self, window: int = 5, share: float = 0.2) -> None:
        """Of so many iterations. Raises ValueError for fewer than two, or a share not above 0."""
        if window < 2 or not share > 0:
            raise ValueError(f"a window of {window} iterations, stable within {share}")
        self._share = share
        self._starts: deque[float] = deque(maxlen=window)
        self._ends: deque[float] = deque(maxlen=window)

    def add(self, start: float, end: float) -> None:
        """An iteration: actors were there ``start`` after they were woken, its learner was done at ``end``.

        ``end`` is since the iteration began.
        """
        self._starts.append(start)
        self._ends.append(end)

    @property
    def stable(self) -> bool:
        """Whether the window is full and its iterations are alike."""
        if len(self._ends) < (self._ends.maxlen or 0):
            return False
        return _spread(list(self._ends)) < self._share * sum(self._ends) / len(self._ends)

    def prewarm(self) -> float | None:
        """When to wake the next iteration's actors, since this one began; None to wait for the learner."""
        if not self.stable:
            return None
        between = [end - start for start, end in zip(self._starts, self._ends)]
        return max(0.0, min(self._ends) - max(self._starts) - _spread(between))


def _spread(values: list[float]) -> float:
    return max(values) - min(values)
