"""The engine with Olaf's pipeline in it, from Python: queues, their register ports, links, replays."""

import ctypes
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olafctl.queue.registers import BY_NAME, REGISTERS, Access, QueueRegisters
from olafctl.queue.settings import of_all
from olafctl.targets.engine.compile import SOURCES, pipeline_library
from olafctl.wire import layouts
from olafswitch import native_library
from olafswitch.engine import engine


@dataclass(frozen=True)
class PipelineLosses(engine.Losses):
    """The engine's losses, frames too short for the shim, and frames dropped because a shard fell behind."""

    no_shim: int
    between_shards: int


class PipelineEngine(engine.Engine):
    """An engine with queues, and with links between its ports."""

    def __init__(self, shards: int = 1) -> None:
        """Create an engine of ``shards`` threads, each with its own queue (of one twin, in C++)."""
        super().__init__(shards)
        self._pipeline = load_library()
        self._queues = 1
        self.register_sequences = threading.Lock()
        """Held for a snapshot or a command with the reads and writes that belong to it."""

    def wire_twins(self, queue_libraries: Sequence[Path]) -> None:
        """Wire one twin for each queue: VNP4₁ → the queue → VNP4₂. The n-th has devices 2 n and 2 n + 1.
        Ports belong to the first until :meth:`own_port`. Raises OlafError."""
        wire = self._pipeline.olaf_engine_wire_twins
        ports = (layouts.CPU_PORT, layouts.QUEUE_PORT, layouts.MAX_FRONT_PORT)
        where = ", ".join(map(str, queue_libraries))
        self.check(wire(self._handle, *ports, *_make_strings(queue_libraries)), where)
        self._queues = len(queue_libraries)

    def own_port(self, number: int, twin: int) -> None:
        """Make a port the n-th twin's. Raises OlafError."""
        with self._tenancy.inside():
            self.check(self._pipeline.olaf_engine_own(self._handle, number, twin), f"port {number}")

    def link(self, port: int, peer: int, *, rate: int | None, delay: int, queue: int) -> None:
        """Join two engines' ports, which belong to no interface: ``rate`` in bit/s, ``delay`` in ns, at most
        ``queue`` waiting frames, each way."""
        self._pipeline.olaf_engine_link(self._handle, port, peer, rate or 0, delay, queue)

    def wire_relay(self, queue_libraries: Sequence[Path]) -> None:
        """Wire the queues alone, between switches in other processes (``wirings.h`` names the ports).

        Raises OlafError.
        """
        wire = self._pipeline.olaf_engine_wire_relay
        self.check(wire(self._handle, *_make_strings(queue_libraries)), ", ".join(map(str, queue_libraries)))

    def read_register(self, offset: int, queue: int = 0) -> int:
        """Return a 32-bit register of the n-th queue."""
        with self._tenancy.inside():
            return int(self._pipeline.olaf_engine_read(self._handle, queue, offset))

    def write_register(self, offset: int, value: int, queue: int = 0) -> None:
        """Write a 32-bit register of the n-th queue."""
        with self._tenancy.inside():
            self._pipeline.olaf_engine_write(self._handle, queue, offset, value)

    def registers(self, queue: int = 0) -> QueueRegisters:
        """Return the n-th queue's registers by name."""
        return QueueRegisters(
            lambda offset: self.read_register(offset, queue),
            lambda offset, value: self.write_register(offset, value, queue),
        )

    def losses(self) -> PipelineLosses:
        """See :meth:`olafswitch.engine.engine.Engine.losses`."""
        common = super().losses()
        with self._tenancy.inside():
            two = (ctypes.c_uint64 * 2)()
            self._pipeline.olaf_engine_more_losses(self._handle, two)
            return PipelineLosses(**asdict(common), no_shim=two[0], between_shards=two[1])

    def place(self, first: int, last: int, shard: int) -> None:
        """Move the indices ``first`` … ``last`` to a shard, with their waiting updates, without loss or
        overtaking. Raises OlafError when it does not exist."""
        with self._tenancy.inside():
            message = self._pipeline.olaf_engine_place(self._handle, first, last, shard)
        self.check(message, f"shard {shard}, indices {first} … {last}")

    def shard_of(self, index: int) -> int:
        """Return the shard of an index."""
        with self._tenancy.inside():
            return int(self._pipeline.olaf_engine_shard_of(self._handle, index))

    def shards(self) -> list[dict[str, Any]]:
        """Return each shard's counters, all at one instant, and its thread's processor time."""
        self.write_register(BY_NAME["snapshot"].offset, 1)
        counters = [register for register in REGISTERS if register.access is Access.COUNTER]
        offsets = (ctypes.c_uint32 * len(counters))(*(register.offset for register in counters))
        values = (ctypes.c_uint64 * len(counters))()
        found = []
        for shard in range(self.lanes):
            with self._tenancy.inside():
                read = self._pipeline.olaf_engine_read_shard
                read(self._handle, shard, offsets, len(counters), values)
            named = {register.name: value for register, value in zip(counters, values, strict=True)}
            found.append({"processor_seconds": self.processor_ns(shard) / 1e9, "counters": named})
        return found

    def replay(self, peer: socket.socket) -> None:
        """Run a virtual-time session on a stream socket until its end; the twin's ports rest meanwhile.

        Raises OlafError when the peer goes away, or the engine is closed.
        """
        with self.register_sequences:
            writes = [self.settings_as_writes(queue) for queue in range(self._queues)]
        flat = [word for of_queue in writes for word in of_queue]
        array = (ctypes.c_uint32 * len(flat))(*flat)
        counts = (ctypes.c_size_t * len(writes))(*(len(of_queue) // 2 for of_queue in writes))
        run = self._pipeline.olaf_engine_replay
        busy = BY_NAME["command_busy"].offset

        def cut_off() -> None:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)

        with self._tenancy.inside(cut_off):
            self.check(run(self._handle, peer.fileno(), array, counts, len(writes), busy), "replay")

    def settings_as_writes(self, queue: int) -> list[int]:
        """Return (offset, value) of each register write that gives a new queue the n-th queue's settings."""
        writes: list[int] = []
        recorder = QueueRegisters(lambda offset: 0, lambda offset, value: writes.extend((offset, value)))
        for part in of_all(self.registers(queue)):
            recorder.configure(part.first, part.last, part.settings)
        for register in REGISTERS:
            if register.access is Access.SETTING:
                recorder.write(register.name, self.read_register(register.offset, queue))
        return writes


def _make_strings(paths: Sequence[Path]) -> tuple[Any, int]:
    """Return an array of C strings and its length."""
    return (ctypes.c_char_p * len(paths))(*(str(path).encode() for path in paths)), len(paths)


def load_library() -> ctypes.CDLL:
    """Return the library of the parts of an engine here. Raises MissingTool, OlafError."""
    return native_library.load_library(pipeline_library(), SOURCES.glob("*.cpp"))
