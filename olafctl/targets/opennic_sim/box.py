"""The whole box in simulation: its own RTL, that of OlafQueue and that of both blocks."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from olafctl import paths
from olafctl.queue import verilog as queue_verilog
from olafctl.queue.registers import QueueRegisters
from olafctl.queue.verilog import INSTANCE, render_instance
from olafctl.targets.opennic.blocks import write_blocks
from olafctl.targets.opennic.box_registers import BoxRegisters
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.registers import WINDOWS
from olafctl.wire.geometry import Geometry
from olafswitch.errors import OlafError, Problem
from olafswitch.native_library import declare_functions
from olafswitch.p4.hardware.driver import Driver
from olafswitch.p4.verilog.module import Module
from olafswitch.simulation import verilate
from olafswitch.simulation.bench import Bench, Received, Signals, Sink, Source

BOX_TIME = (
    Path(__file__).parent / "native" / "box_time.cpp",
    Path(queue_verilog.__file__).parent / "native" / "queue_time.h",
)
PERIODS = {"axis_aclk": 4000, "axil_aclk": 8000, "ref_clk_100mhz": 10000}
"""The clocks' periods in ps; cycles are counted in the first clock."""
_SIDEBAND = (("tuser_size", 16), ("tuser_src", 16), ("tuser_dst", 16))


@dataclass(frozen=True)
class Around:
    """RTL around the box; ``top`` is its module."""

    top: str
    sources: Sequence[Path]
    included: Sequence[Path] = ()
    """The files that the sources include."""
    defines: Sequence[str] = ()
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    native: Sequence[Path] = ()
    """C++ for the queue's time (native/box_time.cpp); without it, only cycles let it pass."""


class Inward(Protocol):
    """An end at which frames go in."""

    @property
    def pending(self) -> int:
        """The number of beats that wait to be taken."""

    @property
    def beats(self) -> int:
        """The number of beats that have passed."""

    def send(self, frame: bytes, user: Sequence[int] = ()) -> None:
        """Queue a whole frame."""


class Outward(Protocol):
    """An end at which frames leave."""

    @property
    def beats(self) -> int:
        """The number of beats that have passed."""

    def frames(self) -> Sequence[Received]:
        """Return all whole frames since the last call."""


class RegisterAccess(Protocol):
    """An access to the box's registers, which answers with a response of AXI4-Lite."""

    def read(self, address: int) -> tuple[int, int]: ...

    def write(self, address: int, data: int) -> int: ...


