"""Moves while every worker sends as fast as the twin takes it: what became of each frame, and whether any ACK
reached a group that its worker had left."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from olafctl.daemon.api.client import DaemonClient
from olafctl.membership.model import Host, Member
from olafctl.targets import testbeds
from olafctl.targets.interface import of_root
from olafctl.wire import layouts
from olafctl.wire.frames import unpack_header
from olafctl.wire.layouts import FrameType
from olaflab.daemon.kept_twin import KeptTwin, kept_twin
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.host import HostPort
from olaftest.daemon.daemon_process import TIMEOUT, wait_until
from olaftest.deployment import open_hosts
from olaftest.frames import OlafFrame, endpoint_of

_CLUSTERS = ("red", "green", "blue")
_MOVERS = 4
_ANCHORS = len(_CLUSTERS)
"""One worker of each cluster stays: the parameter server reaches the group by it."""
_WORKERS = ", ".join(
    f"{{name: w{number}, port: {number + 2}, ip: 10.0.1.{number + 1}}}" for number in range(_MOVERS)
)
_TESTBED = f"""
name: moves
engine: {{indices: 4, slots: 2, beats: 4, output_rate: 10Mbps}}
ports:
  - {{number: 1, name: ps, transport: unix}}
  - {{numbers: 2-{_MOVERS + _ANCHORS + 1}, name: w, transport: unix}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{name: red, workers: [{_WORKERS}, {{name: a0, port: {_MOVERS + 2}, ip: 10.0.2.1}}]}}
  - {{name: green, workers: [{{name: a1, port: {_MOVERS + 3}, ip: 10.0.2.2}}]}}
  - {{name: blue, workers: [{{name: a2, port: {_MOVERS + 4}, ip: 10.0.2.3}}]}}
