"""A P4 program's Verilog as a switch: Verilated, with its tables written over its registers."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4.hardware.driver import Driver
from olafswitch.p4.hardware.plane import HardwarePlane
from olafswitch.p4.switch.packets import CPU_PORT
from olafswitch.p4.verilog.compile import compile_module, list_library
from olafswitch.p4runtime.program import ProgramInfo
from olafswitch.p4runtime.protocol import p4info_pb2
from olafswitch.simulation.bench import Axil, Bench, Received, Signals
from olafswitch.simulation.verilate import build_bench

PERIOD = 4000
"""The length of a clock cycle in ps."""
_QUIET = 400
_LIMIT = 1_000_000


class SimulatedSwitch(HardwarePlane):
    """A simulated switch with the methods of :class:`olafswitch.p4.switch.native.NativeSwitch`."""

    def __init__(
        self,
        about: Mapping[str, Any], files: Sequence[Path], info: ProgramInfo, seed: int = 1,
        trace: Path | None = None, progress: Callable[[str], None] = lambda step: None, quick: bool = False,
    ) -> None:  # fmt: skip
        """Simulate the module that ``about`` describes, in ``files``; ``trace`` gets its waveforms (VCD).

        Raises OlafError when it cannot be built.
        """
        self.about = about
        made = build_bench(about["module"], files, progress=progress, traced=trace is not None, quick=quick)
        bench = self.bench = Bench(made, {"clk": PERIOD}, seed)
        if trace is not None:
            bench.trace(trace)
        side_in = [(f"s_axis_{name}", bits) for name, bits in about["sideband_in"].items()]
        side_out = [(f"m_axis_{name}", bits) for name, bits in about["sideband_out"].items()]
        self.source = bench.source(Signals.axis("s_axis", side_in))
        self.sink = bench.sink(Signals.axis("m_axis", side_out))
        axil = bench.axil("s_axi_")
        bench["rst"] = 1
        bench.run_cycles(10)
        bench["rst"] = 0
        bench.run_cycles(10)
        super().__init__(Driver(about, lambda at: axil.read(at)[0], partial(_write_register, axil)), info)
        self.start()

    @classmethod
    def of_text(
        cls, text: str, info: ProgramInfo, functions: Mapping[str, str] | None = None, seed: int = 1,
        file: str = "program.p4", quick: bool = False,
    ) -> "SimulatedSwitch":  # fmt: skip
        """Simulate a preprocessed program. Raises Refused where it is outside of the subset."""
        made = compile_module(text, file, "simulated", functions)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "simulated.v"
            path.write_text(made.text)
            return cls(made.description, [path, *list_library()], info, seed, quick=quick)

    @classmethod
    def of_folder(
        cls, folder: Path, trace: Path | None = None, progress: Callable[[str], None] = lambda step: None
    ) -> "SimulatedSwitch":
        """Simulate what ``compile --verilog`` wrote. Raises BadInput when a file is missing."""
        described = [path for path in folder.glob("*.json") if path.with_suffix(".v").exists()]
        if len(described) != 1:
            what = f"holds {len(described) or 'no'} modules with a description"
            remedy = "give the folder that `olafswitch compile --verilog` wrote"
            raise BadInput(Problem(what, str(folder), remedy))
        about = json.loads(described[0].read_text())
        text = described[0].with_suffix(".p4info.txtpb").read_text()
        info = ProgramInfo(text_format.Parse(text, p4info_pb2.P4Info()))
        return cls(about, sorted(folder.glob("*.v")), info, trace=trace, progress=progress, quick=True)

    def close(self) -> None:
        """Free the model."""
        self.bench.close()

    # --- frames

    def send(self, frame: bytes, *side: int) -> None:
        """Queue a frame with its sideband values; an empty frame takes no beat."""
        if frame:
            self.source.send(frame, side)

    def received(self) -> list[Received]:
        """Run until all frames are through and return those that left since the last call."""
        frames, quiet, before = self.sink.frames(), 0, -1
        for _ in range(_LIMIT // 100):
            self.bench.run_cycles(100)
            frames += self.sink.frames()
            passed = self.source.beats + self.sink.beats
            quiet = quiet + 100 if passed == before and not self.source.pending else 0
            before = passed
            if quiet >= _QUIET:
                return frames
        raise OlafError(Problem(f"the module did not become idle within {_LIMIT} cycles"))

    def process(self, port: int, frame: bytes, now_ns: int = 0) -> list[tuple[int, bytes]]:
        """Run one frame through a v1model program and return the port and frame of each that leaves."""
        with self.driver.lock:
            self.offer(port, frame, now_ns)
            return [each for out in self.received() for each in self.leaving(out)]

    def packet_out(self, frame: bytes) -> None:
        """Run one frame from the CPU port; a frame that leaves by it is a packet-in, any other is dropped."""
        for port, sent in self.process(CPU_PORT, frame):
            if port == CPU_PORT:
                self._packet_in(sent)

    def offer(self, port: int, frame: bytes, now_ns: int = 0) -> None:
        """Queue a frame for a v1model program."""
        copied = (0, 0, 0) if self._copies else ()
        self.send(frame, port, len(frame), now_ns // 1000 % (1 << 48), *copied)

    def leaving(self, out: Received) -> list[tuple[int, bytes]]:
        """Return the port and frame of each copy of a frame that left a v1model program.

        A frame that a program with egress sends to a group goes in again, once for each copy.
        """
        port, group, *again = out.user
        if not group:
            return [(port, out.data)]
        replicas = self._groups.get(group, ())
        if not self._copies:
            return [(replica.egress_port & 511, out.data) for replica in replicas]
        came, now = again
        for replica in replicas:
            self.send(out.data, came, len(out.data), now, 1, replica.egress_port, replica.instance)
        return [(each.user[0], each.data) for each in self.received()]

    @property
    def _copies(self) -> bool:
        return "copy" in self.about["sideband_in"]


def _write_register(axil: Axil, address: int, value: int) -> None:
    if response := axil.write(address, value):
        raise OlafError(Problem(f"a register write was answered with response {response}"))
