"""Networks between members in these tests: they lose, repeat and reorder."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from functools import partial
from random import Random
from typing import Callable

import numpy as np

from olaf.server import ParameterServer
from olaf.transport import wire
from olaf.transport.port import Address, Run
from olaf.transport.segments import Vector, payload
from olaf.transport.virtual import VirtualNetwork
from olaf.worker import Worker

SERVER: Address = ("10.0.0.254", wire.UDP_PORT)
DELAY = 1e-3


Lost = Callable[[Address, Address, bytes], bool]


def _none(source: Address, to: Address, datagram: bytes) -> bool:
    return False


def worker_address(number: int) -> Address:
    return (f"10.0.1.{number + 1}", 41000)


class Lossy:
    """Each datagram is lost, repeated, and delayed by up to ``spread`` seconds more, at random.

    ``lost`` chooses datagrams that are lost besides, by source and destination of a leg. Networks with an
    engine derive from it: all of their legs are like this.
    """

    way = DELAY
    """Seconds of a leg, at least."""

    def __init__(
        self, loss: float = 0.0, repeat: float = 0.0, spread: float = 0.0, seed: int = 0, lost: Lost = _none
    ) -> None:
        self.loss, self.repeat, self.spread, self.lost = loss, repeat, spread, lost
        self.random = Random(seed)

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        self.leg(network, source, to, datagram)

    def leg(
        self,
        network: VirtualNetwork,
        source: Address,
        to: Address,
        datagram: bytes,
        then: Callable[[], object] | None = None,
    ) -> None:
        """Carry a datagram over one leg; call ``then`` at each arrival, or deliver it."""
        for _ in self.copies(source, to, datagram):
            at = self.arrival(network)
            if then is None:
                network.arrive(at, source, to, datagram)
            else:
                network.at(at, then)

    def copies(self, source: Address, to: Address, datagram: bytes) -> range:
        arrives = self.random.random() >= self.loss and not self.lost(source, to, datagram)
        return range(arrives * (1 + (self.random.random() < self.repeat)))

    def arrival(self, network: VirtualNetwork) -> float:
        return network.time + self.way + self.random.random() * self.spread


class Tap:
    """A medium that shows, and may change, every frame on its way."""

    def __init__(self, change: Callable[[Address, Address, bytes], Iterable[bytes]]) -> None:
        self._change = change

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        for changed in self._change(source, to, datagram):
            network.arrive(network.time + DELAY, source, to, changed)


def every(network: VirtualNetwork, seconds: float, times: int, event: Callable[[int], object]) -> None:
    """Call ``event(k)`` at k × seconds from now, for k = 1 … times."""
    for number in range(1, times + 1):
        network.at(network.time + number * seconds, partial(event, number))


def of(datagram: bytes) -> Run:
    """Make a run of one datagram."""
    return Run(memoryview(datagram))


def acknowledge(worker: Worker, version: int, weights: Vector) -> None:
    """Give a worker an ACK for the only segment, as when an engine copies it to the whole cluster."""
    header = wire.Olaf(wire.VERSION, wire.FrameType.ACK, 0, 0, 1, 0, 0.0, 0, 0, version)
    worker.receive(of(header.pack() + bytes(payload(weights))), SERVER)


def weights_of(server: ParameterServer, cluster: str = "default") -> Vector:
    """Return the server's weights, which it must have."""
    weights = server.weights(cluster)
    assert weights is not None
    return weights


def vector(values: int, seed: int = 0) -> Vector:
    return np.random.default_rng(seed).standard_normal(values).astype(np.float32)


def free_tcp_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def free_udp_ports(count: int) -> list[int]:
    held = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def gradient(seed: int, values: int) -> Vector:
    """Make a gradient whose sums are exact in any order: small multiples of a power of two."""
    return np.random.default_rng(seed).integers(-64, 65, values).astype(np.float32) / np.float32(64)
