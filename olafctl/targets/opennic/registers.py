"""The box's own registers and its address map, defined once.

``hdl/opennic/olaf_box_registers.v``, ``hdl/opennic/olaf_box_map.vh`` and the site's table of registers come
from here (``olaflab generate``); nothing else states an address of the box.
"""

from dataclasses import dataclass

from olafctl.queue.registers import CLOCK_HZ, Access, Register

IDENTITY = 0x4F424F58  # "OBOX"
MAP_VERSION = 3
PORTS = 8
"""The most front ports that a box can be built with; a U55C has two CMACs."""
BOX_BYTES = 1 << 20
BOX_BASE = 0x100000
"""The place of the box in the card's BAR2."""


@dataclass(frozen=True)
class Window:
    """A register block's place in the box: ``base`` and ``size`` in bytes, and its registers' clock."""

    name: str
    base: int
    size: int
    clock: str
    meaning: str


WINDOWS = (
    Window("box", 0x00000, 0x1000, "axis_aclk", "the box's own registers, below"),
    Window("queue", 0x01000, 0x1000, "axis_aclk", "OlafQueue: see registers.md"),
    Window("vnp4_1", 0x40000, 0x40000, "axis_aclk", "VNP4₁: its tables and counters, which the agent writes"),
    Window("vnp4_2", 0x80000, 0x80000, "axis_aclk", "VNP4₂: its tables and counters, which the agent writes"),
)
ADDRESS_BITS = 12
"""The width of the addresses of the box's own registers."""

HOST_ETHER_TYPE = 0x88B5
"""IEEE 802's first EtherType for local experiments: a frame between host and box has an Ethernet header with
it, then the 16-bit port of packet-in or packet-out, then the frame itself."""
HOST_HEADER_BYTES = 16
HOST_SOURCE = 0x024F4C414600
"""The source MAC address of packet-ins, locally administered; their destination is broadcast."""

_INPUTS = (
    *((f"port_{number}", f"CMAC {number}") for number in range(PORTS)),
    ("host", "the host (function 0)"),
)


def _list_run(first: int, access: Access, *named: tuple[str, int | None, str]) -> tuple[Register, ...]:
    return tuple(
        Register(name, first + (8 if access is Access.COUNTER else 4) * index, access, reset, meaning)
        for index, (name, reset, meaning) in enumerate(named)
    )


def _list_counters(*named: tuple[str, str]) -> tuple[Register, ...]:
    return _list_run(0x100, Access.COUNTER, *((name, 0, meaning) for name, meaning in named))


def _describe_late(name: str) -> str:
    return "" if name == "host" else ", or the rest of an update was late"


REGISTERS: tuple[Register, ...] = (
    *_list_run(
        0x000,
        Access.FIXED,
        ("id", IDENTITY, 'the letters "OBOX": the box answers here'),
        ("version", MAP_VERSION, "version of this register map"),
        ("build_id", None, "first 32 bits of the build's digest; the same as in the manifest"),
        ("ports", None, "CMACs, each a front port"),
        ("groups", None, "multicast groups, the one that is none included"),
        ("copies", None, "entries of the copy table, shared by all groups"),
        ("max_bytes", None, "the longest frame that a port or the host may send in"),
        ("clock_hz", CLOCK_HZ, "cycles in a second"),
    ),
    *_list_run(
        0x040,
        Access.SETTING,
        *((f"port_number_{n}", n + 1, f"front port number of CMAC {n}; 0: none") for n in range(PORTS)),
        ("group_index", 0, "the group that write_group sets"),
        ("group_first", 0, "its first entry of the copy table"),
        ("group_count", 0, "its number of entries"),
        ("copy_index", 0, "the entry that write_copy sets"),
        ("copy_port", 0, "front port number the copy leaves by"),
        ("copy_rewrite", 0, "1: a copy for a cluster's member is addressed as the next four say"),
        ("copy_mac_high", 0, "upper 16 bits of the member's MAC address"),
        ("copy_mac_low", 0, "lower 32 bits"),
        ("copy_addr", 0, "the member's IPv4 address"),
        ("copy_udp_port", 0, "the member's UDP port"),
    ),
    *_list_run(
        0x0C0,
        Access.PULSE,
        ("write_group", 0, "writes the group staged above, in one step: frames see the old or the new one"),
        ("write_copy", 0, "writes the copy staged above: one that no group has, then the group"),
        ("clear", 0, "zeroes every counter"),
        ("snapshot", 0, "copies all counters at one instant, to be read after"),
    ),
    *_list_counters(
        *(
            counter
            for name, of in _INPUTS
            for counter in (
                (f"in_{name}", f"frames from {of}, whole"),
                (f"oversize_{name}", f"frames from {of} dropped: longer than max_bytes"),
                (
                    f"malformed_{name}",
                    f"frames from {of} dropped: a hole in their tkeep{_describe_late(name)}",
                ),
                (f"cut_{name}", f"frames from {of} dropped: a reset of the box cut them"),
            )
        ),
        ("dropped_host", "frames from the host dropped: not a packet-out"),
        ("dropped_function", "frames dropped because they came from another function than 0"),
        ("in_vnp4_1", "frames into VNP4₁"),
        ("out_vnp4_1", "frames out of VNP4₁; the rest it dropped"),
        ("punted", "frames for the control plane"),
        ("dropped_punt", "of them dropped: the host was slow"),
        ("out_host", "packet-ins taken by the host interface"),
        ("in_queue", "frames into OlafQueue"),
        ("in_vnp4_2", "frames into VNP4₂"),
        ("out_vnp4_2", "frames out of VNP4₂; the rest it dropped"),
        ("oversize_out", "frames behind VNP4₂ dropped: longer than the shell takes"),
        ("malformed_out", "frames behind VNP4₂ dropped: a hole in their tkeep"),
        ("copied", "copies that began to leave; of a unicast frame there is one"),
        ("dropped_port", "copies dropped: no CMAC has their front port number"),
        ("dropped_group", "frames dropped: their multicast group has no copies"),
        ("pruned", "copies not sent: they would have gone back where their frame came from"),
        *(
            counter
            for n in range(PORTS)
            for counter in (
                (f"out_port_{n}", f"frames sent by CMAC {n}"),
                (f"stalled_port_{n}", f"frames for CMAC {n} dropped: it has not moved for 1 ms"),
                (f"full_port_{n}", f"frames from CMAC {n} dropped for want of room; OpenNIC's wait instead"),
            )
        ),
    ),
)
BY_NAME = {register.name: register for register in REGISTERS}
