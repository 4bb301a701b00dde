"""The box's registers and tables by name, over anything that reads and writes 32-bit words of the box."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from olafctl.queue.registers import Access, Register
from olafctl.targets.opennic.registers import BY_NAME, REGISTERS
from olafswitch.errors import BadInput, Problem

_LISTED = "see olafctl/targets/opennic/registers.py"


@dataclass(frozen=True)
class Copy:
    """A copy of a multicast group: the front port, and the member to whom it is addressed, if any."""

    port: int
    mac: int | None = None
    addr: int = 0
    udp_port: int = 0


class BoxRegisters:
    """The box's registers over ``read(offset)`` and ``write(offset, value)`` within the box's own window.

    :meth:`set_group` writes a group's copies to unused entries, then points the group at them in one step. It
    knows only the groups that it has set itself: begin with :meth:`clear_groups`.
    """

    def __init__(self, read: Callable[[int], int], write: Callable[[int, int], None]) -> None:
        self._read, self._write = read, write
        self._runs: dict[int, tuple[int, int]] = {}
        self._known: dict[str, int] = {}

    def read(self, name: str) -> int:
        """Return a register's value; a counter by way of a snapshot. Raises BadInput when it does not
        exist."""
        register = _register_named(name)
        if register.access is Access.COUNTER:
            self._write(BY_NAME["snapshot"].offset, 1)
        return self._read_value(register)

    def write(self, name: str, value: int) -> None:
        """Set a setting or act on a pulse. Raises BadInput when it cannot be written or is not 32 bits."""
        register = _register_named(name)
        if register.access not in (Access.SETTING, Access.PULSE):
            raise BadInput(Problem(f"register {name} is read-only", remedy=_LISTED))
        if not 0 <= value < 1 << 32:
            raise BadInput(Problem(f"{value} does not fit register {name}", remedy="give 0 … 4294967295"))
        self._write(register.offset, value)

    def counters(self) -> dict[str, int]:
        """Return every counter, as of one instant."""
        self._write(BY_NAME["snapshot"].offset, 1)
        return {
            register.name: self._read_value(register)
            for register in REGISTERS
            if register.access is Access.COUNTER
        }

    def clear_groups(self) -> None:
        """Remove every multicast group, whichever process set it."""
        self.write("group_first", 0)
        self.write("group_count", 0)
        for group in range(self.read("groups")):
            self.write("group_index", group)
            self.write("write_group", 1)
        self._runs.clear()

    def set_group(self, group: int, copies: Sequence[Copy]) -> None:
        """Replace a multicast group in one step; no copies remove it.

        A group that has no room for its old and its new copies is empty for a moment. Raises BadInput when
        the group does not exist or the copy table has no room left; the group is then as it was.
        """
        if not 0 < group < self._read_fixed("groups"):
            raise BadInput(Problem(f"group {group}", remedy=f"use 1 … {self._read_fixed('groups') - 1}"))
        first = self._place_copies(len(copies))
        if first is None and self._place_copies(len(copies), without=group) is not None:
            self._point_group(group, 0, 0)
            first = self._place_copies(len(copies))
        if first is None:
            raise BadInput(Problem(f"no room for {len(copies)} copies", remedy="remove groups, or members"))
        for index, copy in enumerate(copies, start=first):
            self._set_copy(index, copy)
        self._point_group(group, first, len(copies))

    def _point_group(self, group: int, first: int, count: int) -> None:
        self.write("group_index", group)
        self.write("group_first", first)
        self.write("group_count", count)
        self.write("write_group", 1)
        self._runs[group] = (first, count)

    def _place_copies(self, count: int, without: int = 0) -> int | None:
        """Return the first free run of ``count`` entries of the copy table, if group ``without`` had none."""
        first = 0
        runs = (run for group, run in self._runs.items() if run[1] and group != without)
        for start, length in sorted(runs):
            if start - first >= count:
                break
            first = start + length
        return first if first + count <= self._read_fixed("copies") else None

    def _read_fixed(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = self.read(name)
        return self._known[name]

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

    def _read_value(self, register: Register) -> int:
        return sum(self._read(register.offset + 4 * word) << (32 * word) for word in range(register.words))


def _register_named(name: str) -> Register:
    if name not in BY_NAME:
        raise BadInput(Problem(f"register {name!r} does not exist", remedy=_LISTED))
    return BY_NAME[name]
