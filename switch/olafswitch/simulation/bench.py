"""A Verilated module with its clocks, streams and registers, from Python."""

import ctypes as c
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from olafswitch.errors import OlafError, Problem
from olafswitch.native_library import load_library

_NATIVE = Path(__file__).parent / "native"
BEAT = 64
AXIL_LIMIT = 20_000
"""Cycles after which an AXI4-Lite access counts as unanswered."""


class _Stream(c.Structure):
    _fields_ = [
        *((name, c.c_char_p) for name in ("data", "keep", "user", "last", "valid", "ready")),
        ("clock", c.c_int),
        ("lane", c.c_int),
        ("beat", c.c_int),
    ]


class _Frame(c.Structure):
    _fields_ = [
        ("first_cycle", c.c_uint64),
        ("last_cycle", c.c_uint64),
        ("bytes", c.c_uint32),
        ("user_bytes", c.c_uint32),
        ("broken", c.c_int32),
    ]


@dataclass(frozen=True)
class Received:
    """A frame that a sink took: its bytes, its sideband values, and the cycles of its first and last beat."""

    data: bytes
    user: tuple[int, ...]
    first: int
    last: int


@dataclass(frozen=True)
class Signals:
    """The names of one stream's signals; ``user`` lists sideband signals with their widths in bits."""

    data: str
    keep: str
    last: str
    valid: str
    ready: str
    user: tuple[tuple[str, int], ...] = ()
    lane: int = 0
    """The stream's number among the streams that share these vectors."""
    beat: int = BEAT
    """Bytes of a beat."""

    @classmethod
    def axis(
        cls, prefix: str, user: Sequence[tuple[str, int]] = (), lane: int = 0, beat: int = BEAT
    ) -> "Signals":
        """Return the names of an AXI4-Stream: ``<prefix>_tdata`` and so on."""
        names = {name: f"{prefix}_t{name}" for name in ("data", "keep", "last", "valid", "ready")}
        return cls(**names, user=tuple(user), lane=lane, beat=beat)


