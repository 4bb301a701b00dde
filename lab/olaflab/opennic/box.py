"""The whole box in simulation: its RTL, OlafQueue's, and stand-ins for the IPs that run given programs."""

import ctypes as c
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from olafctl.queue.registers import QueueRegisters
from olafctl.queue.verilog import INSTANCE, instance
from olafctl.targets.opennic.box_registers import BoxRegisters
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.metadata import fields, width
from olafctl.targets.opennic.registers import WINDOWS
from olafctl.wire.geometry import Geometry
from olaflab.opennic.stand_ins import model, rtl
from olaflab.opennic.verilate import build
from olafswitch.errors import OlafError, Problem
from olafswitch.p4.hardware.driver import Driver
from olafswitch.p4.switch.library import USER_EXTERN
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.verilog.compile import library as p4_library
from olafswitch.p4.verilog.module import Module
from olafswitch.simulation.bench import Bench, Signals, Sink, Source

_NATIVE = Path(__file__).parent / "native"
PERIODS = {"axis_aclk": 4000, "axil_aclk": 8000, "ref_clk_100mhz": 10000}
"""ps; the first clock is the one that cycles are counted in."""
FIELDS = fields()
_SIDEBAND = (("tuser_size", 16), ("tuser_src", 16), ("tuser_dst", 16))
_HEAD = 128


class _Frame(c.Structure):
    _fields_ = [
        ("meta", c.c_uint8 * 64),
        ("head", c.c_uint8 * (_HEAD + 64)),
        ("head_bytes", c.c_uint32),
        ("question", c.c_uint8 * 16),
        ("answer_low", c.c_uint32),
        ("expected", c.c_uint32),
    ]


@dataclass(frozen=True)
class Outcome:
    """What a program does with a frame: its headers and metadata afterwards.

    ``question`` is what it asks its extern; the field named ``answer`` then takes the extern's answer.
    """

    head: bytes
    metadata: Mapping[str, int]
    question: int | None = None
    answer: str = ""


Program = Callable[[Mapping[str, int], bytes], Outcome | None]
"""Given a frame's metadata by field and its first 128 bytes (or all of it): what becomes of it, or None for
nothing: it is dropped."""


class Registers(Protocol):
    """An IP's registers, by their byte offset."""

    def read(self, address: int) -> int: ...

    def write(self, address: int, value: int) -> None: ...


@dataclass(frozen=True)
class Around:
    """RTL around the box: its module ``top`` has the clocks and the register port that the box has."""

    top: str
    sources: Sequence[Path]
    included: Sequence[Path] = ()
    """What the sources include."""
    defines: Sequence[str] = ()


@dataclass(frozen=True)
class Compiled:
    """A compiled XSA program that runs natively behind an IP's ports, and the IP's registers."""

    switch: NativeSwitch
    registers: Registers


@dataclass(frozen=True)
class Rtl:
    """A program's own Verilog behind an IP's ports: what the card runs without VitisNetP4."""

    module: Module


