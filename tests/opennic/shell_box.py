"""The box inside the shell's own RTL: from the CMACs' streams to the CMACs' and to QDMA's."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from olafctl.targets.opennic.plugin import Plugin
from olafctl.targets.opennic_sim.box import Around, Box
from olafctl.wire.geometry import Geometry
from olafswitch.errors import OlafError, Problem
from olafswitch.p4.verilog.module import Module
from olafswitch.simulation.bench import Received, Signals

MODELS = Path(__file__).parent / "shell"
CMAC_PERIODS = {"cmac_clk_0": 3103, "cmac_clk_1": 3104}
"""The periods in ps: 322 MHz, and not in step with each other or with the box."""
QUEUES = 4
"""The queues of function 0, from FIRST_QUEUE on."""
FIRST_QUEUE = 8
RX_RECEIVED, RX_DROPPED, RX_ERRORS, TX_SENT, TX_DROPPED = 0x20, 0x30, 0x40, 0x00, 0x10
_FUNCTION = 3
_QUEUE_CONFIG, _QUEUE_TABLE, _TABLE_ENTRIES = 0x000, 0x400, 128
_RTL = {
    "box_250mhz": ("box_250mhz.sv",),
    "packet_adapter": (
        "packet_adapter.sv",
        "packet_adapter_register.v",
        "packet_adapter_rx.sv",
        "packet_adapter_tx.sv",
    ),
    "qdma_subsystem": tuple(
        f"qdma_subsystem_{name}.sv" for name in ("c2h", "function", "function_register", "h2c", "hash")
    ),
    "utility": (
        *("axi_lite_register.sv", "axi_stream_packet_buffer.sv", "axi_stream_packet_fifo.sv"),
        *("axi_stream_register_slice.sv", "axi_stream_size_counter.sv", "crc32.v", "generic_reset.sv"),
        *("level_trigger_cdc.sv", "rr_arbiter.sv"),
    ),
}


def wrap_shell(shell: Path, plugin: Plugin, folder: Path) -> Around:
    """Return the shell's RTL and the models of AMD's primitives; the plug-in's files go to ``folder``."""
    included = []
    for name, text in plugin.files.items():
        if name.startswith("box_250mhz/") and name.endswith(".vh"):
            included.append(folder / Path(name).name)
            included[-1].write_text(text)
    rtl = [shell / "src" / room / name for room, names in _RTL.items() for name in names]
    return Around(
        "shell_path",
        [*sorted(MODELS.glob("*.sv")), *rtl],
        [*included, shell / "src" / "open_nic_shell_macros.vh"],
        ("__au55c__", "__synthesis__"),
    )


class ShellBox(Box):
    """The box in the shell; ``rx`` and ``tx`` are the CMACs' ends, ``h2c`` and ``c2h`` QDMA's.

    A frame into ``rx`` has a sideband value: 1 for a receive error; into ``h2c`` its size and its queue.
    """

    def __init__(self, queue: Geometry, blocks: Mapping[int, Module], around: Around, seed: int) -> None:
        super().__init__(queue, blocks, seed=seed, periods=CMAC_PERIODS, around=around)
        for entry in range(_TABLE_ENTRIES):
            self._access(_FUNCTION, _QUEUE_TABLE + 4 * entry, entry % QUEUES)
        self._access(_FUNCTION, _QUEUE_CONFIG, FIRST_QUEUE << 16 | QUEUES)

    def connect(self, ports: int) -> None:
        bench = self.bench
        for port in range(ports):
            clock, error = f"cmac_clk_{port}", ("cmac_rx_tuser_err", 1)
            self.rx.append(bench.source(Signals.axis("cmac_rx", [error], port), clock))
            self.tx.append(bench.sink(Signals.axis("cmac_tx", lane=port), clock))
        noted = ("seen_tuser_size", 16)
        self.seen = [bench.sink(Signals.axis("seen", [noted], port)) for port in range(ports)]
        """The frames that the receive adapters pass to the box, with the sizes that they report."""
        self.completions = bench.sink(
            Signals("completion_tdata", "", "", "completion_tvalid", "completion_tready")
        )
        self.h2c = bench.source(Signals.axis("h2c", [("h2c_tuser_mdata", 32), ("h2c_tuser_qid", 11)]))
        self.c2h = bench.sink(Signals.axis("c2h", [("c2h_tuser_len", 16), ("c2h_tuser_qid", 11)]))

    def power_up(self) -> None:
        bench = self.bench
        bench["mod_rstn"] = 1
        bench["shell_rstn"] = 0
        bench.run_cycles(2, "axil_aclk")
        bench["shell_rstn"] = 1
        for _ in range(1000):
            bench.run_cycles(1, "axil_aclk")
            if bench["adapter_rst_done"] == 3:
                return
        raise OlafError(Problem("the shell did not come out of reset"))

    def from_host(self, frame: bytes) -> None:
        """Send a frame as the driver does, with its queue and its size."""
        self.h2c.send(frame, (len(frame), FIRST_QUEUE))

    def counted(self, port: int, counter: int) -> int:
        """Return a counter of a packet adapter: frames since reset."""
        return self._access(1 + port, counter)

    def uncounted(self, port: int) -> int:
        """Return the frames that ended while their receive adapter was full: the shell counts no such."""
        return self.bench["seen_uncounted"] >> 16 * port & 0xFFFF

    def completed(self) -> Iterator[tuple[int, int]]:
        """Yield the size and queue of each completion that the host gets."""
        for frame in self.completions.frames():
            yield int.from_bytes(frame.data[4:6], "little"), int.from_bytes(frame.data[2:4], "little") & 0x7FF

    def _access(self, which: int, address: int, value: int | None = None) -> int:
        """Read or write a register of the shell itself."""
        self.bench["axil_select"] = which
        try:
            if value is None:
                return self.axil.read(address)[0]
            return self.axil.write(address, value)
        finally:
            self.bench["axil_select"] = 0


def count_gaps(frames: list[Received]) -> int:
    """Return the number of cycles without a beat inside frames."""
    return sum(frame.last - frame.first + 1 - (len(frame.data) + 63) // 64 for frame in frames)
