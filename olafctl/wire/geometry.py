"""The size of an OlafQueue: its four parameters, their bounds and their defaults.

The testbed's checks, the builds, the command line and the Verilog's own checks (``hdl/olaf_geometry.vh``,
generated) all take them from here.
"""

from dataclasses import dataclass

from olafctl.errors import BadInput, Problem
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest value a parameter may have, what it is when left out, and its meaning."""

    least: int
    greatest: int
    default: int
    meaning: str


INDICES = Bounds(1, 4096, 16, "indices tracked, one for each segment of a cluster; others are dropped")
SLOTS = Bounds(1, 1023, 8, "updates the queue holds (Q_max)")
BEATS = Bounds(2, 142, 24, "64-byte beats a slot holds: 24 for 1536 bytes, 142 for 9036-byte jumbo frames")
MEMBERS = Bounds(1, 64, 32, "members of a cluster that an iSwitch round tells apart")
ADDER_LATENCY = Bounds(3, 6, 4, "cycles through a binary32 adder; 4 merges 256-byte updates without a gap")


def segment_values(beats: int) -> int:
    """Gradient values in a segment, the block of a model that one slot of ``beats`` holds."""
    return (beats * BEAT_BYTES - GRADIENT_OFFSET) // 4


@dataclass(frozen=True)
class Geometry:
    """The parameters of one OlafQueue.

    Raises BadInput, naming every parameter that is out of its bounds.
    """

    indices: int = INDICES.default
    slots: int = SLOTS.default
    beats: int = BEATS.default
    members: int = MEMBERS.default
    adder_latency: int = ADDER_LATENCY.default

    def __post_init__(self) -> None:
        problems = [
            Problem(
                f"an OlafQueue of {getattr(self, name)} {name}", remedy=f"choose {of.least} … {of.greatest}"
            )
            for name, of in BOUNDS.items()
            if not of.least <= getattr(self, name) <= of.greatest
        ]
        if problems:
            raise BadInput(*problems)

    def __str__(self) -> str:
        return f"{self.indices} indices × {self.slots} slots × {self.beats * BEAT_BYTES} bytes"

    @property
    def verilog(self) -> dict[str, int]:
        """By the names of the parameters of ``hdl/olaf_queue.v``."""
        return {name.upper(): getattr(self, name) for name in BOUNDS}


BOUNDS = {
    "indices": INDICES,
    "slots": SLOTS,
    "beats": BEATS,
    "members": MEMBERS,
    "adder_latency": ADDER_LATENCY,
}
"""The bounds of every parameter, by its name."""
