"""The size of an OlafQueue: its four parameters, their bounds and their defaults.

The testbed's checks, the builds, the command line and the Verilog's own checks (``hdl/olaf_geometry.vh``,
generated) all read them here.
"""

from dataclasses import dataclass

from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, IPV4, OLAF, STATUS, UDP
from olafswitch.errors import BadInput, Problem


@dataclass(frozen=True)
class Bounds:
    """The smallest and the largest value of a parameter, its default, and its meaning."""

    least: int
    greatest: int
    default: int
    meaning: str


INDICES = Bounds(1, 4096, 16, "indices tracked, one for each segment of a cluster; others are dropped")
SLOTS = Bounds(1, 1023, 8, "updates the queue holds (Q_max)")
BEATS = Bounds(2, 142, 24, "64-byte beats a slot holds: 24 for 1536 bytes, 142 for 9036-byte jumbo frames")
MEMBERS = Bounds(1, 64, 32, "members of a cluster that an iSwitch sum tells apart")
WINDOW = 16
"""The numbers before a member's newest of which an index knows whether it took them."""
THRESHOLD_MOST = 65535
"""The largest H: a header counts no further."""
ADDER_LATENCY = Bounds(3, 6, 4, "cycles through a binary32 adder; 4 merges 256-byte updates without a gap")


STANDARD_MTU = 1500
"""The bytes of an IP packet where no other MTU is set, for slots of up to 24 beats."""
JUMBO_MTU = 9022
"""The MTU of Ethernet frames of 9036 bytes (OLAF §12.1), for longer slots."""


MOST_PACKET_BYTES = 65535
"""The most bytes of a packet that IPv4 can express, whatever its network carries."""
PACKET_HEADER_BYTES = IPV4.size + UDP.size + OLAF.size + STATUS.size


def packet_values(mtu: int) -> int:
    """Return the gradient values of an IP packet of ``mtu`` bytes, an update or an ACK with a status."""
    return (min(mtu, MOST_PACKET_BYTES) - PACKET_HEADER_BYTES) // 4


def slot_values(beats: int) -> int:
    """Return the gradient values of a frame that fits a slot of ``beats``."""
    return (beats * BEAT_BYTES - GRADIENT_OFFSET) // 4


def segment_values(beats: int) -> int:
    """Return the gradient values of a segment: the block of a model that fits a slot and a packet.

    The SDK divides by ``packet_values`` alone, which is generated into it: where a slot is as long as the MTU
    (24 and 142 beats) both give the same segments.
    """
    return min(slot_values(beats), packet_values(STANDARD_MTU if beats <= BEATS.default else JUMBO_MTU))


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
        """The values by the names of the parameters of ``hdl/olaf_queue.v``."""
        return {name.upper(): getattr(self, name) for name in BOUNDS}


BOUNDS = {
    "indices": INDICES,
    "slots": SLOTS,
    "beats": BEATS,
    "members": MEMBERS,
    "adder_latency": ADDER_LATENCY,
}
"""The bounds of every parameter, by its name."""
