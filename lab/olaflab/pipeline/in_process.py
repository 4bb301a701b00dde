"""Frames a second through one engine in this process: the same code as a deployment's, without its ports."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from olafctl.targets import registry
from olafctl.targets.engine.compile import SOURCES as PIPELINE
from olafctl.targets.engine.engine import PipelineEngine
from olafctl.targets.interface import Progress
from olafctl.targets.queue_library import queue_library as verilated
from olafctl.targets.software.target import queue_library as in_cpp
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaflab.pipeline.engines import engines_of
from olafswitch import cache
from olafswitch.engine.compile import INCLUDES, engine_library
from olafswitch.errors import OlafError, Problem
from olafswitch.native_library import load_library
from olafswitch.toolchain import cxx, run_tool

_SOURCE = Path(__file__).parent / "native" / "in_process.cpp"
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra")
_BURST = 64
QUEUES = {"software": in_cpp, "twin": verilated}
"""How each target's queue is built."""


@dataclass(frozen=True)
class Together:
    """What all shards of an engine do at once."""

    per_second: float
    """Frames, in wall time: as much as the machine lets them run at the same time."""
    ns: float
    """Processor time of a frame."""
    per_core: float
    """Frames a second that each shard has the processor time for, added up."""
    lost: int
    """Frames that did not come out; of these ``between_shards``, for one that did not keep up."""
    between_shards: int


class InProcess:
    """An engine of one testbed, programmed, in FIFO mode."""

    def __init__(self, engine: PipelineEngine, testbed: Testbed) -> None:
        self._native = _load_native()
        self._engine = engine
        self._port = testbed.workers[0].port
        self._out = testbed.parameter_servers[0].port
        for port in {self._port, self._out}:
            self._native.olaf_in_process_port(self._engine.handle, port)

    def shard_of(self, index: int) -> int:
        """Return the shard that has an index."""
        return self._engine.shard_of(index)

    def rate_up(self, frames: Sequence[bytes], count: int) -> float:
        """Return the frames a second that come out, of ``count`` from the first worker."""
        return self._measure_rate(self._port, self._out, frames, count)

    def rate_down(self, frames: Sequence[bytes], count: int) -> float:
        """Return the frames a second that come out, of ``count`` from its parameter server."""
        return self._measure_rate(self._out, self._port, frames, count)

    def _measure_rate(self, into: int, out: int, frames: Sequence[bytes], count: int) -> float:
        before = self._engine.port_stats(out).tx_frames
        took = self._native.olaf_in_process_run(
            self._engine.handle, into, b"".join(frames), len(frames), len(frames[0]), count, _BURST
        )
        left = self._engine.port_stats(out).tx_frames - before
        return float(left / took * 1e9)

    def run_shards(self, frames: Sequence[Sequence[bytes]], count: int, shift: int = 0) -> Together:
        """Run ``count`` frames in every shard at once, in turn those of its entry in ``frames``, or of the
        ``shift``-th after it."""
        shards = self._engine.lanes
        spent = (ctypes.c_uint64 * shards)()
        kinds, length = len(frames[0]), len(frames[0][0])
        flat = b"".join(frame for each in frames for frame in each)
        before, full = self._engine.port_stats(self._out).tx_frames, self._engine.losses().between_shards
        took = self._native.olaf_in_process_shards(
            self._engine.handle, self._port, flat, kinds, length, count, _BURST, shift, spent
        )
        left = self._engine.port_stats(self._out).tx_frames - before
        per_core = sum(count / ns * 1e9 for ns in spent)
        ns, lost = sum(spent) / shards / count, shards * count - left
        full = self._engine.losses().between_shards - full
        return Together(left / took * 1e9, ns, per_core, lost, full)

    def hold(self, mode: Mode) -> None:
        """Let updates wait in the queue, which treats them by ``mode``."""
        registers = self._engine.registers(0)
        registers.write("mode", mode.number)
        registers.write("hold", 1)

    def count(self, frames: Sequence[bytes], count: int, from_server: bool) -> None:
        """Let callgrind count ``count`` frames, after as many that it does not. Raises OlafError where the
        compiler found no header of valgrind's."""
        port = self._out if from_server else self._port
        given = self._engine.handle, port, b"".join(frames), len(frames), len(frames[0]), count, _BURST
        self._native.olaf_in_process_run(*given)
        if not self._native.olaf_in_process_count(*given):
            raise OlafError(Problem("valgrind/callgrind.h is missing", remedy="apt-get install valgrind"))


@contextmanager
def engine_of(testbed: Testbed, target: str, progress: Progress) -> Iterator[InProcess]:
    """Open an engine as ``target`` ("software" or "twin") has it. Raises OlafError."""
    build = registry.get_target(target).build(replace(testbed, target=target), progress)
    queues = [QUEUES[target](engine, progress) for engine in testbed.engines]
    with engines_of(testbed, build, queues) as made:
        yield InProcess(made, testbed)


def _load_native() -> ctypes.CDLL:
    compiler = cxx()
    engine = engine_library()
    key = cache.digest([str(compiler), " ".join(_FLAGS), str(engine), _SOURCE])

    def build(work: Path) -> None:
        output = [
            f"-I{INCLUDES}",
            f"-I{PIPELINE}",
            str(_SOURCE),
            str(engine),
            "-o",
            str(work / "in_process.so"),
        ]
        run_tool([*compiler.command, *_FLAGS, *output])

    folder, _ = cache.build_once("in-process", key, build)
    return load_library(folder / "in_process.so", [_SOURCE])
