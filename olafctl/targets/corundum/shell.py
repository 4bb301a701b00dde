"""Corundum as the shell of a card: its registers as /dev/mqnicN has them, and its MACs' links."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from olafctl.targets.opennic.bar import Bar, MappedWords, explain_silence
from olafctl.targets.opennic.shell import Shell
from olafswitch.errors import Problem

REGION_BITS = 40
"""The bits of an address, above which is its region: 0 is the NIC, BAR 0, and 1 the application, BAR 2."""
INTERFACES, INTERFACE, PORT, PORT_CONTROL = 0xC000, 0xC001, 0xC002, 0xC003
"""The types of register blocks; each block has the offset of its registers at 0x0C."""
OFFSET, COUNT, STRIDE, FIRST_BLOCK = 0x0C, 0x10, 0x14, 0x18
TX_CONTROL, RX_CONTROL = 0x10, 0x14
_UP = 1 << 16
_PLACE = (1 << REGION_BITS) - 1
BYTES = 16 << 20
"""The size of each region."""
Read = Callable[[int], int]


class CorundumBar:
    """Both regions of a card: of its device where Corundum's driver is bound, else BAR 0 and BAR 2."""

    def __init__(self, function: Path, devices: Path = Path("/dev")) -> None:
        """``function`` is its folder, as for MappedBar. Raises OlafError where a region is missing."""
        self._function = function
        bound = sorted((function / "misc").glob("mqnic*"))
        self._regions = [
            MappedWords(devices / bound[0].name, BYTES, function, region << REGION_BITS)
            if bound
            else MappedWords(function / f"resource{2 * region}", BYTES, function)
            for region in range(2)
        ]

    def read(self, offset: int) -> int:
        return self._regions[offset >> REGION_BITS].read(offset & _PLACE)

    def write(self, offset: int, value: int) -> None:
        self._regions[offset >> REGION_BITS].write(offset & _PLACE, value)

    def why_silent(self) -> Problem:
        return explain_silence(self._function)

    def close(self) -> None:
        for region in self._regions:
            region.close()


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


CORUNDUM = Shell("corundum", 1 << REGION_BITS, CorundumBar, _watch_macs)
