"""A card without its data path: BAR2 with the registers and tables of the box and both blocks in memory."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from olafctl.queue.registers import Access
from olafctl.targets.opennic import plugin
from olafctl.targets.opennic.bar import ALL_ONES
from olafctl.targets.opennic.box_registers import Copy
from olafctl.targets.opennic.health import CMACS, RS_FEC, RX_ALIGNED, RX_OK, RX_STATUS
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.registers import BOX_BASE, BY_NAME, REGISTERS, WINDOWS
from olafctl.wire.geometry import Geometry
from olafswitch.errors import Problem
from olafswitch.p4.hardware import driver
from tests.opennic.test_plugin import P4

GROUPS, COPIES, PORTS = 64, 32, 2
_NAMES = {register.offset: register.name for register in REGISTERS}


@dataclass
class Built:
    """A plug-in's folder, and the descriptions of its blocks."""

    folder: Path
    build_id: int
    blocks: Mapping[int, dict[str, Any]]
    """The description of each block's registers."""


def fake_build(folder: Path) -> Built:
    """Write the plug-in of the project's P4 into ``folder``."""
    made = plugin.assemble_plugin(Geometry(slots=8, beats=142), P4)
    made.write(folder)
    blocks = {ip.number: json.loads(made.files[plugin.TABLES.format(ip.name)]) for ip in IPS}
    return Built(folder, int(made.build_id, 16), blocks)


class Stored(NamedTuple):
    """An entry in a block."""

    slot: int
    action: int
    params: int


class FakeBlock:
    """The registers of a block (``p4_config.v``), with tables and counters that no frame uses."""

    def __init__(self, about: dict[str, Any]) -> None:
        self._about = about
        self._words: dict[int, int] = {}
        self._held = 0
        self.rows: list[dict[int, int]] = [{} for _ in about["tables"]]
        self.defaults: dict[int, int] = {}
        self.counts: dict[tuple[int, int], int] = {}
        """The packets by counter and cell, above 35 bits of bytes."""

    def read(self, offset: int) -> int:
        fixed = {driver.ID: driver.MAGIC, driver.DIGEST: int(self._about["digest"], 16), driver.COMMAND: 0}
        held = {driver.COUNT: self._held & 0xFFFFFFFF, driver.COUNT + 4: self._held >> 32}
        return {**fixed, **held}.get(offset, self._words.get(offset, 0))

    def write(self, offset: int, value: int) -> None:
        self._words[offset] = value
        if offset != driver.COMMAND:
            return
        target, last = self._words.get(driver.TARGET, 0), self._words.get(driver.SLOT, 0)
        for slot in range(last + 1) if value & driver.SWEEP else [last]:
            self._act_command(value & ~driver.SWEEP, target, slot)

    def _act_command(self, what: int, target: int, slot: int) -> None:
        if what == driver.TAKE:
            self._held = self.counts.pop((target, slot), 0)
            return
        words = range(self._about["tables"][target]["words"])
        number = sum(self._words.get(driver.WORDS + 4 * at, 0) << 32 * at for at in words)
        if what == driver.SET:
            self.rows[target][slot] = number
        elif what == driver.CLEAR:
            self.rows[target].pop(slot, None)
        else:
            self.defaults[target] = number

    def count(self, name: str, cell: int, size: int) -> None:
        """Count a frame of ``size`` bytes."""
        number = [each["name"].rpartition(".")[2] for each in self._about["counters"]].index(name)
        self.counts[number, cell] = self.counts.get((number, cell), 0) + (1 << 35 | size)

    def tables(self) -> dict[str, dict[tuple[int, int], Stored]]:
        """Return entries by the last part of a table's name, then by key and mask."""
        found: dict[str, dict[tuple[int, int], Stored]] = {}
        for about, rows in zip(self._about["tables"], self.rows, strict=True):
            bits, entry_bits, low = about["key_bits"], about["entry_bits"], about["action_low"]
            full = (1 << bits) - 1
            for slot, number in rows.items():
                entry = number & (1 << entry_bits) - 1
                hashed = slot < about["ways"] << about["row_bits"]
                mask = full if hashed else number >> entry_bits + bits & full
                stored = Stored(slot, entry >> low, entry & (1 << low) - 1)
                name = about["name"].rpartition(".")[2]
                found.setdefault(name, {})[number >> entry_bits & full, mask] = stored
        return found


