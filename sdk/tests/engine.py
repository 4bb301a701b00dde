"""A stand-in for an engine in iswitch mode and its control plane: what frames do, without the Verilog.

An index works by the queue's rules: it accumulates one round, takes each member once, and releases the sum as
one RESULT when H worker updates are in. The control plane answers Join, forwards Help, and clears an index
for which every member has asked.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from random import Random
from typing import Callable

import numpy as np

from olaf.serial import newer
from olaf.transport import wire
from olaf.transport.port import Address, Port, Run
from olaf.transport.segments import Vector, payload, values_of
from olaf.transport.virtual import VirtualNetwork

Sent = tuple[Address, bytes]
"""Where a frame goes, and its bytes."""


@dataclass
class Index:
    """One segment of one cluster."""

    threshold: int
    accumulating: bool = False
    round: int = 0
    members: set[int] = field(default_factory=set)
    count: int = 0
    total: Vector = field(default_factory=lambda: np.zeros(0, np.float32))
    finished: int | None = None

    def contribute(self, member: int, header: wire.Olaf, values: Vector, seen: Counter[str]) -> bool:
        """Whether the round is complete now; ``seen`` counts what happened to the frame."""
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


class Engine:
    """One cluster's indices, the table of its workers, and its control plane."""

    def __init__(self, server: Address, members: int, segments: int = 1, key: bytes = b"") -> None:
        self.server, self.size, self.segments, self.key = server, members, segments, key
        self.threshold = members
        self.epoch = 0
        self.workers: dict[Address, int] = {}
        self.indices = [Index(members) for _ in range(segments)]
        self.seen: Counter[str] = Counter()
        self.askers: dict[tuple[int, int], set[Address]] = {}
        self.silent = False

    def new_job(self, epoch: int) -> None:
        """What the control plane does between two jobs on the same addresses."""
        self.epoch = epoch
        self.workers.clear()
        for index in self.indices:
            index.reset()

    def restart(self) -> None:
        """Everything that was accumulated, and which rounds were finished, is lost."""
        self.indices = [Index(self.size) for _ in range(self.segments)]

    def receive(self, datagram: bytes, source: Address) -> list[Sent]:
        """The frames that one frame causes."""
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
        if action == wire.Action.JOIN:
            return self._join(wire.Join.unpack(datagram), datagram, source)
        if action == wire.Action.LEAVE and self.workers.pop(source, None) is not None:
            self.seen["left"] += 1
            if not self.workers:
                self.new_job((self.epoch + 1) % 16)
        if action == wire.Action.SET_H:
            return self._set_threshold(wire.SetH.unpack(datagram), source)
        if action == wire.Action.HELP:
            return self._help(wire.Help.unpack(datagram), source)
        return []

    def _set_threshold(self, askers: wire.SetH, source: Address) -> list[Sent]:
        self.seen["threshold"] += 1
        self.threshold = askers.threshold
        for index in self.indices:
            index.threshold = askers.threshold
        return [self._answer(wire.Action.SET_H, wire.Reason.OK, askers.nonce, source)]

    def _join(self, join: wire.Join, datagram: bytes, source: Address) -> list[Sent]:
        reason = wire.Reason.OK
        if self.key and join.mac != self._mac(datagram, source):
            reason = wire.Reason.BAD_MAC
        elif join.cluster.rstrip(b"\0") != b"lander":
            reason = wire.Reason.UNKNOWN_CLUSTER
        elif join.role == wire.Role.PARAMETER_SERVER:
            self.seen["servers joined"] += 1
        elif source not in self.workers and len(self.workers) == self.size:
            reason = wire.Reason.CLUSTER_FULL
        else:
            self.workers.setdefault(source, len(self.workers))
            self.seen["joined"] += 1
        return [self._answer(wire.Action.JOIN, reason, join.nonce, source)]

    def _answer(self, answered: wire.Action, reason: wire.Reason, nonce: int, source: Address) -> Sent:
        answer = wire.Answer(
            wire.Action.ACK,
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


class EngineMedium:
    """The engine in a virtual network, with loss, repetition and reordering on every leg."""

    def __init__(
        self,
        engine: Engine,
        control: Address,
        loss: float = 0,
        repeat: float = 0,
        spread: float = 0,
        seed: int = 0,
        lost: Callable[[Address, Address, bytes], bool] = lambda source, to, datagram: False,
    ) -> None:
        """``lost`` chooses datagrams that are lost besides, one leg from a source to a destination each."""
        self.engine, self.control = engine, control
        self.loss, self.repeat, self.spread, self.lost = loss, repeat, spread, lost
        self.random = Random(seed)

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        for _ in self._copies(source, to, datagram):
            if (to == self.control and tos == wire.CONTROL_TOS) or (to == self.engine.server and not tos):
                for destination, frame in self.engine.receive(datagram, source):
                    for _ in self._copies(to, destination, frame):
                        network.arrive(self._arrival(network), to, destination, frame)
            else:
                network.arrive(self._arrival(network), source, to, datagram)

    def _copies(self, source: Address, to: Address, datagram: bytes) -> range:
        arrives = self.random.random() >= self.loss and not self.lost(source, to, datagram)
        return range(arrives * (1 + (self.random.random() < self.repeat)))

    def _arrival(self, network: VirtualNetwork) -> float:
        return network.time + 1e-4 + self.random.random() * self.spread


class EnginePort:
    """The engine behind a real socket, losing frames on both legs."""

    def __init__(self, engine: Engine, port: Port, loss: float = 0, seed: int = 0) -> None:
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