class Box:
    """The box, out of reset, with ``ports`` CMACs and one function of the host.

    ``blocks`` are VNP4₁ and VNP4₂; ``periods`` are clocks' periods in ps where they differ from PERIODS. With
    RTL ``around`` it, a subclass has its own :meth:`connect` and :meth:`power_up`, and where they differ
    clocks and registers.
    """

    clocks: Mapping[str, int] = PERIODS
    register_port = ("s_axil_", "axil_aclk")
    """The prefix of the register port's signals, and its clock."""

    def __init__(
        self,
        queue: Geometry,
        blocks: Mapping[int, Module],
        seed: int = 1,
        periods: Mapping[str, int] | None = None,
        ports: int = 2,
        around: Around | None = None,
    ) -> None:
        bench = Bench(
            build_box(queue, blocks, ports, around=around), {**self.clocks, **(periods or {})}, seed
        )
        self.bench = bench
        self._indices = queue.indices
        declare_functions(bench.library, BOX_TIME)
        self.power_up()
        self.rx: list[Source] = []
        self.tx: list[Sink] = []
        self.connect(ports)
        self.axil = self.open_registers()
        bases = {window.name: window.base for window in WINDOWS}
        self.registers = BoxRegisters(*self._open_window(bases["box"]))
        self.queue = QueueRegisters(*self._open_window(bases["queue"]))
        self.reset(start=False)
        self.drivers = {
            ip.number: Driver(blocks[ip.number].description, *self._open_window(bases[ip.name])) for ip in IPS
        }
        """Drivers of the tables of each block."""

    @property
    def ends(self) -> Sequence[tuple[Inward, Outward]]:
        """Return both ends of every front port, and last the host's."""
        return [*zip(self.rx, self.tx, strict=True), (self.h2c, self.c2h)]

    def open_registers(self) -> RegisterAccess:
        """Return the access to the box's registers."""
        return self.bench.axil(*self.register_port)

    def connect(self, ports: int) -> None:
        """Fill ``rx`` and ``tx``, a stream for each port, ``h2c`` and ``c2h``, the host's."""
        bench = self.bench
        self.rx += [bench.source(_signals_of_lane("s_axis_rx", port)) for port in range(ports)]
        self.tx += [bench.sink(_signals_of_lane("m_axis_tx", port, sideband=True)) for port in range(ports)]
        self.h2c = bench.source(_signals_of_lane("s_axis_h2c", 0))
        self.c2h = bench.sink(_signals_of_lane("m_axis_c2h", 0, sideband=True))

    def power_up(self) -> None:
        """Take everything out of reset."""
        self.bench["mod_rstn"] = 1
        self.bench["axil_aresetn"] = 0
        self.bench.run_cycles(20)
        self.bench["axil_aresetn"] = 1

    def reset(self, start: bool = True, limit: int = 50_000) -> None:
        """Reset the box as the shell does, and wait until it reports that it is done.

        Raises OlafError when it never does.
        """
        if start:
            self.bench["mod_rstn"] = 0
            self.bench.run_cycles(1, "axil_aclk")
            self.bench["mod_rstn"] = 1
            self.run_cycles(4)
        for _ in range(limit // 10):
            if self.bench["mod_rst_done"]:
                return
            self.run_cycles(10)
        raise OlafError(Problem("the box did not come out of reset"))

    def run_cycles(self, cycles: int) -> None:
        """Let cycles of the 250 MHz clock pass. Raises OlafError when an assertion in the RTL failed."""
        self.bench.run_cycles(cycles)

    def quiet(self, most: int) -> int:
        """Return how many cycles, at most ``most``, pass before anything happens in the queue except time."""
        return int(self.bench.library.box_quiet(self.bench.handle, self._indices, most))

    def skip(self, cycles: int) -> None:
        """Pass this many quiet cycles for the queue alone, while the box is empty."""
        self.bench.library.box_skip(self.bench.handle, self._indices, cycles)

    def settle(self, quiet: int = 1500, limit: int = 2_000_000) -> None:
        """Run until all input was sent and nothing has left for ``quiet`` cycles."""
        before, still = -1, 0
        for _ in range(limit // 100):
            self.run_cycles(100)
            passed = self.count_beats()
            busy = passed != before or any(into.pending for into, _ in self.ends)
            still = 0 if busy else still + 100
            before = passed
            if still >= quiet:
                return
        raise OlafError(Problem(f"the box did not become idle within {limit} cycles"))

    def count_beats(self) -> int:
        """Count the beats that have passed at all ends."""
        return sum(end.beats for pair in self.ends for end in pair)

    def close(self) -> None:
        """Free the model."""
        self.bench.close()

    def _open_window(self, base: int) -> tuple[Callable[[int], int], Callable[[int, int], None]]:
        def read(offset: int) -> int:
            data, response = self.axil.read(base + offset)
            if response:
                raise OlafError(Problem(f"reading {base + offset:#x} answered with response {response}"))
            return data

        def write(offset: int, value: int) -> None:
            response = self.axil.write(base + offset, value)
            if response:
                raise OlafError(Problem(f"writing {base + offset:#x} answered with response {response}"))

        return read, write


def _signals_of_lane(prefix: str, lane: int, sideband: bool = False) -> Signals:
    user = tuple((f"{prefix}_{name}", bits) for name, bits in _SIDEBAND) if sideband else ()
    return Signals.axis(prefix, user, lane)


def build_box(
    queue: Geometry,
    blocks: Mapping[int, Module],
    ports: int = 2,
    progress: Callable[[str], None] = lambda step: None,
    around: Around | None = None,
) -> Path:
    """Return the Verilated box with these blocks and OlafQueue, from the cache or built now.

    RTL ``around`` it decides the number of ports. Raises MissingTool without Verilator or a C++ compiler,
    OlafError when either fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = {INSTANCE: render_instance(queue), **write_blocks(blocks)}
        more = [Path(folder) / name for name in files]
        for path in more:
            path.write_text(files[path.name])
        if around is None:
            parameters: dict[str, int | str] = {"PORTS": ports, "FUNCTIONS": 1}
            return build_rtl("olaf_box_250mhz", parameters, more, BOX_TIME, progress=progress)
        return build_rtl(
            around.top,
            around.parameters,
            [*more, *around.sources],
            around.native,
            around.defines,
            progress,
            around.included,
        )


def list_sources() -> list[Path]:
    """List every Verilog file of the box and of OlafQueue, in a stable order."""
    hdl = paths.sources() / "hdl"
    return sorted([*hdl.glob("*.v*"), *(hdl / "opennic").glob("*.v*")])


def build_rtl(
    top: str,
    parameters: Mapping[str, int | str] | None = None,
    more: Sequence[Path] = (),
    native: Sequence[Path] = (),
    defines: Sequence[str] = (),
    progress: Callable[[str], None] = lambda step: None,
    included: Sequence[Path] = (),
) -> Path:
    """Build the library of module ``top``: see :func:`olafswitch.simulation.verilate.build_bench`.

    ``more`` are further Verilog files, such as stand-ins for IPs, which include ``included``.
    """
    hdl = paths.sources() / "hdl"
    own = [] if any(path.stem == top for path in more) else [hdl / "opennic" / f"{top}.v"]
    folders = [hdl / "opennic", hdl, *dict.fromkeys(path.parent for path in included)]
    return verilate.build_bench(
        top, [*more, *own], parameters, folders=folders, sources=[*list_sources(), *included], native=native,
        defines=defines, progress=progress,
    )  # fmt: skip
