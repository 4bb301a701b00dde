"""A Verilated OlafQueue to drive from Python: frames in, frames out, registers by name, time in cycles."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from olafctl import queue
from olafctl.queue.registers import QueueRegisters
from olafctl.wire.frames import pack_header, unpack_header
from olafctl.wire.layouts import BEAT_BYTES, TUSER, FrameKind
from olafswitch.errors import OlafError, Problem
from olafswitch.native_library import load_library

CYCLE_NS = 4


@dataclass(frozen=True)
class Sidecar:
    """What travels with a frame: the fields of TUSER (``olafctl/wire/layouts.py``)."""

    size: int
    src: int = 0
    dst: int = 0
    kind: int = FrameKind.BYPASS
    cluster: int = 0
    index: int = 0
    member: int = 0
    worker: int = 0
    occupancy: int = 0
    active_clusters: int = 0
    slots: int = 0
    status_flags: int = 0


@dataclass(frozen=True)
class Departure:
    """A frame that left, and the cycles of its first and last beat."""

    sidecar: Sidecar
    frame: bytes
    first: int
    last: int


@dataclass(frozen=True)
class Instant:
    """A cycle in which the queue did something; several may be true."""

    cycle: int
    begun: bool
    left: bool
    decided: bool
    settled: bool
    status: bool
    admitted: bool
    refused: bool
    commanded: bool = False


class _Instant(ctypes.Structure):
    _fields_ = (("cycle", ctypes.c_uint64), ("what", ctypes.c_uint32))


_NATIVE = Path(queue.__file__).parent / "native"
_INTERFACE = [_NATIVE / name for name in ("queue_model.h", "queue_probe.h", "shard.h")]


class AnyQueue:
    """One queue after reset, at cycle 0, of a library behind ``queue_model.h``: Verilated or in C++."""

    def __init__(self, library: Path) -> None:
        self._library = load_library(library, _INTERFACE)
        self._queue = self._library.olaf_queue_new()
        self._cycle = self._library.olaf_queue_cycle
        self.registers = QueueRegisters(self._read_register, self._write_register)

    def close(self) -> None:
        """Give the queue's memory back; the model is not to be used after."""
        self._library.olaf_queue_free(self._queue)
        self._queue = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take_over(self, other: "AnyQueue", first: int, last: int) -> None:
        """Take over the indices ``first`` … ``last`` from another queue in C++, with all that waits there."""
        self._library.olaf_queue_take_over(self._queue, other._queue, first, last)

    @property
    def cycle(self) -> int:
        """Cycles since reset."""
        return int(self._cycle(self._queue))

    def offer(self, sidecar: Sidecar, frame: bytes, cycle: int = 0) -> None:
        """Put a frame behind those already offered, to be presented at ``cycle`` or soon after."""
        shimmed = with_shim(sidecar, frame)
        self._library.olaf_queue_offer(self._queue, shimmed, len(shimmed), cycle)

    def run(self, cycle: int) -> None:
        """Let time pass up to and excluding ``cycle``."""
        self._library.olaf_queue_run(self._queue, cycle)
        self._check_state()

    def settle(self, limit: int) -> int:
        """Let time pass until nothing moves any more, at most ``limit`` cycles; the cycles that passed."""
        passed = int(self._library.olaf_queue_settle(self._queue, limit))
        self._check_state()
        return passed

    def take_departures(self) -> Iterator[Departure]:
        """Yield the frames that left completely since the last call, in order."""
        frame, first, last = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()
        places = [ctypes.byref(each) for each in (frame, first, last)]
        while length := self._library.olaf_queue_take(self._queue, *places):
            sidecar, left = split_shim(ctypes.string_at(frame.value or 0, length))
            yield Departure(sidecar, left, first.value, last.value)

    def _read_register(self, offset: int) -> int:
        return int(self._library.olaf_queue_read(self._queue, offset))

    def _write_register(self, offset: int, value: int) -> None:
        self._library.olaf_queue_write(self._queue, offset, value)

    def _check_state(self) -> None:
        """See that all is well after time has passed."""


