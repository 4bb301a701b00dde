"""Engines in these tests' networks: they do what frames of each mode do, without the Verilog.

In mode iswitch (``QueueEngine``) an index accumulates one round, takes each member once and releases the
sum as one RESULT; in iswitch-async (``SumEngine``) it sums whatever comes until H updates are in, and numbers
what leaves; in mode olaf (``Bottleneck``) waiting updates are combined in front of a slow link.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Address
from random import Random
from typing import Any

import numpy as np

from olaf.serial import distance, newer
from olaf.transport import wire
from olaf.transport.port import Address, Port, Run
from olaf.transport.segments import Vector, payload, values_of
from olaf.transport.virtual import VirtualNetwork
from tests.testnet import DELAY, Lossy

Sent = tuple[Address, bytes]
"""Where a frame goes, and its bytes."""


@dataclass
class RoundIndex:
    """One segment of one cluster."""

    threshold: int
    accumulating: bool = False
    round: int = 0
    members: set[int] = field(default_factory=set)
    count: int = 0
    total: Vector = field(default_factory=lambda: np.zeros(0, np.float32))
    finished: int | None = None

    def contribute(self, member: int, header: wire.Olaf, values: Vector, seen: Counter[str]) -> bool:
        """Return whether the round is complete now; ``seen`` counts what happened to the frame."""
        old = self.round if self.accumulating else self.finished
        if self.accumulating and header.seq == self.round:
            if member in self.members:
                seen["duplicate"] += 1
                return False
            if len(values) != len(self.total):
                seen["mismatch"] += 1
                return False
            seen["merged"] += 1
            self.total = self.total + values
        elif old is not None and not newer(header.seq, old, 32):
            seen["late"] += 1
            return False
        else:
            seen["superseded"] += self.accumulating
            seen["appended"] += 1
            self.accumulating, self.round = True, header.seq
            self.members, self.count, self.total = set(), 0, values.copy()
        self.members.add(member)
        self.count += header.count
        if self.count < self.threshold:
            return False
        self.accumulating, self.finished = False, self.round
        return True

    def reset(self) -> None:
        self.accumulating, self.finished = False, None


class QueueEngine:
    """One cluster's indices, the table of its workers, and its control plane."""

    def __init__(self, server: Address, members: int, segments: int = 1, key: bytes = b"") -> None:
        self.server, self.size, self.segments, self.key = server, members, segments, key
        self.threshold = members
        self.epoch = 0
        self.workers: dict[Address, int] = {}
        self.indices = [RoundIndex(members) for _ in range(segments)]
        self.seen: Counter[str] = Counter()
        self.askers: dict[tuple[int, int], set[Address]] = {}
        self.silent = False

    def new_job(self, epoch: int) -> None:
        """Reset as the control plane does between two jobs on the same addresses."""
        self.epoch = epoch
        self.workers.clear()
        for index in self.indices:
            index.reset()

    def restart(self) -> None:
        """Lose everything that was accumulated, and which rounds were finished."""
        self.indices = [RoundIndex(self.size) for _ in range(self.segments)]

    def receive(self, datagram: bytes, source: Address) -> list[Sent]:
        """Return the frames that one frame causes."""
        if datagram[:1] and datagram[0] >> 4 == 0:
            return [] if self.silent else self._control(datagram, source)
        header = wire.Olaf.unpack(datagram)
        if header.frame_type != wire.FrameType.UPDATE:
            return []
        member = self.workers.setdefault(source, len(self.workers))
        if header.epoch != self.epoch or header.segment >= self.segments:
            self.seen["refused"] += 1
            return []
        index = self.indices[header.segment]
        values = values_of(memoryview(datagram)[wire.OLAF_BYTES :])
        if not index.contribute(member, header, values, self.seen):
            return []
        header.frame_type, header.count = wire.FrameType.RESULT, index.count
        header.flags = wire.Flag.AGGREGATED
        frame = header.pack() + bytes(payload(index.total))
        return [(worker, frame) for worker in self.workers]

    def _control(self, datagram: bytes, source: Address) -> list[Sent]:
        action = datagram[0]
        if action == wire.ControlAction.JOIN:
            return self._join(wire.Join.unpack(datagram), datagram, source)
        if action == wire.ControlAction.LEAVE and self.workers.pop(source, None) is not None:
            self.seen["left"] += 1
            if not self.workers:
                self.new_job((self.epoch + 1) % 16)
        if action == wire.ControlAction.SET_H:
            return self._set_threshold(wire.SetH.unpack(datagram), source)
        if action == wire.ControlAction.HELP:
            return self._help(wire.Help.unpack(datagram), source)
        return []

    def _set_threshold(self, askers: wire.SetH, source: Address) -> list[Sent]:
        self.seen["threshold"] += 1
        self.threshold = askers.threshold
        for index in self.indices:
            index.threshold = askers.threshold
        return [self._answer(wire.ControlAction.SET_H, wire.Reason.OK, askers.nonce, source)]

    def _join(self, join: wire.Join, datagram: bytes, source: Address) -> list[Sent]:
        reason = wire.Reason.OK
        if self.key and join.mac != self._mac(datagram, source):
            reason = wire.Reason.BAD_MAC
        elif join.cluster.rstrip(b"\0") != b"lander":
            reason = wire.Reason.UNKNOWN_CLUSTER
        elif join.role == wire.MemberRole.PARAMETER_SERVER:
            self.seen["servers joined"] += 1
        elif source not in self.workers and len(self.workers) == self.size:
            reason = wire.Reason.CLUSTER_FULL
        else:
            self.workers.setdefault(source, len(self.workers))
            self.seen["joined"] += 1
        return [self._answer(wire.ControlAction.JOIN, reason, join.nonce, source)]

    def _answer(self, answered: wire.ControlAction, reason: wire.Reason, nonce: int, source: Address) -> Sent:
        answer = wire.Answer(
            wire.ControlAction.ACK,
            answered,
            reason,
            self.epoch,
            self.workers.get(source, 0),
            self.threshold,
            self.segments,
            int(IPv4Address(self.server[0])),
            self.server[1],
            nonce,
            bytes(16),
        )
        if self.key:
            answer.mac = self._mac(answer.pack(), source)
        return source, answer.pack()

    def _help(self, help_: wire.Help, source: Address) -> list[Sent]:
        askers = self.askers.setdefault((help_.segment, help_.round), set())
        askers.add(source)
        self.seen["help"] += 1
        if len(askers) == self.size:
            askers.clear()
            self.indices[help_.segment].reset()
            self.seen["reset"] += 1
        help_.asker_addr, help_.asker_port = int(IPv4Address(source[0])), source[1]
        return [(worker, self._signed(help_, worker)) for worker in self.workers if worker != source]

    def _signed(self, help_: wire.Help, member: Address) -> bytes:
        help_.mac = self._mac(help_.pack(), member) if self.key else bytes(16)
        return help_.pack()

    def _mac(self, message: bytes, member: Address) -> bytes:
        covered = IPv4Address(member[0]).packed + member[1].to_bytes(2, "big") + message[:-16]
        return hmac.new(self.key, covered, hashlib.sha256).digest()[:16]


