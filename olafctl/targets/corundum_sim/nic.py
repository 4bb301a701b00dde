"""Corundum whole but for its transceivers and PCI Express' pins: its core, and the box as its application."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from olafctl import paths
from olafctl.targets.corundum.variant import VALUES, read_template, write_block
from olafctl.targets.corundum_sim.driver import HostInterface, open_interfaces
from olafctl.targets.corundum_sim.pcie import LARGEST, RootComplex
from olafctl.targets.opennic_sim.box import BOX_TIME, Around, Box, Inward, Outward, RegisterAccess
from olafctl.wire.geometry import Geometry
from olafswitch import cache
from olafswitch.p4.verilog.module import Module
from olafswitch.simulation.bench import Signals

_TOP = "mqnic_core_pcie"
_BOX = f"{_TOP}__DOT__core_inst__DOT__app__DOT__app_block_inst__DOT__olaf__DOT__box"
"""Verilator's name of the box."""
_FOLDERS = ("fpga/common/rtl", *(f"fpga/lib/{name}/rtl" for name in ("axi", "axis", "eth", "pcie")))
_SCHEDULER = "mqnic_tx_scheduler_block_rr.v"
"""The file of a module with another name."""
_NO_BITS = re.compile(r"\+: (CL_PORTS|SEG_SEL_WIDTH)\]")
"""A part select of no bits, which Verilator refuses even where nothing reaches it."""
_SIZES = {
    **{f"{way}_QUEUE_INDEX_WIDTH": 5 for way in ("TX", "RX")},
    "TX_TAG_WIDTH": 16,
    "STAT_ENABLE": 0,
    "CHECK_BUS_NUMBER": 0,
}
_CLOCK = re.compile(r"input +wire \[PORT_COUNT-1:0\] +(tx|rx)_clk,")
_STEP = 16
"""Cycles between two looks at what the NIC asks the host."""
_SETTLING = 10_000
"""Cycles after which the box has sent what a reset found begun."""


class Nic(Box):
    """Corundum with ``macs`` MACs of ``width`` bits, each with an interface of the host, and the box.

    Front ports 1 to ``macs`` are the MACs, ``rx`` and ``tx``: a value of 1 with a frame into one is a receive
    error. The next are ``hosts``, whose frames go through the host's memory.
    """

    clocks: Mapping[str, int] = {"clk": 4000, "tx_mac_clk": 4000, "rx_mac_clk": 4000, "ptp_clk": 4000}

    def __init__(
        self,
        checkout: Path,
        queue: Geometry,
        blocks: Mapping[int, Module],
        macs: int = 2,
        width: int = 512,
        seed: int = 1,
        periods: Mapping[str, int] | None = None,
    ) -> None:
        self._macs, self.width = macs, width
        self.hosts: list[HostInterface] = []
        super().__init__(queue, blocks, seed, periods, 2 * macs, surround_box(checkout, macs, width))

    @property
    def ends(self) -> Sequence[tuple[Inward, Outward]]:
        macs = zip(self.rx, self.tx, strict=True)
        control = self.hosts[0].control
        return [*macs, *((host, host) for host in self.hosts), (control, control)]

    def connect(self, ports: int) -> None:
        beat = self.width // 8
        for lane in range(self._macs):
            into = Signals.axis("s_axis_rx", [("s_axis_rx_tuser", 1)], lane, beat)
            self.rx.append(self.bench.source(into, "rx_mac_clk"))
            out = Signals.axis("m_axis_tx", [("m_axis_tx_tuser", 17)], lane, beat)
            self.tx.append(self.bench.sink(out, "tx_mac_clk"))
        self.root = RootComplex(self.bench, self.run_cycles)

    def open_registers(self) -> RegisterAccess:
        return _ApplicationBar(self.root)

    def power_up(self) -> None:
        bench = self.bench
        for name, value in (("max_payload_size", LARGEST), ("max_read_request_size", LARGEST)):
            bench[name] = value
        bench["ext_tag_enable"] = 1
        for name in ("tx_status", "rx_status"):
            bench[name] = (1 << self._macs) - 1
        self._hold(1)
        bench.run_cycles(20)
        self._hold(0)

    def reset(self, start: bool = True, limit: int = 50_000) -> None:
        """Reset everything, as PCI Express does, and set the host's interfaces up again."""
        if start:
            self._hold(1)
            self.bench.run_cycles(20)
            for source in self.rx:
                source.forget()
            self.hosts.clear()
            self.root.forget()
            self._hold(0)
        self.run_cycles(_SETTLING)
        self.hosts += open_interfaces(self.root)
        self.run_cycles(1000)

    def run_cycles(self, cycles: int) -> None:
        for done in range(0, cycles, _STEP):
            self.bench.run_cycles(min(_STEP, cycles - done))
            self.root.serve()
            for host in self.hosts:
                host.serve(self.bench.cycles())

    def count_beats(self) -> int:
        return super().count_beats() + self.root.beats

    def _hold(self, level: int) -> None:
        """Hold everything in reset, or let it go."""
        every = (1 << self._macs) - 1
        for name, value in (("rst", 1), ("ptp_rst", 1), ("tx_rst", every), ("rx_rst", every)):
            self.bench[name] = value * level


