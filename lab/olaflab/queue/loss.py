"""Rounds over links that lose frames: exactly once, and none hangs (iSwitch §3.2; docs/segments.md).

The workers, the control plane and the links are events in virtual time; the engine's queue is the Verilated
one. A worker that misses a result after a while sends its contribution again and asks for help. The control
plane passes the request on to another member, each time to the next, and that one sends the result if it has
it. When every member has requested a round's segment, none of them can have its result: the control plane
resets the index, and the contributions that are sent again count again.
"""

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np

from olafctl.queue.registers import Command, IndexSettings
from olafctl.wire.frames import Endpoint
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import FrameType, Kind
from olafctl.wire.modes import Mode
from olaflab.queue.links import Link
from olafswitch.errors import OlafError, Problem
from olaftest.frames import Gradient, OlafFrame
from olaftest.queue.model import CYCLE_NS, QueueModel, Sidecar

GEOMETRY = Geometry(indices=16, slots=8, beats=24)
RATE = 10e9
DELAY = 500.0
TIMEOUT = 20_000.0
"""ns after which a worker that has no result sends again and asks for help."""
VALUES = 16
_CONTROL_BYTES = 96
_STEP = 200
"""Cycles: less than a frame takes to a worker and its answer back, so no event is overtaken."""
_MOST_TRIES = 1000
_ENGINE = Endpoint("02:00:00:00:00:fe", IPv4Address("10.0.0.254"), 20300)


@dataclass
class Overhead:
    """The cost of a run; frames go from worker to engine unless noted otherwise."""

    rounds: int = 0
    lost: int = 0
    """Of all frames on all links, both ways."""
    contributions: int = 0
    repeated: int = 0
    """Of contributions: sent again."""
    helps: int = 0
    forwarded: int = 0
    """Requests for help, from the control plane to a member."""
    resent: int = 0
    """Results that a member sent to another."""
    resets: int = 0
    milliseconds: float = 0.0
    """Virtual time."""
    counters: dict[str, int] = field(default_factory=dict)
    """Of the queue."""


@dataclass
class _Worker:
    number: int
    up: Link
    down: Link
    round: int = 0
    missing: set[int] = field(default_factory=set)
    results: dict[tuple[int, int], Gradient] = field(default_factory=dict)
    """By (round, segment); of this round and the one before, which another member may still lack."""
    tries: int = 0


