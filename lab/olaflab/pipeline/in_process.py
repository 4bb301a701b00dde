"""Frames a second through one engine in this process: the same code as a deployment's, without its ports."""

import ctypes
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from olafctl import cache
from olafctl.control import devices
from olafctl.control.desired import desired
from olafctl.p4.switch.native import Handle
from olafctl.p4runtime import address as addresses
from olafctl.p4runtime.agent import serve
from olafctl.queue.registers import QueueRegisters
from olafctl.queue.settings import Ranges, of_all
from olafctl.targets import deployment, registry
from olafctl.targets.engine import compile as engine_sources
from olafctl.targets.engine.compile import engine_library
from olafctl.targets.engine.device import EngineSwitch
from olafctl.targets.engine.engine import Engine
from olafctl.targets.interface import Device, Progress
from olafctl.targets.queue_library import queue_library as verilated
from olafctl.targets.software.target import queue_library as in_cpp
from olafctl.targets.twin.pipeline import CONFIG, P4INFO
from olafctl.testbed.model import Testbed
from olafctl.toolchain import cxx, run
from olafctl.wire.layouts import CPU_PORT, QUEUE_PORT
from olafctl.wire.modes import Mode

_SOURCE = Path(__file__).parent / "native" / "in_process.cpp"
_INCLUDES = Path(engine_sources.__file__).parent / "native"
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra")
_BURST = 64
QUEUES = {"software": in_cpp, "twin": verilated}
"""How each target's queue is built."""


@dataclass(frozen=True)
class Profile:
    """ns a frame, in each part of the way; ``whole`` is measured around them."""

    vnp4_1: float
    queue: float
    vnp4_2: float
    rest: float
    whole: float


class _Switch(EngineSwitch):
    running: Handle | None = None

    def _run(self, handle: Handle | None) -> None:
        if handle is not None:
            self.running = handle
        super()._run(handle)


class _Registers(QueueRegisters):
    """As a running target has them."""

    def settings(self) -> Ranges:  # type: ignore[override]
        return of_all(self._own)

    def __init__(self, own: QueueRegisters) -> None:
        super().__init__(own._read, own._write)
        self._own = own
        self.permit: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class _Running:
    devices: Sequence[Device]
    queues: Mapping[str, _Registers]


class InProcess:
    """An engine of one testbed, programmed, in FIFO mode."""

    def __init__(self, engine: Engine, switches: Sequence[_Switch], queue: Path, testbed: Testbed) -> None:
        self._native = _native()
        self._engine = engine
        self._switches = switches
        self._queue = queue
        self._port = testbed.workers[0].port
        self._out = testbed.parameter_servers[0].port
        self._native.olaf_in_process_port(engine.handle, self._out)

    def rate(self, frames: Sequence[bytes], count: int) -> float:
        """Frames a second that come out, of ``count``."""
        before = self._engine.port_stats(self._out).tx_frames
        took = self._native.olaf_in_process_run(
            self._engine.handle, self._port, b"".join(frames), len(frames), len(frames[0]), count, _BURST
        )
        left = self._engine.port_stats(self._out).tx_frames - before
        return float(left / took * 1e9)

    def profile(self, frames: Sequence[bytes], count: int) -> Profile:
        """Where the time goes."""
        six = (ctypes.c_uint64 * 6)()
        writes = self._engine.settings_as_writes(0)
        handles = [switch.running for switch in self._switches if switch.running]
        self._native.olaf_in_process_profile(
            *(word for handle in handles for word in (handle.process, handle.switch)),
            str(self._queue).encode(),
            (ctypes.c_uint32 * len(writes))(*writes),
            len(writes),
            self._port,
            QUEUE_PORT,
            b"".join(frames),
            len(frames),
            len(frames[0]),
            count,
            six,
        )
        return Profile(*(value / count for value in six[:5]))


@contextmanager
def engine_of(testbed: Testbed, target: str, progress: Progress) -> Iterator[InProcess]:
    """An engine as ``target`` ("software" or "twin") has it. Raises OlafError."""
    build = registry.get(target).build(replace(testbed, target=target), progress)
    queue = QUEUES[target](testbed.root, progress)
    engine = Engine()
    found = deployment.devices(
        testbed, lambda block: (build.folder / block / P4INFO, build.folder / block / CONFIG)
    )
    with tempfile.TemporaryDirectory(prefix="olaf") as folder:
        try:
            engine.wire_twins([queue])
            switches = [_Switch(engine, place, CPU_PORT) for place in range(len(found))]
            served = {device.device_id: switch for device, switch in zip(found, switches, strict=True)}
            agent = serve(served, addresses.of_socket(Path(folder) / "p4runtime.sock"))
            try:
                running = _Running(
                    [replace(device, address=agent.address) for device in found],
                    {testbed.root.name: _Registers(engine.registers())},
                )
                with devices.controlling(running) as sessions:
                    devices.push_pipelines(running, sessions)
                    devices.converge(running, sessions, desired(testbed))
                engine.registers().write("mode", Mode.FIFO.number)
                yield InProcess(engine, switches, queue, testbed)
            finally:
                agent.stop()
        finally:
            engine.close()


def _native() -> ctypes.CDLL:
    compiler = cxx()
    engine = engine_library()
    headers = [path for folder in engine_sources.SOURCES for path in sorted(folder.glob("*.h"))]
    key = cache.digest([str(compiler), " ".join(_FLAGS), str(engine), _SOURCE, *headers])

    def build(work: Path) -> None:
        output = [f"-I{_INCLUDES}", str(_SOURCE), str(engine), "-o", str(work / "in_process.so")]
        run([*compiler.command, *_FLAGS, *output])

    folder, _ = cache.build_once("in-process", key, build)
    library = ctypes.CDLL(str(folder / "in_process.so"))
    pointer, u64, u32, text, size = (
        *(ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_char_p),
        ctypes.c_size_t,
    )
    library.olaf_in_process_port.argtypes = (pointer, u32)
    library.olaf_in_process_run.restype = u64
    library.olaf_in_process_run.argtypes = (pointer, u32, text, size, size, u64, u64)
    library.olaf_in_process_profile.argtypes = (
        *(pointer, pointer, pointer, pointer, text, pointer, size, u32, u32),
        *(text, size, size, u64, pointer),
    )
    return library