class _ApplicationBar:
    def __init__(self, root: RootComplex) -> None:
        self._root = root

    def read(self, address: int) -> tuple[int, int]:
        return self._root.read(2, address), 0

    def write(self, address: int, data: int) -> int:
        self._root.write(2, address, data)
        self._root.wait_for_credits()
        return 0


def surround_box(checkout: Path, macs: int, width: int = 512) -> Around:
    """Return Corundum's core around the box. Raises BadInput where the checkout is not as it was read."""
    time, queue_time = BOX_TIME
    folders = [checkout / folder for folder in _FOLDERS]
    files = [path for folder in folders for path in sorted(folder.glob("*.v"))]
    made = {
        f"{_TOP}.v": _join_clocks((folders[0] / f"{_TOP}.v").read_text()),
        **replace_empty_selects(files),
        "mqnic_app_block.v": write_block(read_template(checkout), "0" * 8),
        "nic_time.cpp": time.read_text().replace("olaf_box_250mhz", _BOX),
    }

    def write(folder: Path) -> None:
        for name, text in made.items():
            (folder / name).write_text(text)

    folder, _ = cache.build_once("corundum-files", cache.digest([repr(sorted(made.items()))]), write)
    own = paths.sources() / "hdl" / "corundum"
    parameters: dict[str, int | str] = {**VALUES, **_SIZES, "IF_COUNT": macs, "AXIS_DATA_WIDTH": width}
    sources = [*sorted(folder.glob("*.v")), *sorted(own.glob("*.v")), folders[0] / _SCHEDULER]
    return Around(_TOP, sources, files, (), parameters, (folder / "nic_time.cpp", queue_time))


def replace_empty_selects(files: Iterable[Path]) -> dict[str, str]:
    """Return those of ``files`` that Verilator refuses, by name, without part selects of no bits."""
    texts = {path.name: path.read_text() for path in files}
    return {
        name: _NO_BITS.sub(r"+: (\1 ? \1 : 1)]", text)
        for name, text in texts.items()
        if _NO_BITS.search(text)
    }


def _join_clocks(top: str) -> str:
    """Return the core with one clock for all of its MACs each way: a bench's clock is one bit."""
    joined = _CLOCK.sub(r"input  wire \1_mac_clk,", top)
    each = "".join(
        f"wire [PORT_COUNT-1:0] {way}_clk = {{PORT_COUNT{{{way}_mac_clk}}}};\n" for way in ("tx", "rx")
    )
    return joined.replace("\n);\n", f"\n);\n{each}", 1)
