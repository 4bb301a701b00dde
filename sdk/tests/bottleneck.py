"""A queue in simulated time that combines waiting updates (OLAF, algorithm 1) in front of a slow link."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from olaf.transport import wire
from olaf.transport.port import Address
from olaf.transport.segments import Vector, payload, values_of
from olaf.transport.virtual import VirtualNetwork
from tests.network import DELAY


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
