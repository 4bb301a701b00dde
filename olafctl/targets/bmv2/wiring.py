"""The cables of the bmv2 target: each interface and its place.

VNP4₁ of the n-th engine (from 0) is device 2 n + 1 and VNP4₂ device 2 n + 2.

A switch that listened at a front port's own interface would also hear the other switch's frames there (packet
sockets hear both directions), so each has a cable to the queue process for every port.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from olafctl.network.interfaces import VethPair
from olafctl.targets.deployment import EnginePart
from olafctl.wire.layouts import QUEUE_PORT

FIRST_FRONT = 1000
SECOND_FRONT = 2000
FROM_FIRST = 10000
TO_SECOND = 20000


@dataclass(frozen=True)
class Cable:
    """A cable from ``device`` at its ``switch_port`` to the queue process at its ``relay_port``."""

    device: int
    switch_port: int
    relay_port: int

    @property
    def pair(self) -> VethPair:
        """The cable's two ends: ``inner`` at the switch, ``outer`` at the queue process."""
        return VethPair(f"s{self.device}-p{self.switch_port}", f"r{self.device}-p{self.switch_port}")


def make_cables(engines: Sequence[EnginePart]) -> Iterator[Cable]:
    """Yield the cables of all engines."""
    for place, part in enumerate(engines):
        first, second = 2 * place + 1, 2 * place + 2
        yield Cable(first, QUEUE_PORT, FROM_FIRST + place)
        yield Cable(second, QUEUE_PORT, TO_SECOND + place)
        for number in part.ports:
            yield Cable(first, number, FIRST_FRONT + number)
            yield Cable(second, number, SECOND_FRONT + number)