class _Run:
    def __init__(
        self, model: QueueModel, workers: int, segments: int, rounds: int, loss: float, seed: int
    ) -> None:
        self.model = model
        self.segments, self.rounds, self.loss = segments, rounds, loss
        self.random = random.Random(seed)
        self.workers = [_Worker(number, Link(RATE, DELAY), Link(RATE, DELAY)) for number in range(workers)]
        self.askers: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.turn = itertools.count()
        self.overhead = Overhead()
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._busy_until = 0
        model.registers.configure(0, segments - 1, IndexSettings(Mode.ISWITCH, threshold=workers))
        self._origin = model.cycle

    def go(self) -> Overhead:
        for worker in self.workers:
            self._begin(worker, 1)
        while self._events:
            if not self._queue_reaches(self._events[0][0]):
                continue
            self.now, _, act = heapq.heappop(self._events)
            act()
            if all(worker.round > self.rounds for worker in self.workers):
                break
        self.overhead.rounds = self.rounds
        self.overhead.milliseconds = self.now / 1e6
        counters = self.model.registers.read_all()
        self.overhead.counters = {
            name: value
            for name, value in counters.items()
            if value and (name.startswith("dropped_") or name in ("appended", "merged", "out_updates"))
        }
        return self.overhead

    # The queue

    def _queue_reaches(self, time: float) -> bool:
        """Let the queue run up to ``time``; False when something left it, which may come first."""
        goal = self._origin + int(time / CYCLE_NS)
        while self.model.cycle < goal:
            active = self.model.cycle < self._busy_until
            self.model.run(min(goal, self.model.cycle + _STEP) if active else goal)
            if left := list(self.model.take()):
                for departure in left:
                    self._broadcast((departure.last + 1 - self._origin) * float(CYCLE_NS), departure.frame)
                return False
        return True

    def _broadcast(self, time: float, encoded: bytes) -> None:
        frame = OlafFrame.decode(encoded)
        for worker in self.workers:
            self._send(worker.down, time, len(encoded), partial(self._receive, worker, frame))

    def _contribute(self, worker: _Worker, segment: int) -> None:
        round_ = worker.round
        frame = OlafFrame(
            Endpoint("02:00:00:00:01:00", IPv4Address(f"10.0.1.{worker.number + 1}"), 20300),
            _ENGINE,
            FrameType.UPDATE,
            0,
            1,
            round_,
            0.0,
            round_,
            _contribution(worker.number, round_, segment),
            segment=segment,
        ).encode()
        sidecar = Sidecar(
            len(frame), kind=Kind.UPDATE, index=segment, member=worker.number, worker=worker.number + 1
        )

        def arrive() -> None:
            cycle = self._origin + int(self.now / CYCLE_NS)
            self.model.offer(sidecar, frame, cycle)
            self._busy_until = max(cycle, self.model.cycle) + 4 * _STEP

        self.overhead.contributions += 1
        self._send(worker.up, self.now, len(frame), arrive)

    # The workers

    def _begin(self, worker: _Worker, round_: int) -> None:
        worker.round, worker.tries = round_, 0
        if round_ > self.rounds:
            return
        worker.missing = set(range(self.segments))
        worker.results = {key: value for key, value in worker.results.items() if key[0] >= round_ - 1}
        for segment in range(self.segments):
            self._contribute(worker, segment)
        self._wait(worker, round_)

    def _wait(self, worker: _Worker, round_: int) -> None:
        def timed_out() -> None:
            if worker.round != round_:
                return
            worker.tries += 1
            if worker.tries > _MOST_TRIES:
                raise OlafError(Problem(f"round {round_} hangs at worker {worker.number}"))
            for segment in sorted(worker.missing):
                self.overhead.repeated += 1
                self._contribute(worker, segment)
                self.overhead.helps += 1
                ask = partial(self._help, worker, round_, segment)
                self._send(worker.up, self.now, _CONTROL_BYTES, ask)
            self._wait(worker, round_)

        # Apart from each other, so that they do not ask in step for ever.
        self._at(self.now + TIMEOUT * (1 + self.random.random()), timed_out)

    def _receive(self, worker: _Worker, frame: OlafFrame) -> None:
        if frame.seq != worker.round or frame.segment not in worker.missing:
            return  # a result that it has already
        expected = sum(_contribution(each.number, frame.seq, frame.segment) for each in self.workers)
        if frame.count != len(self.workers) or not np.array_equal(frame.gradient, expected):
            raise OlafError(
                Problem(f"round {frame.seq}, segment {frame.segment}: not one contribution of each")
            )
        worker.results[frame.seq, frame.segment] = frame.gradient
        worker.missing.discard(frame.segment)
        if not worker.missing:
            self._begin(worker, worker.round + 1)

    # The control plane

    def _help(self, asker: _Worker, round_: int, segment: int) -> None:
        for old in [key for key in self.askers if key[0] < round_]:
            del self.askers[old]
        self.askers[round_, segment].add(asker.number)
        if len(self.askers[round_, segment]) == len(self.workers):
            del self.askers[round_, segment]
            self.overhead.resets += 1
            self.model.registers.command(Command.RESET, segment, segment)
            return
        others = [worker for worker in self.workers if worker is not asker]
        other = others[next(self.turn) % len(others)]
        self.overhead.forwarded += 1
        answer = partial(self._answer, other, asker, round_, segment)
        self._send(other.down, self.now, _CONTROL_BYTES, answer)

    def _answer(self, member: _Worker, asker: _Worker, round_: int, segment: int) -> None:
        gradient = member.results.get((round_, segment))
        if gradient is None:
            return
        self.overhead.resent += 1
        frame = OlafFrame(
            _ENGINE,
            _ENGINE,
            FrameType.RESULT,
            1,
            len(self.workers),
            round_,
            0.0,
            0,
            gradient,
            segment=segment,
        )
        size = len(frame.encode())

        def at_the_engine() -> None:
            self._send(asker.down, self.now, size, partial(self._receive, asker, frame))

        self._send(member.up, self.now, size, at_the_engine)

    # Links and time

    def _send(self, link: Link, ready: float, size: int, arrive: Callable[[], None]) -> None:
        time = link.carry(ready, size)
        if self.random.random() < self.loss:
            self.overhead.lost += 1
        else:
            self._at(time, arrive)

    def _at(self, time: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._order), act))


def run(library: Path, workers: int, segments: int, rounds: int, loss: float, seed: int) -> Overhead:
    """``rounds`` rounds of ``segments`` segments, each frame lost with the chance ``loss`` on every link.

    Raises OlafError when a result is not the exact sum of one contribution of each worker, or a round
    does not end.
    """
    with QueueModel(library) as model:
        return _Run(model, workers, segments, rounds, loss, seed).go()


def _contribution(worker: int, round_: int, segment: int) -> Gradient:
    """Whole numbers, so that their sum is exact, and different ones for every worker, round and segment."""
    first = (round_ * 31 + segment) % 4096 * 64 + worker * 8
    return np.arange(first, first + VALUES, dtype=np.float32)
