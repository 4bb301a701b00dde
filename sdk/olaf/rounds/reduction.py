"""One vector on its way to its sum over all members."""

from __future__ import annotations

from typing import Callable, Optional

from olaf.errors import NoAnswer
from olaf.transport.segments import Vector

Then = Callable[[Optional[NoAnswer]], object]
"""Called at the end of a reduction, with the failure if there is one."""


class Reduction:
    """One vector on its way to its sum."""

    def __init__(self, vector: Vector, chunks: int, then: Then) -> None:
        self.vector = vector
        self.left = chunks
        self.failure: NoAnswer | None = None
        self._then = then

    @property
    def done(self) -> bool:
        """Whether ``vector`` is the sum now."""
        return self.left == 0

    def arrived(self, place: slice, values: Vector) -> None:
        """One chunk's sum is here."""
        self.vector[place] = values
        self.left -= 1
        if self.done:
            self._then(None)

    def fail(self, failure: NoAnswer) -> None:
        """Fail once: the reduction will never be done."""
        if self.failure is None:
            self.failure = failure
            self._then(failure)
