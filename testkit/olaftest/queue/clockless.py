"""The queue in C++ without its clock, given the Verilog's instants as the golden model is: what becomes of
every update must be the same."""

import ctypes
from collections import deque
from pathlib import Path

from olafctl.queue.registers import BY_NAME
from olafctl.queue.software import build_software_queue
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import GRADIENT_OFFSET, TUSER
from olafswitch.native_library import load_library
from olaftest.queue.golden.frames import GoldenUpdate
from olaftest.queue.model import Instant, Sidecar, split_shim, with_shim

_SOURCE = Path(__file__).parent / "native" / "clockless.cpp"
_ENDINGS = {"good": 0, "truncated": 1, "overlong": 2}
UNCOUNTED = (
    "cycle",
    "in_bypass",
    "out_bypass",
    "dropped_bypass",
    "cut_through",
    "output_beats",
    "input_beats",
)
"""Counters of what it does not see: frames that pass by, and beats."""


def build_clockless(geometry: Geometry) -> Path:
    """Build the shared library for ``geometry``; see :func:`olafctl.queue.software.build_software_queue`."""
    return build_software_queue(geometry, _SOURCE, ("-fvisibility=default",))


class ClocklessQueue:
    """A queue after reset, of a library that ``build_clockless`` made."""

    def __init__(self, library: Path) -> None:
        self._library = load_library(library, [_SOURCE])
        self._queue = self._library.clockless_new()
        self._offered: deque[GoldenUpdate] = deque()
        self._arriving: GoldenUpdate | None = None
        self._left: deque[tuple[Sidecar, bytes]] = deque()
        self._statuses: deque[tuple[int, int, int, int]] = deque()
        self._cycle = 0

    def __del__(self) -> None:
        self._library.clockless_free(self._queue)

    def offer(self, update: GoldenUpdate) -> None:
        """Send an update to the queue."""
        self._offered.append(update)

    def at(self, instant: Instant) -> None:
        """Follow an instant that the Verilated queue reports."""
        library, queue = self._library, self._queue
        self._cycle = instant.cycle
        if instant.status:
            shim = ctypes.create_string_buffer(TUSER.size)
            library.clockless_status(queue, instant.cycle, shim)
            told, _ = split_shim(shim.raw)
            self._statuses.append((told.occupancy, told.active_clusters, told.slots, told.status_flags))
        if instant.left:
            self._leave_frame()
        if instant.begun:
            library.clockless_begin(queue)
        if instant.commanded:
            library.clockless_commanded(queue, instant.cycle)
        if instant.decided:
            update = self._arriving = self._offered.popleft()
            came = GRADIENT_OFFSET - 1 if update.headless else GRADIENT_OFFSET
            library.clockless_decide(queue, with_shim(update.sidecar, update.header), came, instant.left)
        if instant.settled:
            self._settle_update(instant.cycle)

    def acknowledge(self, sidecar: Sidecar, header: bytes) -> None:
        """Pass an ACK."""
        self._library.clockless_acknowledge(self._queue, with_shim(sidecar, header), len(header))

    def next_update(self) -> tuple[Sidecar, bytes]:
        """Return the sidecar (but for its status) and the bytes of the next update to leave."""
        return self._left.popleft()

    def status(self) -> tuple[int, int, int, int]:
        """Return occupancy, active clusters, slots and status flags in the next frame out."""
        return self._statuses.popleft()

    def read(self, name: str) -> int:
        """Read a register."""
        return int(self._library.clockless_read(self._queue, BY_NAME[name].offset))

    def counter(self, name: str) -> int:
        """Return a counter as of the last snapshot."""
        low = BY_NAME[name].offset
        return int(
            sum(self._library.clockless_read(self._queue, low + 4 * word) << 32 * word for word in (0, 1))
        )

    def write(self, name: str, value: int, strobe: int = 0xF) -> None:
        """Write a register."""
        self._library.clockless_write(self._queue, BY_NAME[name].offset, value, strobe, self._cycle)

    def _leave_frame(self) -> None:
        frame = ctypes.c_void_p()
        length = self._library.clockless_leave(self._queue, ctypes.byref(frame))
        self._left.append(split_shim(ctypes.string_at(frame.value or 0, length)))

    def _settle_update(self, cycle: int) -> None:
        update = self._arriving
        assert update is not None
        frame = with_shim(update.sidecar, update.header + update.gradients.astype("<f4").tobytes())
        arrived = None if update.arrived.all() else update.arrived.tobytes()
        self._library.clockless_settle(
            self._queue, cycle, frame, len(frame), _ENDINGS[update.ending], arrived
        )
        self._arriving = None