@dataclass
class FakeBox:
    """The box's own registers, and the entries written to its tables."""

    build_id: int
    values: dict[str, int] = field(default_factory=dict)
    copies: dict[int, Copy] = field(default_factory=dict)
    runs: dict[int, tuple[int, int]] = field(default_factory=dict)

    def read(self, offset: int) -> int:
        name = _NAMES.get(offset, "")
        fixed = {"build_id": self.build_id, "ports": PORTS, "groups": GROUPS, "copies": COPIES}
        if name in fixed:
            return fixed[name]
        if name and BY_NAME[name].access is Access.FIXED:
            return BY_NAME[name].reset or 0
        return self.values.get(name, 0)

    def write(self, offset: int, value: int) -> None:
        name = _NAMES[offset]
        self.values[name] = value
        now = self.values.get
        if name == "write_copy":
            address = (
                (now("copy_mac_high", 0) << 32 | now("copy_mac_low", 0)) if now("copy_rewrite") else None
            )
            self.copies[self.values["copy_index"]] = Copy(
                self.values["copy_port"], address, self.values["copy_addr"], self.values["copy_udp_port"]
            )
        elif name == "write_group":
            self.runs[self.values["group_index"]] = (self.values["group_first"], self.values["group_count"])

    def groups(self) -> dict[int, list[Copy]]:
        """Return each group's copies, as the replicator would send them."""
        return {
            group: [self.copies[index] for index in range(first, first + count)]
            for group, (first, count) in self.runs.items()
            if count
        }


class FakeCard:
    """A :class:`olafctl.targets.opennic.bar.Bar`. Its blocks keep their tables when an agent leaves."""

    def __init__(self, built: Built) -> None:
        self.box = FakeBox(built.build_id)
        self.blocks = {number: FakeBlock(about) for number, about in built.blocks.items()}
        self.unplugged = False
        self.accesses = 0
        self.writes_left: int | None = None
        """The number of writes after which every further write is lost, as when the agent is killed."""
        self.others = {base + RX_STATUS: RX_OK | RX_ALIGNED for base in CMACS}
        self.others.update({base + RS_FEC: 3 for base in CMACS})
        windows = {window.name: range(window.base, window.base + window.size) for window in WINDOWS}
        self._parts: dict[range, FakeBox | FakeBlock] = {
            windows["box"]: self.box,
            **{windows[ip.name]: self.blocks[ip.number] for ip in IPS},
        }

    def read(self, offset: int) -> int:
        self.accesses += 1
        if self.unplugged:
            return ALL_ONES
        for window, part in self._parts.items():
            if offset - BOX_BASE in window:
                return part.read(offset - BOX_BASE - window.start)
        return self.others.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        self.accesses += 1
        if self.writes_left is not None:
            if self.writes_left == 0:
                return
            self.writes_left -= 1
        for window, part in self._parts.items():
            if offset - BOX_BASE in window and not self.unplugged:
                part.write(offset - BOX_BASE - window.start, value)

    def why_silent(self) -> Problem:
        return Problem("every register reads all ones: the fake card was unplugged", "the card", "plug it in")

    def close(self) -> None:
        """Do nothing: another agent may open the card."""

    def tables(self) -> dict[str, dict[tuple[int, int], Stored]]:
        """Return the blocks' entries, by the last part of the table's name."""
        return {name: entries for block in self.blocks.values() for name, entries in block.tables().items()}