class QueueModel(AnyQueue):
    """The Verilated queue, of a library that ``verilate.build_queue`` made.

    Every call that lets time pass raises OlafError when an assertion in the Verilog fails.
    """

    def __init__(self, library: Path) -> None:
        super().__init__(library)
        self._failures = self._library.olaf_queue_failures()

    def offer(
        self, sidecar: Sidecar, frame: bytes, cycle: int = 0, keeps: Sequence[int] | None = None
    ) -> None:
        """Offer a frame; with ``keeps``, the tkeep of each beat, ``frame`` is that many whole beats."""
        if keeps is None:
            super().offer(sidecar, frame, cycle)
            return
        if len(frame) != BEAT_BYTES * len(keeps):
            raise ValueError(f"{len(frame)} bytes are not {len(keeps)} beats")
        masks = (ctypes.c_uint64 * len(keeps))(*keeps)
        shimmed = with_shim(sidecar, frame)
        self._library.olaf_queue_offer_beats(self._queue, shimmed, masks, len(keeps), cycle)

    def reset(self, clear: bool = True) -> None:
        """Hold the queue in reset for a while; nothing of before remains, and it is cycle 0 again.

        Without ``clear`` the tables are still to be cleared: one entry in each cycle from then on.
        """
        self._library.olaf_queue_reset(self._queue, clear)

    def access(self, write: bool, offset: int, value: int = 0, strobe: int = 0xF) -> tuple[int, int]:
        """Access the register port once; return its AXI response, and what was read.

        Raises OlafError when the port does not answer.
        """
        data = ctypes.c_uint32(value)
        response = int(
            self._library.olaf_queue_access(self._queue, int(write), offset, ctypes.byref(data), strobe)
        )
        self._check_state()
        if response < 0:
            raise OlafError(Problem("the register port does not answer", where=f"offset {offset:#05x}"))
        return response, data.value

    def drain(self, limit: int) -> int:
        """Let time pass until every offered frame is accepted, at most ``limit`` cycles; how many."""
        passed = int(self._library.olaf_queue_drain(self._queue, limit))
        self._check_state()
        return passed

    def disturb(self, seed: int, idle: float = 0.0, stop: float = 0.0, resume: float = 0.5) -> None:
        """Make the source fall idle and the sink stop at random, with these chances a cycle."""
        chances = (round(chance * 65536) for chance in (idle, stop, resume))
        self._library.olaf_queue_disturb(self._queue, seed, *chances)

    def block(self, blocked: bool) -> None:
        """Stop the sink, or let it go on."""
        self._library.olaf_queue_block(self._queue, blocked)

    def watch(self) -> None:
        """Record instants from now on."""
        self._library.olaf_queue_watch(self._queue, 1)

    def instants(self) -> list[Instant]:
        """Return what was recorded since the last call."""
        recorded = ctypes.POINTER(_Instant)()
        count = self._library.olaf_queue_instants(self._queue, ctypes.byref(recorded))
        return [
            Instant(entry.cycle, *(bool(entry.what >> bit & 1) for bit in range(8)))
            for entry in recorded[:count]
        ]

    def _read_register(self, offset: int) -> int:
        return self.access(False, offset)[1]

    def _write_register(self, offset: int, value: int) -> None:
        self.access(True, offset, value)

    def _check_state(self) -> None:
        if self._library.olaf_queue_failures() != self._failures:
            raise OlafError(
                Problem("an assertion in OlafQueue's Verilog failed", remedy="see standard error")
            )


def with_shim(sidecar: Sidecar, frame: bytes) -> bytes:
    """Return a frame with its shim in front, as native code takes it."""
    return pack_header(TUSER, asdict(sidecar)) + frame


def split_shim(shimmed: bytes) -> tuple[Sidecar, bytes]:
    """Return the shim and the frame that native code gave."""
    return Sidecar(**unpack_header(TUSER, shimmed)), shimmed[TUSER.size :]


def without_status(sidecar: Sidecar) -> Sidecar:
    """Return ``sidecar`` as it was before the queue wrote its status into it."""
    return replace(sidecar, occupancy=0, active_clusters=0, slots=0, status_flags=0)