class EngineMedium(Lossy):
    """The engine in a virtual network, with loss, repetition and reordering on every leg."""

    way = 1e-4

    def __init__(self, engine: QueueEngine, control: Address, **legs: Any) -> None:
        super().__init__(**legs)
        self.engine, self.control = engine, control

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        if not ((to == self.control and tos == wire.CONTROL_TOS) or (to == self.engine.server and not tos)):
            self.leg(network, source, to, datagram)
            return
        for _ in self.copies(source, to, datagram):
            for destination, frame in self.engine.receive(datagram, source):
                self.leg(network, to, destination, frame)


class EnginePort:
    """The engine behind a real socket, losing frames on both legs."""

    def __init__(self, engine: QueueEngine, port: Port, loss: float = 0, seed: int = 0) -> None:
        self.engine, self.port, self.loss = engine, port, loss
        self.random = Random(seed)
        port.serve(self)

    def receive(self, run: Run, source: Address) -> None:
        for datagram in run:
            if self.random.random() >= self.loss:
                for to, frame in self.engine.receive(bytes(datagram), source):
                    if self.random.random() >= self.loss:
                        self.port.send(to, frame)

    def tick(self) -> float | None:
        return None


WINDOW = 16


class SumIndex:
    """One segment of one cluster at one engine."""

    def __init__(self, threshold: int, number: int = 0) -> None:
        self.threshold, self.number = threshold, number
        self.windows: dict[object, tuple[int, int]] = {}
        self.count = self.weights_version = 0
        self.total: Vector | None = None

    def contribute(
        self, member: object, header: wire.Olaf, values: Vector, seen: Counter[str]
    ) -> bytes | None:
        """Return the frame of the sum, if it is complete now."""
        newest, bits = self.windows.get(member, (header.seq - 1, 0))
        ahead = distance(header.seq, newest, 32)
        if ahead <= -WINDOW or (ahead <= 0 and bits >> -ahead & 1):
            seen["late" if ahead <= -WINDOW else "duplicate"] += 1
            return None
        if self.total is not None and len(values) != len(self.total):
            seen["mismatch"] += 1
            return None
        mask = (1 << WINDOW) - 1
        self.windows[member] = (
            (header.seq, (bits << ahead | 1) & mask) if ahead > 0 else (newest, bits | 1 << -ahead)
        )
        self.total = values.copy() if self.total is None else self.total + values
        self.count += header.count
        self.weights_version += header.weights_version
        if self.count < self.threshold:
            return None
        self.number = (self.number + 1) % (1 << 32)
        flags = wire.Flag.AGGREGATED | wire.Flag.SUMMED
        left = wire.Olaf(
            wire.VERSION,
            wire.FrameType.UPDATE,
            header.epoch,
            flags,
            self.count,
            self.number,
            header.reward,
            header.gen_time,
            header.segment,
            self.weights_version % (1 << 16),
        )
        frame = left.pack() + bytes(payload(self.total))
        self.count, self.weights_version, self.total = 0, 0, None
        return frame


