"""A card without its data path: BAR2 with the box's registers and tables and both IPs', all in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from olafctl.queue.registers import Access
from olafctl.targets.opennic import plugin
from olafctl.targets.opennic.bar import ALL_ONES
from olafctl.targets.opennic.box_registers import Copy
from olafctl.targets.opennic.health import CMACS, RS_FEC, RX_ALIGNED, RX_OK, RX_STATUS
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.registers import BOX_BASE, BY_NAME, REGISTERS, WINDOWS
from olafctl.wire.geometry import Geometry
from olaflab.opennic import fake_driver
from olaflab.opennic.ip_registers import IpRegisters, Stored, build_info
from olafswitch.errors import Problem
from olafswitch.p4.compiler import Program, compile_text
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_text
from tests.opennic.test_plugin import p4

GROUPS, COPIES, PORTS = 64, 32, 2
_NAMES = {register.offset: register.name for register in REGISTERS}


@dataclass
class Built:
    """A plug-in's folder with stand-ins for the drivers, and both programs."""

    folder: Path
    build_id: int
    programs: Mapping[int, Program]


def build(folder: Path) -> Built:
    """The plug-in of the project's P4 in ``folder``."""
    made = plugin.make(Geometry(slots=8, beats=142), p4())
    made.write(folder)
    (folder / "drivers").mkdir()
    programs = {}
    for ip in IPS:
        name = f"p4/{ip.name}.p4"
        program = compile_text(preprocess_text(made.files[name], name), file=name)
        library = fake_driver.build(ip.name, program.p4info, build_info(program))
        (folder / "drivers" / library.name).write_bytes(library.read_bytes())
        programs[ip.number] = program
    return Built(folder, int(made.build_id, 16), programs)


@dataclass
class FakeBox:
    """The box's own registers, and what was written to its tables."""

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
        """Each group's copies, as the replicator would send them."""
        return {
            group: [self.copies[index] for index in range(first, first + count)]
            for group, (first, count) in self.runs.items()
            if count
        }


class FakeCard:
    """A :class:`olafctl.targets.opennic.bar.Bar`. Its IPs keep their tables when an agent goes away."""

    def __init__(self, built: Built) -> None:
        self.box = FakeBox(built.build_id)
        self.switches = {number: NativeSwitch(architecture="xsa") for number in built.programs}
        self.ips = {}
        for number, program in built.programs.items():
            switch = self.switches[number]
            switch.commit(switch.prepare(program.p4info, program.device_config))
            self.ips[number] = IpRegisters(switch, program.p4info, build_info(program))
        self.unplugged = False
        self.writes_left: int | None = None
        """After so many more writes every further one is lost, as when the agent is killed."""
        self.others = {base + RX_STATUS: RX_OK | RX_ALIGNED for base in CMACS}
        self.others.update({base + RS_FEC: 3 for base in CMACS})
        windows = {window.name: range(window.base, window.base + window.size) for window in WINDOWS}
        self._parts: dict[range, FakeBox | IpRegisters] = {
            windows["box"]: self.box,
            **{windows[ip.name]: self.ips[ip.number] for ip in IPS},
        }

    def read(self, offset: int) -> int:
        if self.unplugged:
            return ALL_ONES
        for window, part in self._parts.items():
            if offset - BOX_BASE in window:
                return part.read(offset - BOX_BASE - window.start)
        return self.others.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
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
        """The card stays: another agent may open it."""

    def tables(self) -> dict[str, dict[tuple[int, int], Stored]]:
        """What the IPs hold, by the last part of the table's name."""
        return {
            name.rpartition(".")[2]: dict(entries)
            for ip in self.ips.values()
            for name, entries in ip.entries().items()
            if entries
        }
