"""Every header that crosses a wire, defined once.

The P4 headers, the Verilog offsets, the Scapy layers, the C++ structs and the documentation table are
generated from these tuples (``olaflab generate``); nothing else states a field's width or place.
Bits are in network order, first field first. Gradients alone are little-endian binary32.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property


@dataclass(frozen=True)
class LayoutField:
    """One header field: its name, width in bits, and meaning."""

    name: str
    bits: int
    meaning: str


@dataclass(frozen=True)
class HeaderLayout:
    """A header: its name and its fields in network order; always a whole number of bytes."""

    name: str
    meaning: str
    fields: tuple[LayoutField, ...]

    @cached_property  # cached: the length of every frame that is decoded in Python
    def bits(self) -> int:
        """The width in bits."""
        return sum(field.bits for field in self.fields)

    @cached_property
    def size(self) -> int:
        """The length in bytes."""
        return self.bits // 8

    def field(self, name: str) -> LayoutField:
        """Return the field of this name. Raises KeyError when it does not exist."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"{self.name} has no field {name}")

    def offset(self, name: str) -> int:
        """Return the number of bits from the header's first bit to the field's first bit.

        Raises KeyError when the field does not exist.
        """
        position = 0
        for field in self.fields:
            if field.name == name:
                return position
            position += field.bits
        raise KeyError(f"{self.name} has no field {name}")


class FrameType(IntEnum):
    """The Olaf header's ``frame_type``."""

    UPDATE = 1
    ACK = 2
    CONTROL = 3
    RESULT = 4
    INIT = 5


class Flag(IntEnum):
    """Bits of the Olaf header's ``flags``."""

    AGGREGATED = 0x01
    STATUS = 0x02
    SUMMED = 0x04
    DELTA = 0x08


class FrameKind(IntEnum):
    """The kind of a frame that VNP4₁ found; travels in the tuser and the shim."""

    BYPASS = 0
    UPDATE = 1
    ACK = 2
    RESULT = 3


class Refusal(IntEnum):
    """Why VNP4₁ drops a frame: the key of its table ``refusals``."""

    EPOCH = 1
    """The frame belongs to another job than its worker."""
    SEGMENT = 2
    """The segment is beyond its worker's model."""
    PORT = 3
    """The frame has a worker's or a parameter server's address, but came by another port."""
    MERGED = 4
    """A worker's update counts others in, or none, or has flags that no worker sets."""
    LENGTH = 5
    """IPv4 and UDP contradict each other in the length."""
    CHECKSUM = 6
    """The IPv4 header's checksum is wrong."""
    TTL = 7
    """The TTL is used up."""
    TAG = 8
    """The frame is under a tag of no VLAN or in SNAP, which hosts remove: its content would pass unseen."""
    DESTINATION = 9
    """An update is sent to a MAC address or a UDP port that is not its server's."""


class StatusFlag(IntEnum):
    """Bits of the status header's ``flags``."""

    FULL = 0x01
    CONGESTED = 0x02


VERSION = 1
UDP_PORT = 20300
CONTROL_TOS = 0xFC
BEAT_BYTES = 64
LANES = 16

# BMv2 drops on port 511; front ports are 1 … MAX_FRONT_PORT and 0 means "by the forwarding table".
MAX_FRONT_PORT = 499
QUEUE_PORT = 500
CPU_PORT = 510
ANY_PORT = 0xFFFF
"""The port number that means any port."""

ETHERNET = HeaderLayout(
    "ethernet",
    "Ethernet II",
    (
        LayoutField("dst_addr", 48, "destination MAC address"),
        LayoutField("src_addr", 48, "source MAC address"),
        LayoutField("ether_type", 16, "payload protocol"),
    ),
)

VLAN = HeaderLayout(
    "vlan",
    "A VLAN tag (IEEE 802.1Q)",
    (
        LayoutField("priority", 4, "priority and drop eligibility"),
        LayoutField(
            "vid", 12, "the VLAN; 0: none, so that hosts take the tag off and what is under it for their own"
        ),
        LayoutField("ether_type", 16, "payload protocol"),
    ),
)

SNAP = HeaderLayout(
    "snap",
    "LLC and SNAP (IEEE 802), in a frame whose EtherType is a length",
    (
        LayoutField("llc", 24, "0xAAAA03: SNAP follows"),
        LayoutField(
            "oui", 24, "0 and 0x0000F8: an EtherType follows, so that hosts may take it for Ethernet II's"
        ),
        LayoutField("ether_type", 16, "payload protocol"),
    ),
)

IPV4 = HeaderLayout(
    "ipv4",
    "IPv4 without options",
    (
        LayoutField("version", 4, "4"),
        LayoutField("ihl", 4, "header length in 32-bit words; Olaf frames carry no options"),
        LayoutField("tos", 8, "type of service; one value is reserved for control messages"),
        LayoutField("total_len", 16, "bytes from the first byte of this header"),
        LayoutField("identification", 16, "fragment identification"),
        LayoutField("flags", 3, "reserved, don't fragment, more fragments"),
        LayoutField("frag_offset", 13, "fragment offset in 8-byte units"),
        LayoutField("ttl", 8, "time to live; the engine leaves it alone"),
        LayoutField("protocol", 8, "17 for UDP"),
        LayoutField("hdr_checksum", 16, "header checksum"),
        LayoutField("src_addr", 32, "source address"),
        LayoutField("dst_addr", 32, "destination address"),
    ),
)