class SumEngine:
    """One engine's indices."""

    def __init__(self, threshold: int, segments: int, first: int = 0) -> None:
        self.threshold, self.segments, self.first = threshold, segments, first
        self.indices: list[SumIndex] = []
        self.seen: Counter[str] = Counter()
        self.reset(first)

    def reset(self, first: int = 0) -> None:
        """Lose everything; the first result will have the number after ``first``."""
        self.indices = [SumIndex(self.threshold, first) for _ in range(self.segments)]

    def update(self, member: object, frame: bytes) -> bytes | None:
        header = wire.Olaf.unpack(frame)
        values = values_of(memoryview(frame)[wire.OLAF_BYTES :])
        return self.indices[header.segment].contribute(member, header, values, self.seen)


class SumNetwork(Lossy):
    """Engines in one or two levels between members, with loss, repetition and reordering on every leg."""

    way = 1e-4

    def __init__(
        self,
        server: Address,
        racks: Sequence[Sequence[Address]],
        h: int,
        segments: int = 1,
        first: int = 0,
        **legs: Any,
    ) -> None:
        """``racks``: members by engine; of several, an engine above sums what each of them has summed."""
        super().__init__(**legs)
        self.server, self.racks, self.segments = server, racks, segments
        self.engines = [SumEngine(h // len(racks), segments, first) for _ in racks]
        self.root = SumEngine(h, segments, first)
        self.rack = {member: number for number, rack in enumerate(racks) for member in rack}
        self.results: Counter[int] = Counter()

    def reset(self, first: int = 0) -> None:
        for engine in (*self.engines, self.root):
            engine.reset(first)

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        if to != self.server:
            self.leg(network, source, to, datagram)
        elif datagram[0] == wire.VERSION << 4 | wire.FrameType.UPDATE:
            self.leg(network, source, to, datagram, lambda: self._sum(network, source, datagram))

    def _sum(self, network: VirtualNetwork, source: Address, datagram: bytes) -> None:
        rack = self.rack[source]
        left = self.engines[rack].update(source, datagram)
        if left is None:
            return
        if len(self.racks) == 1:
            self._result(network, left)
        else:
            self.leg(network, self.server, self.server, left, lambda: self._above(network, rack, left))

    def _above(self, network: VirtualNetwork, rack: int, frame: bytes) -> None:
        left = self.root.update(rack, frame)
        if left is not None:
            self._result(network, left)

    def _result(self, network: VirtualNetwork, frame: bytes) -> None:
        result = bytes([wire.VERSION << 4 | wire.FrameType.RESULT]) + frame[1:]
        self.results[wire.Olaf.unpack(result).segment] += 1
        for rack in self.racks:
            down = partial(self._down, network, rack, result)
            if len(self.racks) == 1:
                down()
            else:
                self.leg(network, self.server, self.server, result, down)

    def _down(self, network: VirtualNetwork, rack: Sequence[Address], result: bytes) -> None:
        for member in rack:
            self.leg(network, self.server, member, result)


@dataclass
class Waiting:
    """One slot."""

    source: Address
    header: wire.Olaf
    total: Vector


class Bottleneck:
    """``slots`` updates wait for a link of ``rate`` frames a second; ACKs carry the queue's state back.

    ``clusters`` maps addresses to clusters; an ACK goes to every address of its cluster, as an engine sends
    it. A cluster is active for ``window`` seconds after it sent.
    """

    def __init__(self, clusters: dict[Address, str], slots: int, rate: float, window: float) -> None:
        self.clusters, self.slots, self.rate, self.window = clusters, slots, rate, window
        self.seen: Counter[str] = Counter()
        self._queue: list[Waiting] = []
        self._sending = False
        self._active: dict[tuple[str, int], float] = {}

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        header = wire.Olaf.unpack(datagram)
        if header.frame_type == wire.FrameType.UPDATE:
            self._update(network, source, to, header, values_of(memoryview(datagram)[wire.OLAF_BYTES :]))
        elif header.frame_type == wire.FrameType.ACK:
            header.flags |= wire.Flag.STATUS
            status = wire.OlafStatus(len(self._queue), self._count_active(network.time), self.slots, 0)
            frame = header.pack() + status.pack() + datagram[wire.OLAF_BYTES :]
            for member, cluster in self.clusters.items():
                if cluster == self.clusters[to]:
                    network.arrive(network.time + DELAY, source, member, frame)
        else:
            network.arrive(network.time + DELAY, source, to, datagram)

    def _count_active(self, now: float) -> int:
        return sum(now - last <= self.window for last in self._active.values())

    def _update(
        self, network: VirtualNetwork, source: Address, to: Address, header: wire.Olaf, values: Vector
    ) -> None:
        index = self.clusters[source], header.segment
        self._active[index] = network.time
        self.seen["in"] += 1
        unlocked = self._queue[1:] if self._sending else self._queue
        for slot in unlocked:
            if (self.clusters[slot.source], slot.header.segment) == index:
                self._combine(slot, source, header, values)
                return
        if len(self._queue) == self.slots:
            self.seen["dropped"] += 1
            return
        self._queue.append(Waiting(source, header, np.array(values)))
        if not self._sending:
            self._send(network, to)

    def _combine(self, slot: Waiting, source: Address, header: wire.Olaf, values: Vector) -> None:
        if slot.source == source and slot.header.count == 1:
            self.seen["replaced"] += 1
            slot.header, slot.total = header, np.array(values)
            return
        self.seen["merged"] += 1
        header.count += slot.header.count
        header.flags |= wire.Flag.AGGREGATED
        header.reward = max(header.reward, slot.header.reward)
        slot.source, slot.header, slot.total = source, header, slot.total + values

    def _send(self, network: VirtualNetwork, to: Address) -> None:
        self._sending = True
        network.at(network.time + 1 / self.rate, lambda: self._sent(network, to))

    def _sent(self, network: VirtualNetwork, to: Address) -> None:
        slot = self._queue.pop(0)
        self._sending = False
        network.arrive(network.time + DELAY, slot.source, to, slot.header.pack() + bytes(payload(slot.total)))
        if self._queue:
            self._send(network, to)
