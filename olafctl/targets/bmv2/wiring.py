"""The cables of the bmv2 target: which interface is plugged in where.

A switch that listened at a front port's own interface would also hear what the other switch sends
there (packet sockets hear both directions), so each has a cable to the queue process for every port.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from olafctl.ports.interfaces import Pair
from olafctl.wire.layouts import QUEUE_PORT

FIRST_FRONT = 1000
SECOND_FRONT = 2000
FROM_FIRST = 500
TO_SECOND = 501


@dataclass(frozen=True)
class Cable:
    """A cable from ``device`` (1 or 2) at its ``switch_port`` to the queue process at its ``relay_port``."""

    device: int
    switch_port: int
    relay_port: int

    @property
    def pair(self) -> Pair:
        """Its two ends: ``inner`` at the switch, ``outer`` at the queue process."""
        return Pair(f"s{self.device}-p{self.switch_port}", f"r{self.device}-p{self.switch_port}")


def cables(front: Sequence[int]) -> Iterator[Cable]:
    """The cables for the front ports ``front``."""
    yield Cable(1, QUEUE_PORT, FROM_FIRST)
    yield Cable(2, QUEUE_PORT, TO_SECOND)
    for number in front:
        yield Cable(1, number, FIRST_FRONT + number)
        yield Cable(2, number, SECOND_FRONT + number)
