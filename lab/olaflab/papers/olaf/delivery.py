"""When a parameter server has N updates of each worker, which send as in a recorded training (OLAF figure 7).

Workers send at the intervals of a recorded training, scaled to an offered rate, again and again until the
server has their N updates. The first lanes of a gradient say whose updates are in it, one lane for each
member of the cluster: the engine's sum then says it of a merged frame. An update counts when it is part of a
frame that arrives: as that frame, merged with others by the engine, or folded into a later one by its worker
while transmission control held it back. What the engine replaced or dropped does not count.
"""

from __future__ import annotations

import heapq
import struct
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from olaf.transport import wire
from olaf.worker.transmission import TOLERANCE, TransmissionControl

from olafctl.membership.model import Host, Member
from olafctl.queue.registers import rate_word
from olafctl.targets.interface import Progress, Running, TimedFrame, VirtualTime, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import ETHERNET, GRADIENT_OFFSET, IPV4, OLAF, FrameType
from olafctl.wire.modes import Mode
from olaflab.training.replay.trace import Trace
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.transport import Transport
from olaftest.deployment import deployed_testbed
from olaftest.frames import OlafFrame, endpoint_of

TRACE = Path("testbeds") / "traces" / "nine-clusters.npz"
DELAY = 1000
"""ns between a host and the engine, each way; also how far both run before they exchange frames."""
OFFERED = 60e9
"""bit/s of all workers together (OLAF §8.1)."""
FRAME_BYTES = 256
_OLAF = GRADIENT_OFFSET - OLAF.size
_SEQ, _TIME = _OLAF + OLAF.offset("seq") // 8, _OLAF + OLAF.offset("gen_time") // 8
_COUNT = slice(_OLAF + OLAF.offset("count") // 8, _OLAF + OLAF.offset("count") // 8 + 2)
_SOURCE, _DESTINATION = (
    slice(start, start + 4)
    for start in (ETHERNET.size + IPV4.offset(name) // 8 for name in ("src_addr", "dst_addr"))
)
_MOST = 5_000_000
"""Updates after which a run is given up."""


@dataclass(frozen=True)
class RecordedControl:
    """Transmission control (OLAF §5) in the recording's time: s and 1/s."""

    delta_t: float = TOLERANCE
    v: float = 1 / TOLERANCE
    """As OLAF §5 has it for urgency; the number of Δ_T is for fairness."""


@dataclass(frozen=True)
class DeliveryCase:
    """How updates are queued and sent."""

    name: str
    mode: Mode
    control: RecordedControl | None = None
    folded: bool = True
    """Whether an update folded into a later one counts by itself."""


@dataclass(frozen=True)
class Delivery:
    """One run; times in seconds of virtual time."""

    seconds: float
    """Until the server had N updates of each worker."""
    ready: float
    """Until each worker had made N updates: no queue can be sooner."""
    offered: int
    """Updates that workers had ready."""
    sent: int
    frames: int
    """Frames that the server received."""
    contained: int
    """Frames of workers within them."""
    lost: int
    replaced: int


class DeliveryLab:
    """A running twin of the testbed, and the recorded intervals scaled to it."""

    def __init__(self, running: Running, testbed: Testbed, trace: Trace) -> None:
        self._running, self._testbed = running, testbed
        recorded = np.diff(trace.time, axis=1)
        rows = recorded[np.arange(len(testbed.workers)) % trace.workers]
        rate = (1 / rows.mean(axis=1)).sum() * 8 * FRAME_BYTES
        self.scale = float(OFFERED / (rate * 1e9))
        """Recorded ns in one here."""
        self._intervals: NDArray[np.int64] = np.maximum(rows / self.scale, 1).astype(np.int64)

    def run_case(self, case: DeliveryCase, gigabits: float, updates: int, seed: int) -> Delivery:
        """Run until each worker has delivered ``updates``. Raises OlafError when that does not end."""
        registers = of_root(self._running.queues)
        registers.write("mode", case.mode.number)
        registers.write("rate", rate_word(round(gigabits * 1e9)))
        with closing(self._running.virtual_time()) as engine:
            run = _Run(engine, self._testbed, self._intervals, case, updates, seed, self.scale)
            finished = run.until_delivered()
        counters = registers.read_all()
        return Delivery(
            seconds=finished / 1e9,
            ready=run.ready / 1e9,
            offered=run.offered,
            sent=run.sent,
            frames=run.frames,
            contained=run.contained,
            lost=counters["dropped_full"],
            replaced=counters["replaced_worker"],
        )


@contextmanager
def run_trace_twin(testbed: Testbed, trace: Trace, progress: Progress) -> Iterator[DeliveryLab]:
    """Run the twin of ``testbed``, whose workers send as in ``trace``. Raises OlafError."""
    sockets = tuple(replace(port, transport=Transport.UNIX) for port in testbed.ports)
    testbed = replace(testbed, ports=sockets)
    with deployed_testbed(testbed, progress) as running:
        yield DeliveryLab(running, testbed, trace)


class _Sender:
    """One worker."""

    def __init__(
        self,
        worker: Member,
        server: Host,
        lane: int,
        control: TransmissionControl,
        intervals: NDArray[np.int64],
    ) -> None:
        values = np.zeros((FRAME_BYTES - GRADIENT_OFFSET) // 4, np.float32)
        frame = OlafFrame(endpoint_of(worker), endpoint_of(server), FrameType.UPDATE, 0, 1, 0, 1.0, 0, values)
        self.port = worker.port
        self.control = control
        self.delivered = self.ready = 0
        self._frame = bytearray(frame.encode())
        self._lane = GRADIENT_OFFSET + 4 * lane
        self._intervals = intervals
        self._next = 0
        self._seq = 0
        self._folded = 0

    def next_interval(self) -> int:
        """Return ns to the next update."""
        self._next = (self._next + 1) % len(self._intervals)
        return int(self._intervals[self._next])

    def offer_update(self, now: int, folded: bool) -> bytes | None:
        """Return the frame of the update that is ready, if it is sent."""
        self._folded = self._folded + 1 if folded else 1
        if not self.control.draw(now / 1e9):
            return None
        self._seq += 1
        struct.pack_into(">I", self._frame, _SEQ, self._seq)
        self._frame[_TIME : _TIME + 6] = now.to_bytes(6, "big")
        struct.pack_into("<f", self._frame, self._lane, self._folded)
        self._folded = 0
        return bytes(self._frame)


@dataclass(frozen=True)
class _Team:
    """A cluster's members by lane, and the frame that answers them."""

    members: list[_Sender]
    ack: bytes


class _Run:
    """Hosts and engine in lockstep: what is sent within one delay arrives in the next."""

    def __init__(
        self,
        engine: VirtualTime,
        testbed: Testbed,
        intervals: NDArray[np.int64],
        case: DeliveryCase,
        updates: int,
        seed: int,
        scale: float,
    ) -> None:
        self.offered = self.sent = self.frames = self.contained = self.ready = 0
        self._engine, self._case, self._updates = engine, case, updates
        (server,) = testbed.parameter_servers
        self._server_port = server.port
        random = Random(seed)
        self._senders: dict[bytes, _Sender] = {}
        """Senders by IPv4 address."""
        self._teams: dict[bytes, _Team] = {}
        for cluster in testbed.clusters:
            members = []
            for lane, worker in enumerate(cluster.workers):
                its, on = case.control or RecordedControl(), case.control is not None
                control = TransmissionControl(its.v * scale, its.delta_t / scale, random, on)
                begin = random.randrange(intervals.shape[1])
                times = np.roll(intervals[len(self._senders)], begin)
                members.append(_Sender(worker, server, lane, control, times))
                self._senders[worker.ip.packed] = members[-1]
            first, nothing = cluster.workers[0], np.zeros(0, np.float32)
            ack = OlafFrame(endpoint_of(server), endpoint_of(first), FrameType.ACK, 0, 1, 0, 1.0, 0, nothing)
            team = _Team(members, ack.encode())
            self._teams |= {worker.ip.packed: team for worker in cluster.workers}
        self._missing = len(self._senders)
        self._due = [
            (random.randrange(sender.next_interval()), place, sender)
            for place, sender in enumerate(self._senders.values())
        ]
        heapq.heapify(self._due)
        self._answers: deque[tuple[int, int, bytes]] = deque()
        """ACKs on their way to the engine, by time."""

    def until_delivered(self) -> int:
        """Return the virtual ns at which the server has all updates."""
        now = 0
        while self.offered <= _MOST:
            now += DELAY
            for time, port, frame in sorted((*self._send_updates(now), *self._send_replies(now))):
                self._engine.arrive(TimedFrame(time, port, frame))
            for left in self._engine.advance(now).left:
                if left.port != self._server_port:
                    self._pass_ack(left)
                elif self._count_frame(left):
                    return left.time + DELAY
        what = f"{self._missing} workers still wait after {_MOST} updates"
        raise OlafError(Problem(what, "figure 7", "ask for fewer updates"))

    def _send_updates(self, until: int) -> Iterator[tuple[int, int, bytes]]:
        """Yield the frames that workers send and that arrive before ``until``."""
        while self._due[0][0] + DELAY < until:
            time, place, sender = self._due[0]
            heapq.heapreplace(self._due, (time + sender.next_interval(), place, sender))
            if sender.delivered >= self._updates:
                continue
            self.offered += 1
            sender.ready += 1
            if sender.ready == self._updates:
                self.ready = time
            frame = sender.offer_update(time, self._case.folded)
            if frame is not None:
                self.sent += 1
                yield time + DELAY, sender.port, frame

    def _send_replies(self, until: int) -> Iterator[tuple[int, int, bytes]]:
        """Yield the ACKs that arrive at the engine before ``until``."""
        while self._answers and self._answers[0][0] < until:
            yield self._answers.popleft()

    def _count_frame(self, left: TimedFrame) -> bool:
        """Count a frame for the server; return whether it now has all updates."""
        team = self._teams[left.frame[_SOURCE]]
        lanes = struct.unpack_from(f"<{len(team.members)}f", left.frame, GRADIENT_OFFSET)
        for sender, updates in zip(team.members, lanes, strict=True):
            before = sender.delivered
            sender.delivered += int(updates)
            self._missing -= before < self._updates <= sender.delivered
        self.frames += 1
        self.contained += int.from_bytes(left.frame[_COUNT], "big")
        self._answers.append((left.time + 2 * DELAY, self._server_port, team.ack))
        return self._missing == 0

    def _pass_ack(self, left: TimedFrame) -> None:
        """Pass one copy of an ACK, with the queue's status, to its sender."""
        sender = self._senders.get(left.frame[_DESTINATION])
        if sender is not None:
            status = wire.OlafStatus.unpack(left.frame[GRADIENT_OFFSET:])
            sender.control.acknowledged((left.time + DELAY) / 1e9, status)