class Stream:
    """One end of a stream, which pauses at random."""

    def __init__(self, bench: "Bench", number: int, signals: Signals) -> None:
        self._bench, self._number, self._user = bench, number, signals.user
        self._beat = signals.beat

    def pause(self, chance: float) -> None:
        """Pause in this share of the cycles: a source idles, a sink is not ready; 1 stops the stream."""
        self._bench.library.bench_pause(self._bench.handle, self._number, round(1000 * chance))

    @property
    def beats(self) -> int:
        """The number of beats that have passed."""
        return int(self._bench.library.bench_beats(self._bench.handle, self._number))

    def pack(self, user: Sequence[int]) -> bytes:
        """Return sideband values in the layout that the bench takes; all are 0 where none is given."""
        values = zip(user or (0,) * len(self._user), self._user, strict=True)
        return b"".join(value.to_bytes((bits + 7) // 8, "little") for value, (_, bits) in values)

    def unpack(self, data: bytes) -> tuple[int, ...]:
        """Return the sideband values in bytes from the bench."""
        values, at = [], 0
        for _, bits in self._user:
            size = (bits + 7) // 8
            values.append(int.from_bytes(data[at : at + size], "little"))
            at += size
        return tuple(values)


class Source(Stream):
    """The end of a stream from which frames are sent."""

    def send(self, frame: bytes, user: Sequence[int] = ()) -> None:
        """Queue a whole frame."""
        beats = [frame[at : at + self._beat] for at in range(0, len(frame), self._beat)]
        for beat in beats[:-1]:
            self.beat(beat, user, last=False)
        self.beat(beats[-1], user, last=True)

    def beat(self, data: bytes, user: Sequence[int] = (), *, last: bool, keep: int | None = None) -> None:
        """Queue one beat; a ``keep`` that differs from that of the bytes makes a malformed beat."""
        packed = self.pack(user)
        mask = (1 << len(data)) - 1 if keep is None else keep
        self._bench.library.bench_beat(
            self._bench.handle, self._number, data.ljust(BEAT, b"\0"), mask, packed, len(packed), last
        )

    @property
    def pending(self) -> int:
        """The number of beats that wait to be taken."""
        return int(self._bench.library.bench_pending(self._bench.handle, self._number))

    def forget(self) -> None:
        """Drop the beats that wait."""
        self._bench.library.bench_forget(self._bench.handle, self._number)


class Sink(Stream):
    """The end of a stream at which frames are taken."""

    def frames(self) -> list[Received]:
        """Return all whole frames since the last call. Raises OlafError when one broke AXI4-Stream's
        rules."""
        library, handle = self._bench.library, self._bench.handle
        unstable = library.bench_unstable(handle, self._number)
        if unstable:
            raise OlafError(Problem(f"{unstable} beats changed or were withdrawn before they were taken"))
        taken = []
        for _ in range(library.bench_frames(handle, self._number)):
            head: _Frame = library.bench_next(handle, self._number)
            data, user = c.create_string_buffer(head.bytes + 1), c.create_string_buffer(head.user_bytes + 1)
            library.bench_take(handle, self._number, data, user)
            if head.broken:
                raise OlafError(
                    Problem("a frame left with a hole in its tkeep, an empty beat, or a tuser that changed")
                )
            frame = data.raw[: head.bytes]
            taken.append(Received(frame, self.unpack(user.raw), head.first_cycle, head.last_cycle))
        return taken


class Axil:
    """An AXI4-Lite master: one access at a time."""

    def __init__(self, bench: "Bench", number: int) -> None:
        self._bench, self._number = bench, number

    def read(self, address: int) -> tuple[int, int]:
        """Return the data and the response: 0 OKAY, 2 SLVERR, 3 DECERR. Raises OlafError without an
        answer."""
        data = c.c_uint32()
        library, handle = self._bench.library, self._bench.handle
        response = library.bench_read(handle, self._number, address, c.byref(data), AXIL_LIMIT)
        return data.value, self._require_answer(response, address)

    def write(self, address: int, data: int) -> int:
        """Write ``data`` and return the response. Raises OlafError when nothing answers."""
        library, handle = self._bench.library, self._bench.handle
        return self._require_answer(
            library.bench_write(handle, self._number, address, data, AXIL_LIMIT), address
        )

    def _require_answer(self, response: int, address: int) -> int:
        if response < 0:
            raise OlafError(Problem(f"no answer at {address:#x} within {AXIL_LIMIT} cycles"))
        return response


class Bench:
    """A module under test; ``clocks`` holds periods in ps by port name, the main clock first.

    Each bench has its own model; ``seed`` decides pauses and the registers' values before reset.
    """

    def __init__(self, library: Path, clocks: dict[str, int], seed: int = 1) -> None:
        self.library = _load_bench(library)
        self.handle = self.library.bench_new(seed)
        self._clocks = {
            name: self.library.bench_clock(self.handle, name.encode(), period)
            for name, period in clocks.items()
        }
        self._main = next(iter(clocks))
        self._stops = self.library.bench_stops()

    def trace(self, path: Path) -> None:
        """Write the waveforms of a traced model from now on, as VCD. Raises OlafError."""
        if not self.library.bench_trace(self.handle, str(path).encode()):
            raise OlafError(Problem("waveforms cannot be written there", str(path)))

    def close(self) -> None:
        """Free the model."""
        self.library.bench_free(self.handle)

    def source(self, signals: Signals, clock: str | None = None) -> Source:
        """Return a source that drives a stream of the module."""
        return Source(self, self._add_stream(self.library.bench_source, signals, clock), signals)

    def sink(self, signals: Signals, clock: str | None = None) -> Sink:
        """Return a sink that takes what a stream of the module sends."""
        return Sink(self, self._add_stream(self.library.bench_sink, signals, clock), signals)

    def axil(self, prefix: str = "s_axil_", clock: str | None = None) -> Axil:
        """Return a master of an AXI4-Lite port."""
        return Axil(
            self, self.library.bench_axil(self.handle, prefix.encode(), self._clocks[clock or self._main])
        )

    def run_cycles(self, cycles: int, clock: str | None = None) -> None:
        """Run ``cycles`` of a clock. Raises OlafError when an assertion in the RTL failed."""
        self.library.bench_run(self.handle, self._clocks[clock or self._main], cycles)
        if self.library.bench_stops() != self._stops:
            raise OlafError(Problem("an assertion in the RTL failed: see the messages above"))

    def cycles(self, clock: str | None = None) -> int:
        """Return the number of cycles that have passed."""
        return int(self.library.bench_cycles(self.handle, self._clocks[clock or self._main]))

    def __getitem__(self, port: str) -> int:
        data = c.create_string_buffer((self._width_of(port) + 7) // 8)
        self.library.bench_peek(self.handle, port.encode(), data)
        return int.from_bytes(data.raw, "little")

    def __setitem__(self, port: str, value: int) -> None:
        size = (self._width_of(port) + 7) // 8
        self.library.bench_poke(self.handle, port.encode(), value.to_bytes(size, "little"))

    def _width_of(self, port: str) -> int:
        width = int(self.library.bench_width(self.handle, port.encode()))
        if width < 0:
            raise KeyError(f"the module has no port {port}")
        return width

    def _add_stream(self, add: "c._NamedFuncPointer", signals: Signals, clock: str | None) -> int:
        for name in (signals.data, signals.valid, *(name for name, _ in signals.user)):
            self._width_of(name)
        user = ",".join(f"{name}:{bits}" for name, bits in signals.user)
        names = (signals.data, signals.keep, user, signals.last, signals.valid, signals.ready)
        number: int = add(
            self.handle,
            _Stream(
                *(name.encode() for name in names),
                self._clocks[clock or self._main],
                signals.lane,
                signals.beat,
            ),
        )
        return number


def _load_bench(path: Path) -> c.CDLL:
    """Load the bench; structs that go by value are declared here."""
    library = load_library(path, (_NATIVE / name for name in ("bench.h", "stops.cpp")))
    library.bench_source.argtypes = library.bench_sink.argtypes = (c.c_void_p, _Stream)
    library.bench_next.argtypes, library.bench_next.restype = (c.c_void_p, c.c_int), _Frame
    return library
