"""The queue in C++ without its clock, given the Verilog's instants as the golden model is: what becomes of
every update must be the same."""

import ctypes
from collections import deque
from pathlib import Path
from typing import Any

from olafctl.queue import software
from olafctl.queue.registers import BY_NAME
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import GRADIENT_OFFSET, TUSER
from olaflab.queue.golden.frames import Update
from olaflab.queue.model import Instant, Sidecar
from olaflab.sources.cpp import ctypes_fields
from olafswitch import cache
from olafswitch.toolchain import cxx, run

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


class _Tuser(ctypes.Structure):
    _fields_ = ctypes_fields(TUSER)


_NAMES = tuple(field.name for field in TUSER.fields)
_handle, _bytes, _size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_u32, _i64, _user = ctypes.c_uint32, ctypes.c_int64, ctypes.POINTER(_Tuser)
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "new": (_handle, ()),
    "free": (None, (_handle,)),
    "decide": (None, (_handle, _user, _bytes, _size, _size)),
    "settle": (None, (_handle, _i64, _bytes, _size, _u32, _bytes)),
    "begin": (None, (_handle,)),
    "leave": (_size, (_handle, _user, ctypes.POINTER(ctypes.c_void_p))),
    "status": (None, (_handle, _i64, _user)),
    "commanded": (None, (_handle, _i64)),
    "acknowledge": (None, (_handle, _user, _bytes, _size)),
    "read": (_u32, (_handle, _u32)),
    "write": (None, (_handle, _u32, _u32, _u32, _i64)),
}


def build_clockless(geometry: Geometry) -> Path:
    """The shared library for ``geometry``.

    Raises MissingTool without a C++ compiler, OlafError when it refuses.
    """
    compiler = cxx()
    key = cache.digest([str(compiler), repr((software.FLAGS, geometry)), _SOURCE, *software.headers()])

    def build(work: Path) -> None:
        flags = [*software.FLAGS, "-fvisibility=default", *software.defines(geometry)]
        include = f"-I{software.NATIVE}"
        run([*compiler.command, *flags, include, str(_SOURCE), "-o", str(work / "clockless.so")])

    folder, _ = cache.build_once("clockless-queue", key, build)
    return folder / "clockless.so"


class ClocklessQueue:
    """A queue after reset, of a library that ``build_clockless`` made."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        for name, (result, arguments) in _SIGNATURES.items():
            function = self._library[f"clockless_{name}"]
            function.restype, function.argtypes = result, arguments
            setattr(self._library, f"clockless_{name}", function)
        self._queue = self._library.clockless_new()
        self._offered: deque[Update] = deque()
        self._arriving: Update | None = None
        self._left: deque[tuple[Sidecar, bytes]] = deque()
        self._statuses: deque[tuple[int, int, int, int]] = deque()
        self._cycle = 0

    def __del__(self) -> None:
        self._library.clockless_free(self._queue)

    def offer(self, update: Update) -> None:
        """An update is sent to the queue."""
        self._offered.append(update)

    def at(self, instant: Instant) -> None:
        """The Verilated queue reports an instant."""
        library, queue = self._library, self._queue
        self._cycle = instant.cycle
        if instant.status:
            user = _Tuser()
            library.clockless_status(queue, instant.cycle, user)
            status = (user.occupancy, user.active_clusters, user.slots, user.status_flags)
            self._statuses.append(status)
        if instant.left:
            self._leave()
        if instant.begun:
            library.clockless_begin(queue)
        if instant.commanded:
            library.clockless_commanded(queue, instant.cycle)
        if instant.decided:
            update = self._arriving = self._offered.popleft()
            came = GRADIENT_OFFSET - 1 if update.headless else GRADIENT_OFFSET
            library.clockless_decide(queue, _tuser(update.sidecar), update.header, came, instant.left)
        if instant.settled:
            self._settle(instant.cycle)

    def acknowledge(self, sidecar: Sidecar, header: bytes) -> None:
        """An ACK passes."""
        self._library.clockless_acknowledge(self._queue, _tuser(sidecar), header, len(header))

    def next_update(self) -> tuple[Sidecar, bytes]:
        """The sidecar (but for its status) and the bytes of the next update to leave."""
        return self._left.popleft()

    def status(self) -> tuple[int, int, int, int]:
        """Occupancy, active clusters, slots and status flags in the next frame out."""
        return self._statuses.popleft()

    def read(self, name: str) -> int:
        """A register."""
        return int(self._library.clockless_read(self._queue, BY_NAME[name].offset))

    def counter(self, name: str) -> int:
        """A counter as of the last snapshot."""
        low = BY_NAME[name].offset
        return int(
            sum(self._library.clockless_read(self._queue, low + 4 * word) << 32 * word for word in (0, 1))
        )

    def write(self, name: str, value: int, strobe: int = 0xF) -> None:
        """Write a register."""
        self._library.clockless_write(self._queue, BY_NAME[name].offset, value, strobe, self._cycle)

    def _leave(self) -> None:
        user, frame = _Tuser(), ctypes.c_void_p()
        length = self._library.clockless_leave(self._queue, user, frame)
        sidecar = Sidecar(*(getattr(user, name) for name in _NAMES))
        self._left.append((sidecar, ctypes.string_at(frame.value or 0, length)))

    def _settle(self, cycle: int) -> None:
        update = self._arriving
        assert update is not None
        frame = update.header + update.gradients.astype("<f4").tobytes()
        arrived = None if update.arrived.all() else update.arrived.tobytes()
        self._library.clockless_settle(
            self._queue, cycle, frame, len(frame), _ENDINGS[update.ending], arrived
        )
        self._arriving = None


def _tuser(sidecar: Sidecar) -> _Tuser:
    return _Tuser(*(int(getattr(sidecar, name)) for name in _NAMES))
