"""One segment of an iswitch cluster at one member: the chunk that is summed there, and those that wait."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from olaf.rounds.reduction import Reduction
from olaf.serial import ROUND_BITS
from olaf.transport import wire
from olaf.transport.port import Address

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0
_MOST_DOUBLED = 16
"""More would be no number any more, for a round that lasts half an hour."""
NUMBERS = 8
"""Of one chunk: its first round, and further ones in case that a result reaches no member."""


@dataclass
class Lane:
    """One segment's current round."""

    segment: int
    round: int = 0
    """The number of the chunk that is contributed now."""
    waiting: deque[tuple[Reduction, slice]] = field(default_factory=deque)
    """Chunks in order; the first one is this round's."""
    began: float = 0.0
    due: float = 0.0
    tries: int = 0
    reported: bool = False
    kept: tuple[wire.Olaf, bytes] | None = None
    """The last result, for members that missed it."""
    lacking: set[Address] = field(default_factory=set)
    """Members at fixed addresses that lack the result of ``round``, too."""

    def pause(self) -> float:
        """Seconds until the next try.

        They grow with the number, too: where results take long, the one before was perhaps only under way.
        """
        doubled = min(self.tries + self.round % NUMBERS, _MOST_DOUBLED)
        return min(_FIRST_PAUSE * 2.0**doubled, _LONGEST_PAUSE)


def chunk(number: int) -> int:
    """The chunk that a number belongs to, as the first of its numbers."""
    return (number - number % NUMBERS) % (1 << ROUND_BITS)
