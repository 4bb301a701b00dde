"""One round of a gradient in the event-level model of trainings, and through Verilated queues."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from olaflab.model.iterations import Approach, Job, Network, run
from olaflab.queue import aggregation


@dataclass(frozen=True)
class Compared:
    """ns until the last worker has the sum."""

    workers: int
    racks: int
    size: int
    """Bytes of the gradient."""
    verilated: float
    modelled: float


def compare(library: Path, size: int, racks: Sequence[int]) -> Compared:
    """Both, without hosts' software, over links of one rate; racks but the last are of one size.

    Raises OlafError when a result of the Verilated queue is not the exact sum, or does not come.
    """
    whole = -(-size // 4) * 4
    network = Network(
        each_rack=racks[0] if len(racks) > 1 else 0,
        rate=aggregation.RATE,
        trunk=aggregation.RATE,
        delay=aggregation.DELAY,
        beats=aggregation.GEOMETRY.beats,
        slots=aggregation.GEOMETRY.slots,
        quota=aggregation.QUOTA,
    )
    course = run(Job(Approach.ENGINE, sum(racks), [whole], network=network))
    # Virtual time is of whole picoseconds in one and of floating nanoseconds in the other.
    verilated = round(aggregation.rounds(library, size, racks), 3)
    return Compared(sum(racks), len(racks), size, verilated, round(float(course.updates[0]), 3))