class Box:
    """The box, out of reset, with ``ports`` CMACs and one function of the host.

    ``programs`` are VNP4₁'s and VNP4₂'s; ``latency`` is that of each IP in cycles; ``periods`` are clocks'
    periods in ps where they differ from PERIODS. One box of a process runs compiled programs at a time. With
    RTL ``around`` it, a subclass has :meth:`connect` and :meth:`power_up` of its own.
    """

    def __init__(
        self,
        queue: Geometry,
        programs: Mapping[int, Program | Compiled | Rtl],
        seed: int = 1,
        latency: int = 40,
        periods: Mapping[str, int] | None = None,
        ports: int = 2,
        around: Around | None = None,
    ) -> None:
        blocks = {n: each.module for n, each in programs.items() if isinstance(each, Rtl)}
        made = library(queue, ports, around=around, blocks=blocks)
        bench = Bench(made, {**PERIODS, **(periods or {})}, seed)
        self.bench = bench
        self._failure: BaseException | None = None
        self._compiled = {which: each for which, each in programs.items() if isinstance(each, Compiled)}
        self._callback = c.CFUNCTYPE(c.c_int, c.c_int, c.POINTER(_Frame))(self._run_program)
        self._programs = {n: each for n, each in programs.items() if not isinstance(each, Compiled | Rtl)}
        bench.library.vnp4_set_program.argtypes = [c.c_void_p]
        bench.library.vnp4_set_program(c.cast(self._callback, c.c_void_p))
        self._registers_callback = c.CFUNCTYPE(c.c_uint32, c.c_int, c.c_int, c.c_uint32, c.c_uint32)(
            self._on_register
        )
        answer = c.cast(self._registers_callback, c.c_void_p) if self._compiled else None
        bench.library.vnp4_set_registers.argtypes = [c.c_void_p]
        bench.library.vnp4_set_registers(answer)
        self._bind()
        bench.library.vnp4_set_latency(latency, 4)
        bench.library.vnp4_breaches.restype = c.c_uint64
        self._breaches = bench.library.vnp4_breaches()
        self.power_up()
        self.rx: list[Source] = []
        self.tx: list[Sink] = []
        self.h2c, self.c2h = self.connect(ports)
        self.axil = bench.axil(clock="axil_aclk")
        bases = {window.name: window.base for window in WINDOWS}
        self.registers = BoxRegisters(*self._window(bases["box"]))
        self.queue = QueueRegisters(*self._window(bases["queue"]))
        self.reset(start=False)
        self.drivers = {
            ip.number: Driver(blocks[ip.number].description, *self._window(bases[ip.name]))
            for ip in IPS
            if ip.number in blocks
        }
        """What programs the tables of each block that is Olaf's own Verilog."""

    def connect(self, ports: int) -> tuple[Source, Sink]:
        """Fill ``rx`` and ``tx``, a stream for each port; the host's two streams."""
        bench = self.bench
        self.rx += [bench.source(_lane("s_axis_rx", port)) for port in range(ports)]
        self.tx += [bench.sink(_lane("m_axis_tx", port, sideband=True)) for port in range(ports)]
        return bench.source(_lane("s_axis_h2c", 0)), bench.sink(_lane("m_axis_c2h", 0, sideband=True))

    def power_up(self) -> None:
        """Take everything out of reset."""
        self.bench["mod_rstn"] = 1
        self.bench["axil_aresetn"] = 0
        self.bench.run(20)
        self.bench["axil_aresetn"] = 1

    def reset(self, start: bool = True, limit: int = 50_000) -> None:
        """Request a reset as the shell does, and wait until the box reports that it is done.

        Raises OlafError when it never does.
        """
        if start:
            self.bench["mod_rstn"] = 0
            self.bench.run(1, "axil_aclk")
            self.bench["mod_rstn"] = 1
            self.run(4)
        for _ in range(limit // 10):
            if self.bench["mod_rst_done"]:
                return
            self.run(10)
        raise OlafError(Problem("the box did not come out of reset"))

    def run(self, cycles: int) -> None:
        """Let cycles of the 250 MHz clock pass.

        Raises OlafError when a rule of the IPs' ports was broken, and whatever a program raised.
        """
        self.bench.run(cycles)
        if self._failure is not None:
            raise self._failure
        breaches = self.bench.library.vnp4_breaches() - self._breaches
        if breaches:
            raise OlafError(Problem(f"{breaches} breaches of VitisNetP4's rules: see the messages above"))

    def settle(self, quiet: int = 1500, limit: int = 2_000_000) -> None:
        """Run until everything was sent in and nothing has left for ``quiet`` cycles."""
        sources, sinks = [*self.rx, self.h2c], [*self.tx, self.c2h]
        before, still = -1, 0
        for _ in range(limit // 100):
            self.run(100)
            passed = sum(end.beats for end in (*sources, *sinks))
            still = still + 100 if passed == before and not any(source.pending for source in sources) else 0
            before = passed
            if still >= quiet:
                return
        raise OlafError(Problem(f"the box did not become idle within {limit} cycles"))

    def close(self) -> None:
        """Free the model."""
        self.bench.library.vnp4_set_registers(None)
        for which in IPS:
            self.bench.library.vnp4_bind(which.number, None, None, 0)
        self.bench.close()

    def _bind(self) -> None:
        """Put the compiled programs behind the stand-ins."""
        library = self.bench.library
        library.vnp4_bind.argtypes = [c.c_int, c.c_void_p, c.c_void_p, c.c_uint]
        extern = c.cast(library.vnp4_user_extern, USER_EXTERN)
        for ip in IPS:
            if ip.number not in self._compiled:
                library.vnp4_bind(ip.number, None, None, 0)
                continue
            switch = self._compiled[ip.number].switch
            handle = switch.handle
            assert handle is not None
            switch.library.p4_on_user_extern(handle.switch, extern, None)
            library.vnp4_bind(ip.number, handle.process, handle.switch, width(FIELDS))

    def _on_register(self, which: int, write: int, address: int, value: int) -> int:
        try:
            registers = self._compiled[which].registers
            if not write:
                return registers.read(address)
            registers.write(address, value)
        except BaseException as error:  # a callback cannot raise into C
            self._failure = error
        return 0

    def _window(self, base: int) -> tuple[Callable[[int], int], Callable[[int, int], None]]:
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

    def _run_program(self, which: int, pointer: "c._Pointer[_Frame]") -> int:
        frame = pointer.contents
        try:
            bus = int.from_bytes(bytes(frame.meta), "little")
            metadata = {field.name: bus >> field.low & (1 << field.bits) - 1 for field in FIELDS}
            outcome = self._programs[which](metadata, bytes(frame.head[: frame.head_bytes]))
            if outcome is None:
                return 0
            after = {**metadata, **outcome.metadata}
            bus = sum(after[field.name] << field.low for field in FIELDS)
            c.memmove(frame.meta, bus.to_bytes(64, "little"), 64)
            c.memmove(frame.head, outcome.head, len(outcome.head))
            frame.head_bytes = len(outcome.head)
            if outcome.question is None:
                return 1
            c.memmove(frame.question, outcome.question.to_bytes(16, "little"), 16)
            frame.answer_low = next(field.low for field in FIELDS if field.name == outcome.answer)
            return 2
        except BaseException as error:  # a callback cannot raise into C
            self._failure = error
            return 0


def _lane(prefix: str, lane: int, sideband: bool = False) -> Signals:
    user = tuple((f"{prefix}_{name}", bits) for name, bits in _SIDEBAND) if sideband else ()
    return Signals.axis(prefix, user, lane)


def library(
    queue: Geometry,
    ports: int = 2,
    progress: Callable[[str], None] = lambda step: None,
    around: Around | None = None,
    blocks: Mapping[int, Module] | None = None,
) -> Path:
    """The Verilated box with OlafQueue of these parameters, from the cache or built now.

    With RTL ``around`` it that decides the number of ports. ``blocks`` are IPs' programs in Verilog.
    Raises MissingTool without Verilator or a C++ compiler, OlafError when either fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        more: list[Path] = [work / INSTANCE, *(work / f"{ip.name}.sv" for ip in IPS)]
        more[0].write_text(instance(queue))
        for ip, path in zip(IPS, tuple(more[1:]), strict=True):
            made = (blocks or {}).get(ip.number)
            path.write_text(rtl(ip, made.name) if made is not None else model(ip))
        for made in (blocks or {}).values():
            more.append(work / f"{made.name}.v")
            more[-1].write_text(made.text)
        if blocks:
            more += p4_library()
        native = [_NATIVE / "vnp4.h", _NATIVE / "vnp4.cpp"]
        if around is None:
            parameters = {"PORTS": ports, "FUNCTIONS": 1}
            return build("olaf_box_250mhz", parameters, more, native, progress=progress)
        return build(
            around.top, {}, [*more, *around.sources], native, around.defines, progress, around.included
        )
