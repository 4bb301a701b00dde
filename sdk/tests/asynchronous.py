"""A stand-in for engines in iswitch-async mode: one, or a tree, in a virtual network that loses frames.

An index sums whatever comes until H updates are in, takes each contribution of a member once within a window
of 16, and numbers what leaves without gaps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Callable

import numpy as np

from olaf.serial import distance
from olaf.transport import wire
from olaf.transport.port import Address
from olaf.transport.segments import Vector, payload, values_of
from olaf.transport.virtual import VirtualNetwork

WINDOW = 16
Lost = Callable[[Address, Address, bytes], bool]


class Index:
    """One segment of one cluster at one engine."""

    def __init__(self, threshold: int, number: int = 0) -> None:
        self.threshold, self.number = threshold, number
        self.windows: dict[object, tuple[int, int]] = {}
        self.count = self.weights_version = 0
        self.total: Vector | None = None

    def contribute(
        self, member: object, header: wire.Olaf, values: Vector, seen: Counter[str]
    ) -> bytes | None:
        """The frame of the sum, if it is complete now."""
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


class Engine:
    """One engine's indices."""

    def __init__(self, threshold: int, segments: int, first: int = 0) -> None:
        self.threshold, self.segments, self.first = threshold, segments, first
        self.indices: list[Index] = []
        self.seen: Counter[str] = Counter()
        self.reset(first)

    def reset(self, first: int = 0) -> None:
        """Everything is lost; the first result will have the number after ``first``."""
        self.indices = [Index(self.threshold, first) for _ in range(self.segments)]

    def update(self, member: object, frame: bytes) -> bytes | None:
        header = wire.Olaf.unpack(frame)
        values = values_of(memoryview(frame)[wire.OLAF_BYTES :])
        return self.indices[header.segment].contribute(member, header, values, self.seen)


class Network:
    """Engines in one or two levels between members, with loss, repetition and reordering on every leg."""

    def __init__(
        self,
        server: Address,
        racks: Sequence[Sequence[Address]],
        h: int,
        segments: int = 1,
        loss: float = 0.0,
        repeat: float = 0.0,
        spread: float = 0.0,
        seed: int = 0,
        first: int = 0,
        lost: Lost = lambda source, to, datagram: False,
    ) -> None:
        """``racks``: members by engine; of several, an engine above sums what each of them has summed."""
        self.server, self.racks, self.segments = server, racks, segments
        self.loss, self.repeat, self.spread, self.lost = loss, repeat, spread, lost
        self.random = Random(seed)
        if len(racks) == 1:
            self.engines = [Engine(h, segments, first)]
        else:
            self.engines = [Engine(h // len(racks), segments, first) for _ in racks]
        self.root = Engine(h, segments, first)
        self.rack = {member: number for number, rack in enumerate(racks) for member in rack}
        self.way = 1e-4
        self.results: Counter[int] = Counter()

    def reset(self, first: int = 0) -> None:
        for engine in (*self.engines, self.root):
            engine.reset(first)

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        if to != self.server:
            self._leg(network, source, to, datagram, lambda: self._deliver(network, source, to, datagram))
        elif datagram[0] == wire.VERSION << 4 | wire.FrameType.UPDATE:
            self._leg(network, source, to, datagram, lambda: self._sum(network, source, datagram))

    def _sum(self, network: VirtualNetwork, source: Address, datagram: bytes) -> None:
        rack = self.rack[source]
        left = self.engines[rack].update(source, datagram)
        if left is None:
            return
        if len(self.racks) == 1:
            self._result(network, left)
        else:
            self._leg(network, self.server, self.server, left, lambda: self._above(network, rack, left))

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
                self._leg(network, self.server, self.server, result, down)

    def _down(self, network: VirtualNetwork, rack: Sequence[Address], result: bytes) -> None:
        for member in rack:
            deliver = partial(self._deliver, network, self.server, member, result)
            self._leg(network, self.server, member, result, deliver)

    def _deliver(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes) -> None:
        network.arrive(network.time, source, to, datagram)

    def _leg(
        self,
        network: VirtualNetwork,
        source: Address,
        to: Address,
        datagram: bytes,
        then: Callable[[], object],
    ) -> None:
        if self.random.random() < self.loss or self.lost(source, to, datagram):
            return
        for _ in range(1 + (self.random.random() < self.repeat)):
            network.at(network.time + self.way + self.random.random() * self.spread, then)


def gradient(seed: int, values: int) -> Vector:
    """One whose sums are exact in any order: small multiples of a power of two."""
    return np.random.default_rng(seed).integers(-64, 65, values).astype(np.float32) / np.float32(64)
