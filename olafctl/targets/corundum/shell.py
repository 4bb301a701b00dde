"""Corundum as the shell of a card: its registers as /dev/mqnicN has them, and its MACs' links."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from olafctl.targets.opennic.bar import Bar
from olafctl.targets.opennic.shell import Shell
from olafswitch.errors import Problem

REGION_BITS = 40
"""The bits of an address, above which is its region: 0 is the NIC, BAR 0, and 1 the application, BAR 2."""
INTERFACES, INTERFACE, PORT, PORT_CONTROL = 0xC000, 0xC001, 0xC002, 0xC003
"""The types of register blocks; each block has the offset of its registers at 0x0C."""
OFFSET, COUNT, STRIDE, FIRST_BLOCK = 0x0C, 0x10, 0x14, 0x18
TX_CONTROL, RX_CONTROL = 0x10, 0x14
_UP = 1 << 16
Read = Callable[[int], int]


@dataclass(frozen=True)
class MacLink:
    """The receive side of one MAC."""

    port: int
    up: bool

    def problem(self) -> Problem | None:
        """Return why the link is down, and the remedy; None when it is up."""
        if self.up:
            return None
        return Problem("no link", f"MAC {self.port}", "check cable, module, and the speed of the other end")


def list_interfaces(read: Read) -> list[tuple[int, dict[int, int]]]:
    """Return the place of each interface in the NIC's registers, and its register blocks."""
    block = list_blocks(read, 0, 0)[INTERFACES]
    offset, count, stride, first = (read(block + place) for place in (OFFSET, COUNT, STRIDE, FIRST_BLOCK))
    bases = [offset + number * stride for number in range(count)]
    return [(base, list_blocks(read, base, first)) for base in bases]


def list_blocks(read: Read, base: int, first: int) -> dict[int, int]:
    """Return the places of the register blocks in a list, by type; offsets in the list are from ``base``."""
    found: dict[int, int] = {}
    at = first
    while True:
        found.setdefault(read(base + at), base + at)
        at = read(base + at + 8)
        if not at:
            return found


def list_parts(read: Read, base: int, block: int) -> dict[int, int]:
    """Return the register blocks that the register block at ``block`` describes."""
    return list_blocks(read, base, read(block + OFFSET))


def _watch_macs(bar: Bar, ports: int) -> Callable[[], Sequence[MacLink]]:
    interfaces = list_interfaces(bar.read)
    macs = [list_parts(bar.read, base, blocks[PORT])[PORT_CONTROL] for base, blocks in interfaces]
    return lambda: [MacLink(port, bool(bar.read(at + RX_CONTROL) & _UP)) for port, at in enumerate(macs)]


CORUNDUM = Shell("corundum", 1 << REGION_BITS, _watch_macs)
