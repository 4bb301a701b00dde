"""A Verilated queue, its golden model and the queue in C++, side by side: every difference is an error."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from olafctl.queue.registers import BY_NAME, Command, IndexSettings
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, Flag, FrameKind, FrameType
from olaftest.queue.clockless import UNCOUNTED, ClocklessQueue
from olaftest.queue.golden import GoldenQueue, Unexplained, with_status
from olaftest.queue.golden.frames import ALL_BYTES, GoldenUpdate, header_field, keeps_of
from olaftest.queue.model import Departure, Instant, QueueModel, Sidecar, without_status

BYPASS_BEATS = 512
_LIMIT = 2_000_000
"""Cycles after which a queue without input must be idle."""
_LIMIT_OF_A_COMMAND = 1000
"""Reads of `command_busy` an index, after which a command must be at its end."""


@dataclass(frozen=True)
class Other:
    """A frame that is no update: its beats, and of its bytes those that count."""

    sidecar: Sidecar
    frame: bytes
    beats: int
    header: bytes | None
    """Its first 64 bytes, if all of them came."""

    @property
    def wanted_beats(self) -> int:
        """Beats of room that it must find, by the size it declares."""
        return max(1, -(-self.sidecar.size // BEAT_BYTES))


class QueueComparison:
    """A queue and its golden model, and with ``clockless`` the queue in C++.

    Every method raises Unexplained on any difference.
    """

    def __init__(
        self, model: QueueModel, geometry: Geometry, clockless: ClocklessQueue | None = None
    ) -> None:
        self.model = model
        self.clockless = clockless
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
            if self.clockless is not None:
                self.clockless.write(name, value)
            match name:
                case "rate":
                    golden.limit_rate(value, self.model.cycle)
                case "active_window":
                    golden.window = value
                case _:
                    setattr(golden, name, value)
            self.compare_departures()

    def offer(
        self, sidecar: Sidecar, frame: bytes, keeps: Sequence[int] | None = None, cycle: int = 0
    ) -> None:
        """Send a frame to both."""
        self.frames += 1
        masks = keeps_of(frame) if keeps is None else keeps
        self.golden.counters["input_beats"] += len(masks)
        self.model.offer(sidecar, frame, cycle, None if keeps is None else list(keeps))
        if sidecar.kind == FrameKind.UPDATE:
            self.golden.offer(sidecar, frame, keeps)
            if self.clockless is not None:
                self.clockless.offer(GoldenUpdate.read(sidecar, frame, keeps, self.golden.geometry))
        else:
            header = frame[:GRADIENT_OFFSET] if masks[0] == ALL_BYTES else None
            self._offered_others.append(Other(sidecar, _kept_bytes(frame, masks), len(masks), header))

    def settle(self) -> None:
        """Wait until both are idle, and compare what left."""
        if self.model.settle(_LIMIT) >= _LIMIT:
            raise Unexplained("the queue does not become idle")
        self.compare_departures()

    def compare_departures(self) -> None:
        """Compare what left since the last time."""
        departures = list(self.model.take_departures())
        self._left_others.extend(one.last for one in departures if not _is_update(one))
        for instant in self.model.instants():
            self.golden.at(instant)
            if self.clockless is not None:
                self.clockless.at(instant)
            self._follow_bypass(instant)
        for departure in departures:
            self._compare_departure(departure)

    def check_rest(self) -> None:
        """Check that nothing is left: every frame that came in has left or been dropped."""
        left = {
            "updates offered": self.golden.undecided,
            "updates in the queue": self.golden.unsent,
            "other frames offered": len(self._offered_others),
            "other frames in the bypass": len(self._others),
        }
        if any(left.values()):
            raise Unexplained(f"the queue is idle with {left}")

    def jam(self, frames: Sequence[tuple[Sidecar, bytes]]) -> None:
        """Send frames while the sink takes nothing: they must be accepted or dropped all the same.

        None may be longer than it declares, but by less than a beat.
        """
        self.model.block(True)
        beats = 0
        for sidecar, frame in frames:
            self.offer(sidecar, frame)
            beats += 4 + -(-len(frame) // BEAT_BYTES)
        limit = 1000 + 200 * beats
        if self.model.drain(limit) >= limit:
            raise Unexplained("a blocked output holds up the input")
        self.model.block(False)
        self.settle()

    def check_counters(self) -> None:
        """Compare every counter that the golden model predicts, and the occupancy."""
        shown = self.model.registers.read_all()
        self.compare_departures()
        wrong = [
            f"{name} is {shown[name]}, must be {expected}"
            for name, expected in (
                *self.golden.counters.items(),
                ("occupancy", self.golden.occupancy),
                ("accumulating", self.golden.accumulating),
            )
            if shown[name] != expected
        ]
        if self.clockless is not None:
            self.clockless.write("snapshot", 1)
            wrong += [
                f"{name} in C++ is {self.clockless.counter(name)}, must be {expected}"
                for name, expected in self.golden.counters.items()
                if name not in UNCOUNTED and self.clockless.counter(name) != expected
            ]
        if wrong:
            raise Unexplained("; ".join(wrong))

    def write(self, name: str, value: int, order: Sequence[int] = (0xF,)) -> None:
        """Write a register, at any cycle, by accesses of these byte strobes one after the other."""
        for strobe in order:
            response, _ = self.model.access(True, BY_NAME[name].offset, value, strobe)
            if response:
                raise Unexplained(f"a write of {name} answers {response}")
            if self.clockless is not None:
                self.clockless.write(name, value, strobe)

    def read(self, name: str) -> int:
        """Read a register, at any cycle."""
        response, value = self.model.access(False, BY_NAME[name].offset)
        if response:
            raise Unexplained(f"a read of {name} answers {response}")
        return value

    def command(
        self, command: Command, first: int, last: int, settings: IndexSettings, order: Sequence[int] = (0xF,)
    ) -> None:
        """Give a command, at any cycle, and let time pass until it is done.

        ``order``: byte strobes that together write a register. GET's answer is compared too.
        """
        self._stage_settings(first, last, settings, order)
        self.golden.command(command, first, last, settings)
        self._give_command(command, last - first + 1)
        if self.read("command_error"):
            raise Unexplained(f"{command.name} of {first} … {last} is refused")
        self.compare_departures()
        if command is Command.GET:
            self._compare_got()

    def bad_command(
        self, code: int, first: int, last: int, settings: IndexSettings, mode: int | None = None
    ) -> None:
        """Give a command that must be refused and change nothing; ``mode`` is one that there is not."""
        self._stage_settings(first, last, settings, (0xF,))
        if mode is not None:
            self.write("set_mode", mode)
        self._give_command(code, 1)
        if not self.read("command_error"):
            raise Unexplained(f"command {code} of {first} … {last}, {settings}, is accepted")
        if self.clockless is not None and not self.clockless.read("command_error"):
            raise Unexplained(f"command {code} of {first} … {last}, {settings}, is accepted in C++")
        self.golden.note_case("command refused")

    def _stage_settings(self, first: int, last: int, settings: IndexSettings, order: Sequence[int]) -> None:
        mode = settings.mode.number | (0x100 if settings.halted else 0)
        staged = {
            **{"range_first": first, "range_last": last, "set_mode": mode},
            **{"set_threshold": settings.threshold, "set_reward_enable": settings.reward_enable},
            **{"set_reward_threshold": settings.reward_threshold},
            **{"set_stale_enable": settings.stale_enable, "set_stale_bound": settings.stale_bound},
        }
        for name, value in staged.items():
            self.write(name, value, order)
            if self.read(name) != value:
                raise Unexplained(f"{name} does not hold {value:#x}")

    def _give_command(self, code: int, indices: int) -> None:
        self.write("command", code)
        for _ in range(_LIMIT_OF_A_COMMAND * (indices + 1)):
            if not self.read("command_busy"):
                return
        raise Unexplained("a command does not end")

    def _compare_got(self) -> None:
        got = self.golden.got
        if got is None:
            raise Unexplained("GET never looked")
        settings, rounds = got.settings, got.rounds
        accumulates = rounds.partial is not None
        expected = {
            "get_mode": settings.mode.number | (0x100 if settings.halted else 0),
            "get_threshold": settings.threshold,
            "get_reward_enable": settings.reward_enable,
            "get_reward_threshold": settings.reward_threshold,
            "get_stale_enable": settings.stale_enable,
            "get_stale_bound": settings.stale_bound,
            "get_newest": 0 if got.newest.version is None else 1 << 16 | got.newest.version,
            "get_state": accumulates | (rounds.finished is not None) << 1,
        }
        if accumulates or rounds.finished is not None:
            expected["get_round"] = rounds.shown
        members = sum(1 << member for member in rounds.members) if accumulates else 0
        expected["get_count"] = rounds.partial.count if rounds.partial is not None else 0
        expected["get_members_low"], expected["get_members_high"] = members & 0xFFFFFFFF, members >> 32
        for name, value in expected.items():
            if (shown := self.read(name)) != value:
                raise Unexplained(f"{name} is {shown:#x}, must be {value:#x}")
            if self.clockless is not None and (shown := self.clockless.read(name)) != value:
                raise Unexplained(f"{name} in C++ is {shown:#x}, must be {value:#x}")

    def _follow_bypass(self, instant: Instant) -> None:
        counters = self.golden.counters
        while self._left_others and self._left_others[0] < instant.cycle:
            self._left_others.popleft()
            self._in_bypass.popleft()
        if instant.admitted or instant.refused:
            other = self._offered_others.popleft()
            counters["in_bypass"] += 1
            if instant.admitted:
                if other.sidecar.kind == FrameKind.ACK and other.header is not None:
                    self.golden.acknowledge(other.sidecar, other.header)
                    if self.clockless is not None:
                        self.clockless.acknowledge(other.sidecar, other.header)
                if other.wanted_beats > BYPASS_BEATS:
                    raise Unexplained(f"a frame of {other.wanted_beats} beats was let into the bypass")
                self._others.append(other)
                self._in_bypass.append(other.beats)
            else:
                counters["dropped_bypass"] += 1
                if sum(self._in_bypass) + other.wanted_beats <= BYPASS_BEATS:
                    raise Unexplained(
                        f"a frame of {other.wanted_beats} beats was refused by a bypass with room for it"
                    )

    def _compare_departure(self, departure: Departure) -> None:
        counters = self.golden.counters
        if _is_update(departure):
            sidecar, frame = self.golden.next_update()
            if self.clockless is not None:
                self._compare_clockless(sidecar, frame)
            counters["output_beats"] += -(-len(frame) // BEAT_BYTES)
        else:
            if not self._others:
                raise Unexplained("a frame left that was never let in")
            other = self._others.popleft()
            sidecar, frame = other.sidecar, other.frame
            counters["out_bypass"] += 1
            counters["output_beats"] += other.beats
        if departure.frame != frame:
            raise Unexplained(_describe_difference(departure.frame, frame))
        status = self.golden.status()
        if self.clockless is not None and (in_cpp := self.clockless.status()) != status:
            raise Unexplained(f"a frame's status in C++ is {in_cpp}, must be {status}")
        expected = with_status(without_status(sidecar), status)
        if departure.sidecar != expected:
            raise Unexplained(f"a frame left with {departure.sidecar}, must be {expected}")

    def _compare_clockless(self, sidecar: Sidecar, frame: bytes) -> None:
        assert self.clockless is not None
        in_cpp, its = self.clockless.next_update()
        if its != frame:
            raise Unexplained(f"in C++ {_describe_difference(its, frame)}")
        if without_status(in_cpp) != without_status(sidecar):
            raise Unexplained(f"in C++ a frame left with {in_cpp}, must be {sidecar}")


def _is_update(departure: Departure) -> bool:
    """Return whether a frame is an update, or the sum of a round: a result that only passes is of frame type
    RESULT already."""
    if departure.sidecar.kind != FrameKind.RESULT or len(departure.frame) < GRADIENT_OFFSET:
        return departure.sidecar.kind == FrameKind.UPDATE
    aggregated = header_field(departure.frame, "flags") & Flag.AGGREGATED
    return header_field(departure.frame, "frame_type") == FrameType.UPDATE and bool(aggregated)


def _kept_bytes(frame: bytes, masks: Sequence[int]) -> bytes:
    """Return the bytes of a frame that count."""
    return bytes(byte for at, byte in enumerate(frame) if masks[at // BEAT_BYTES] >> at % BEAT_BYTES & 1)


def _describe_difference(seen: bytes, expected: bytes) -> str:
    if len(seen) != len(expected):
        return f"a frame left with {len(seen)} bytes, must have {len(expected)}"
    at = next(index for index, (one, other) in enumerate(zip(seen, expected, strict=True)) if one != other)
    some = slice(at, at + 8)
    return f"byte {at} of a frame of {len(seen)}: {seen[some].hex()}, must be {expected[some].hex()}"