"""
_VALUES = 48
_KINDS = 64
_MARK = 1 << 31
"""Sequence numbers from here on are marks: ACKs that show which group they reached."""
_AGAIN = 1.0
_PATIENCE = 0.05
_DROPS = "dropped_"


@dataclass(frozen=True)
class MovesReport:
    """Counts of frames, unless noted otherwise."""

    moves: int
    sent: int
    entered: int
    """Updates that came to the queue."""
    left: int
    combined: int
    """Merged, or replaced by a newer one."""
    dropped: dict[str, int]
    """Frames that the queue dropped, by cause."""
    received: int
    """Frames that the parameter server dropped."""
    acks: int
    """Received by workers."""
    marks: int
    """ACKs to a group right after a move had returned; each was looked for at the worker that moved."""
    stale: int
    """ACKs to the group that it had left which it still got."""
    seconds: float
    problems: list[str]


def run_moves(moves: int, seed: int, progress: Callable[[str], None]) -> MovesReport:
    """Move one of four workers ``moves`` times among three clusters while seven send. Raises OlafError."""
    progress("deploying")
    with kept_twin(_TESTBED) as twin, DaemonClient(twin.daemon.address) as client:
        wait_until(lambda: client.call("GetStatus", summary=True).deployments[0].ready)
        with _run_traffic(twin) as traffic:
            began = time.perf_counter()
            _move_worker(client, traffic, moves, random.Random(seed), progress)
            seconds = time.perf_counter() - began
        return traffic.make_report(twin, moves, seconds)


def _move_worker(
    client: DaemonClient,
    traffic: "_Traffic",
    moves: int,
    chance: random.Random,
    progress: Callable[[str], None],
) -> None:
    where = dict.fromkeys((f"w{number}" for number in range(_MOVERS)), _CLUSTERS[0])
    for number in range(moves):
        worker = chance.choice(list(where))
        old, new = where[worker], chance.choice([name for name in _CLUSTERS if name != where[worker]])
        client.call("MoveWorker", worker=worker, cluster=new)
        where[worker] = new
        traffic.check_groups(number, worker, _CLUSTERS.index(old), _CLUSTERS.index(new))
        if number % 100 == 99:
            progress(f"{number + 1} of {moves} moves")


@dataclass
class _End:
    """A worker at its front port."""

    worker: Member
    host: HostPort
    sent: int = 0
    acks: int = 0
    marks: set[int] = field(default_factory=set)


class _Traffic:
    """Workers that send without pause, and a parameter server that answers every update."""

    def __init__(self, ends: list[_End], server: Host, host: HostPort) -> None:
        self.ends = {end.worker.name: end for end in ends}
        self._by_ip = {int(end.worker.ip): end for end in ends}
        self._server = server
        self._host = host
        self._sending = threading.Lock()
        self._heard = threading.Condition()
        self._ended = threading.Event()
        self._silent = threading.Event()
        self.received = 0
        self.marks = self.stale = 0
        senders = [threading.Thread(target=self._send_updates, args=(end,), daemon=True) for end in ends]
        listeners = [threading.Thread(target=self._listen_for_acks, args=(end,), daemon=True) for end in ends]
        self._senders, self._others = (
            senders,
            [*listeners, threading.Thread(target=self._serve_updates, daemon=True)],
        )
        for thread in (*self._others, *senders):
            thread.start()

    def finish_sending(self, drained: Callable[[], bool]) -> None:
        """Stop sending, wait until the queue is ``drained``, and stop listening."""
        self._ended.set()
        for thread in self._senders:
            thread.join()
        wait_until(drained)
        self._silent.set()
        for thread in self._others:
            thread.join()

    def check_groups(self, number: int, worker: str, old: int, new: int) -> None:
        """Send a mark to the group that a worker left, then one to the group that it is in, and see what it
        got. Raises OlafError when the groups are not reached."""
        left, here = (_MARK | number << 1 | each for each in (0, 1))
        was, now, mover = self.ends[f"a{old}"], self.ends[f"a{new}"], self.ends[worker]
        deadline = time.monotonic() + TIMEOUT
        while True:
            self._make_ack(was.worker, left)
            self._make_ack(now.worker, here)
            with self._heard:
                # Frames to one worker stay in order: its own mark comes after one for the group it left.
                if self._heard.wait_for(lambda: here in mover.marks and left in was.marks, _AGAIN):
                    break
            if time.monotonic() > deadline:
                raise OlafError(Problem(f"no ACK for its group reaches {worker}", "the twin"))
        self.marks += 2
        self.stale += left in mover.marks

    def _make_ack(self, worker: Host, seq: int) -> None:
        ends = endpoint_of(self._server), endpoint_of(worker)
        gradient = np.zeros(_VALUES, np.float32)
        with self._sending:
            self._host.send(OlafFrame(*ends, FrameType.ACK, seq=seq, gradient=gradient).encode())

    def _send_updates(self, end: _End) -> None:
        ends = endpoint_of(end.worker), endpoint_of(self._server)
        gradient = np.ones(_VALUES, np.float32)
        frames = [
            OlafFrame(*ends, FrameType.UPDATE, 0, 1, seq, 1.0, seq, gradient).encode()
            for seq in range(_KINDS)
        ]
        for each in itertools.cycle(frames):
            if self._ended.is_set():
                return
            end.host.send(each)
            end.sent += 1

    def _listen_for_acks(self, end: _End) -> None:
        for seq, _ in self._receive_frames(end.host):
            end.acks += 1
            if seq >= _MARK:
                with self._heard:
                    end.marks.add(seq)
                    self._heard.notify_all()

    def _serve_updates(self) -> None:
        for seq, source in self._receive_frames(self._host):
            self.received += 1
            self._make_ack(self._by_ip[source].worker, seq)

    def _receive_frames(self, host: HostPort) -> Iterator[tuple[int, int]]:
        """Yield sequence number and source address of each Olaf frame, until the caller requests silence."""
        while True:
            frame = host.receive(_PATIENCE)
            if frame is None:
                if self._silent.is_set():
                    return
                continue
            ipv4 = unpack_header(layouts.IPV4, frame[layouts.ETHERNET.size :])
            olaf = unpack_header(layouts.OLAF, frame[layouts.GRADIENT_OFFSET - layouts.OLAF.size :])
            yield olaf["seq"], ipv4["src_addr"]

    def make_report(self, twin: KeptTwin, moves: int, seconds: float) -> MovesReport:
        """Account for every frame."""
        registers, stats = of_root(twin.running().queues).read_all(), twin.running().stats()
        losses = Counter(stats["losses"])
        for port in stats["ports"].values():
            losses.update({name: count for name, count in port.items() if name.endswith("_dropped")})
        sent = sum(end.sent for end in self.ends.values())
        drops = {name: count for name, count in registers.items() if name.startswith(_DROPS) and count}
        dropped = Counter({name.removeprefix(_DROPS): count for name, count in drops.items()})
        entered, left = registers["in_updates"], registers["out_updates"]
        combined = registers["merged"] + registers["replaced_worker"] + registers["replaced_reward"]
        problems = []
        if sent != entered:
            problems.append(f"{sent} updates were sent, and {entered} came to the queue")
        if entered != left + combined + sum(dropped.values()):
            problems.append(f"of {entered} updates {left} left, {combined} were combined, {dropped} dropped")
        if left != self.received:
            problems.append(f"{left} updates left, and {self.received} reached the parameter server")
        if set(dropped) - {"full"}:
            problems.append(f"the queue dropped for other reasons than being full: {dict(dropped)}")
        if any(losses.values()):
            problems.append(f"frames were lost outside the queue: {dict(+losses)}")
        if self.stale:
            problems.append(f"{self.stale} ACKs for a group reached a worker that had left it")
        acks = sum(end.acks for end in self.ends.values())
        return MovesReport(
            moves, sent, entered, left, combined, dict(dropped), self.received, acks, self.marks,
            self.stale, seconds, problems,
        )  # fmt: skip


@contextmanager
def _run_traffic(twin: KeptTwin) -> Iterator[_Traffic]:
    running, bed = twin.running(), testbeds.load_testbed("moves.yaml", _TESTBED)
    [server] = bed.parameter_servers
    with open_hosts(running) as hosts:
        ends = [_End(worker, hosts[worker.port]) for worker in bed.workers]
        traffic = _Traffic(ends, server, hosts[server.port])
        try:
            yield traffic
        finally:
            traffic.finish_sending(lambda: of_root(running.queues).read_all()["resident_updates"] == 0)
