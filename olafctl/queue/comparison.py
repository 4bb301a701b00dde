"""A Verilated queue and its golden model, side by side: every difference between them is an error."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from olafctl.queue.golden import GoldenQueue, Unexplained, with_status
from olafctl.queue.golden.frames import keeps_of
from olafctl.queue.model import Departure, Instant, QueueModel, Sidecar, without_status
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import BEAT_BYTES, Kind

BYPASS_BEATS = 512
_LIMIT = 2_000_000
"""Cycles after which a queue that was left alone must have come to rest."""
_OKAY, _SLVERR = 0, 2


@dataclass(frozen=True)
class Other:
    """A frame that is no update: its beats, and of its bytes those that count."""

    sidecar: Sidecar
    frame: bytes
    beats: int

    @property
    def wanted(self) -> int:
        """Beats of room that it must find, by the size it declares."""
        return max(1, -(-self.sidecar.size // BEAT_BYTES))


class Comparison:
    """A queue and its golden model. Every method raises Unexplained on any difference."""

    def __init__(self, model: QueueModel, geometry: Geometry) -> None:
        self.model = model
        self.golden = GoldenQueue(geometry)
        self.frames = 0
        self._offered_others: deque[Other] = deque()
        self._others: deque[Other] = deque()
        self._in_bypass: deque[int] = deque()
        self._left_others: deque[int] = deque()
        model.watch()

    def set(self, **settings: int) -> None:
        """Write settings, by register name, while nothing arrives."""
        golden = self.golden
        for name, value in settings.items():
            self.model.registers.write(name, value)
            match name:
                case "rate":
                    golden.limit_rate(value, self.model.cycle)
                case "active_window":
                    golden.window = value
                case _:
                    setattr(golden, name, value)
            self.see()

    def offer(
        self, sidecar: Sidecar, frame: bytes, keeps: Sequence[int] | None = None, cycle: int = 0
    ) -> None:
        """Send a frame to both."""
        self.frames += 1
        masks = keeps_of(frame) if keeps is None else keeps
        self.golden.counters["input_beats"] += len(masks)
        self.model.offer(sidecar, frame, cycle, None if keeps is None else list(keeps))
        if sidecar.kind == Kind.UPDATE:
            self.golden.offer(sidecar, frame, keeps)
        else:
            self._offered_others.append(Other(sidecar, _kept(frame, masks), len(masks)))

    def settle(self) -> None:
        """Let all come to rest, and compare what left."""
        if self.model.settle(_LIMIT) >= _LIMIT:
            raise Unexplained("the queue does not come to rest")
        self.see()

    def see(self) -> None:
        """Compare what left since the last time."""
        departures = list(self.model.take())
        self._left_others.extend(one.last for one in departures if not _is_update(one))
        for instant in self.model.instants():
            self.golden.at(instant)
            self._bypass(instant)
        for departure in departures:
            self._compare(departure)

    def check_counters(self) -> None:
        """Compare every counter that the golden model predicts, and the occupancy."""
        shown = self.model.registers.read_all()
        self.see()
        wrong = [
            f"{name} is {shown[name]}, must be {expected}"
            for name, expected in (*self.golden.counters.items(), ("occupancy", self.golden.occupancy))
            if shown[name] != expected
        ]
        if wrong:
            raise Unexplained("; ".join(wrong))

    def access(self, write: bool, address: int, data: int, strobe: int, expected: tuple[int, int]) -> None:
        """One access to the register port, which must give the response and the data that are expected."""
        answer = self.model.access(write, address, data, strobe)
        if answer != expected:
            what = "write" if write else "read"
            raise Unexplained(f"a {what} at {address:#x} answers {answer}, must be {expected}")

    def _bypass(self, instant: Instant) -> None:
        counters = self.golden.counters
        while self._left_others and self._left_others[0] < instant.cycle:
            self._left_others.popleft()
            self._in_bypass.popleft()
        if instant.admitted or instant.refused:
            other = self._offered_others.popleft()
            counters["in_bypass"] += 1
            if instant.admitted:
                if other.wanted > BYPASS_BEATS:
                    raise Unexplained(f"a frame of {other.wanted} beats was let into the bypass")
                self._others.append(other)
                self._in_bypass.append(other.beats)
            else:
                counters["dropped_bypass"] += 1
                if sum(self._in_bypass) + other.wanted <= BYPASS_BEATS:
                    raise Unexplained(
                        f"a frame of {other.wanted} beats was refused by a bypass with room for it"
                    )

    def _compare(self, departure: Departure) -> None:
        counters = self.golden.counters
        if _is_update(departure):
            sidecar, frame = self.golden.next_update()
            counters["output_beats"] += -(-len(frame) // BEAT_BYTES)
        else:
            if not self._others:
                raise Unexplained("a frame left that was never let in")
            other = self._others.popleft()
            sidecar, frame = other.sidecar, other.frame
            counters["out_bypass"] += 1
            counters["output_beats"] += other.beats
        if departure.frame != frame:
            raise Unexplained(_difference(departure.frame, frame))
        expected = with_status(without_status(sidecar), self.golden.status())
        if departure.sidecar != expected:
            raise Unexplained(f"a frame left with {departure.sidecar}, must be {expected}")


def _is_update(departure: Departure) -> bool:
    return departure.sidecar.kind == Kind.UPDATE


def _kept(frame: bytes, masks: Sequence[int]) -> bytes:
    """The bytes of a frame that count."""
    return bytes(byte for at, byte in enumerate(frame) if masks[at // BEAT_BYTES] >> at % BEAT_BYTES & 1)


def _difference(seen: bytes, expected: bytes) -> str:
    if len(seen) != len(expected):
        return f"a frame left with {len(seen)} bytes, must have {len(expected)}"
    at = next(index for index, (one, other) in enumerate(zip(seen, expected, strict=True)) if one != other)
    some = slice(at, at + 8)
    return f"byte {at} of a frame of {len(seen)}: {seen[some].hex()}, must be {expected[some].hex()}"