UDP = HeaderLayout(
    "udp",
    "UDP",
    (
        LayoutField("src_port", 16, "source port"),
        LayoutField("dst_port", 16, "destination port"),
        LayoutField("length", 16, "bytes from the first byte of this header"),
        LayoutField("checksum", 16, "0 for Olaf frames: the payload changes in flight"),
    ),
)

OLAF = HeaderLayout(
    "olaf",
    "The Olaf header, 22 bytes, so that gradients start at byte 64 of the frame",
    (
        LayoutField("version", 4, "1"),
        LayoutField(
            "frame_type",
            4,
            "1 UPDATE, 2 ACK, 3 CONTROL, 4 RESULT (a round's sum, to its members), 5 INIT (initial weights)",
        ),
        LayoutField("epoch", 4, "job epoch, given at Join; frames of another epoch are refused"),
        LayoutField(
            "flags",
            4,
            "bit 0 AGGREGATED, bit 1 STATUS (a status header follows), "
            "bit 2 SUMMED (of an update: weights_version is a sum), bit 3 DELTA (weights for players)",
        ),
        LayoutField("count", 16, "worker updates merged into this frame; 1 from a worker"),
        LayoutField(
            "seq",
            32,
            "the newest constituent's sequence number at its worker; the round in iswitch mode; in "
            "iswitch-async mode the number of a member's contribution or of a result",
        ),
        LayoutField("reward", 32, "binary32 mean episode reward; of a merged frame the highest"),
        LayoutField("gen_time", 48, "ns modulo 2^48, when the newest constituent was generated"),
        LayoutField("segment", 16, "which block of the model this frame carries, from 0"),
        LayoutField(
            "weights_version",
            16,
            "version, modulo 2^16, of the weights that the oldest constituent was computed from; with SUMMED "
            "the sum of the versions of all constituents instead; in an ACK, of those it carries",
        ),
    ),
)

# It has the same bytes as the Olaf header, so that engines forward it like other traffic.
INIT = HeaderLayout(
    "init",
    "The Olaf header of an INIT without DELTA: how a model is divided; its segment's weights may follow",
    (
        *OLAF.fields[:4],
        LayoutField("segments", 16, "that the model is divided into; 0 from a server without a model"),
        LayoutField("values", 32, "the model's length in values; 0 from a server without a model"),
        LayoutField("reserved", 80, "0"),
        OLAF.field("segment"),
        LayoutField("weights_version", 16, "version, modulo 2^16, of the weights that follow"),
    ),
)

STATUS = HeaderLayout(
    "olaf_status",
    "Queue status, inserted after the Olaf header of an ACK by VNP4₂",
    (
        LayoutField("occupancy", 24, "updates waiting in the queue, in slots"),
        LayoutField(
            "active_clusters", 16, "indices (a cluster's segments) that sent within the activity window"
        ),
        LayoutField("slots", 16, "Q_max, the queue's size in slots"),
        LayoutField("flags", 8, "bit 0 FULL, bit 1 CONGESTED (more active clusters than slots)"),
    ),
)

# As AXI4-Stream tuser the first field is in the least significant bits; without a tuser (BMv2,
# the twin) the same fields travel in network order as a shim header.
TUSER = HeaderLayout(
    "tuser",
    "What travels with a frame between the VNP4 blocks and OlafQueue: tuser, or a shim in front of it",
    (
        LayoutField("size", 16, "frame length in bytes, without this header"),
        LayoutField("src", 16, "front port the frame came in by"),
        LayoutField("dst", 16, "front port it must leave by; 0 leaves it to the forwarding table"),
        LayoutField("kind", 8, "0 BYPASS, 1 UPDATE, 2 ACK, 3 RESULT"),
        LayoutField("cluster", 16, "cluster number, which names its multicast group"),
        LayoutField(
            "index", 16, "the cluster's first index + the frame's segment: what the queue combines by"
        ),
        LayoutField("member", 8, "the worker's number in its cluster, from 0"),
        LayoutField("worker", 32, "worker id"),
        LayoutField("occupancy", 24, "written by the queue: as in the status header"),
        LayoutField("active_clusters", 16, "written by the queue"),
        LayoutField("slots", 16, "written by the queue"),
        LayoutField("status_flags", 8, "written by the queue"),
    ),
)

PACKET_IN = HeaderLayout(
    "packet_in",
    "In front of a frame punted to the control plane",
    (LayoutField("ingress_port", 16, "front port the frame came in by"),),
)

PACKET_OUT = HeaderLayout(
    "packet_out",
    "In front of a frame sent by the control plane",
    (LayoutField("egress_port", 16, "front port to leave by"),),
)

ALL = (ETHERNET, VLAN, SNAP, IPV4, UDP, OLAF, STATUS, TUSER, PACKET_IN, PACKET_OUT)
GRADIENT_OFFSET = ETHERNET.size + IPV4.size + UDP.size + OLAF.size
TIMES = 1 << OLAF.field("gen_time").bits
"""gen_time counts ns modulo this; a time is newer when it is ahead by less than half of it."""
