"""The box's registers and tables by name, over anything that reads and writes 32-bit words of the box."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from olafctl.errors import BadInput, Problem
from olafctl.queue.registers import Access, Register
from olafctl.targets.opennic.registers import BY_NAME, REGISTERS


@dataclass(frozen=True)
class Copy:
    """One copy of a multicast group: the front port, and the member to whom it is addressed, if any."""

    port: int
    mac: int | None = None
    addr: int = 0
    udp_port: int = 0


class BoxRegisters:
    """Over ``read(offset)`` and ``write(offset, value)`` within the box's own window.

    :meth:`set_group` writes a group's copies where no group has any, then points the group at them in one
    step.
    """

    def __init__(self, read: Callable[[int], int], write: Callable[[int, int], None]) -> None:
        self._read, self._write = read, write
        self._runs: dict[int, tuple[int, int]] = {}

    def read(self, name: str) -> int:
        """The value now; a counter by way of a snapshot. Raises BadInput when there is no such register."""
        register = _named(name)
        if register.access is Access.COUNTER:
            self._write(BY_NAME["snapshot"].offset, 1)
        return self._value(register)

    def write(self, name: str, value: int) -> None:
        """Set a setting or act on a pulse. Raises BadInput when it cannot be written or is not 32 bits."""
        register = _named(name)
        if register.access not in (Access.SETTING, Access.PULSE):
            raise BadInput(Problem(f"register {name} is read-only", remedy="see docs/opennic-registers.md"))
        if not 0 <= value < 1 << 32:
            raise BadInput(Problem(f"{value} does not fit register {name}", remedy="give 0 … 4294967295"))
        self._write(register.offset, value)

    def counters(self) -> dict[str, int]:
        """Every counter, as of one instant."""
        self._write(BY_NAME["snapshot"].offset, 1)
        return {
            register.name: self._value(register)
            for register in REGISTERS
            if register.access is Access.COUNTER
        }

    def set_group(self, group: int, copies: Sequence[Copy]) -> None:
        """Replace a multicast group in one step; no copies remove it.

        Raises BadInput when there is no such group or the copy table has no room left.
        """
        if not 0 < group < self.read("groups"):
            raise BadInput(Problem(f"group {group}", remedy=f"use 1 … {self.read('groups') - 1}"))
        first = self._place(len(copies))
        for index, copy in enumerate(copies, start=first):
            self._set_copy(index, copy)
        self.write("group_index", group)
        self.write("group_first", first)
        self.write("group_count", len(copies))
        self.write("write_group", 1)
        self._runs[group] = (first, len(copies))

    def _place(self, count: int) -> int:
        """The first free run of ``count`` entries of the copy table."""
        first = 0
        for start, length in sorted(run for run in self._runs.values() if run[1]):
            if start - first >= count:
                break
            first = start + length
        if first + count > self.read("copies"):
            raise BadInput(
                Problem(f"no room for {count} copies", remedy="remove groups, or build with more copies")
            )
        return first

    def _set_copy(self, index: int, copy: Copy) -> None:
        mac = copy.mac or 0
        for name, value in (
            ("copy_index", index),
            ("copy_port", copy.port),
            ("copy_rewrite", int(copy.mac is not None)),
            ("copy_mac_high", mac >> 32),
            ("copy_mac_low", mac & 0xFFFFFFFF),
            ("copy_addr", copy.addr),
            ("copy_udp_port", copy.udp_port),
            ("write_copy", 1),
        ):
            self.write(name, value)

    def _value(self, register: Register) -> int:
        return sum(self._read(register.offset + 4 * word) << (32 * word) for word in range(register.words))


def _named(name: str) -> Register:
    if name not in BY_NAME:
        raise BadInput(Problem(f"there is no register {name!r}", remedy="see docs/opennic-registers.md"))
    return BY_NAME[name]
