"""One publisher, players, and an engine that copies ACKs to all of them, in a virtual network with loss."""

from __future__ import annotations

import hashlib
from random import Random
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from olaf.transport import wire
from olaf.transport.port import Address
from olaf.transport.virtual import VirtualNetwork
from olaf.weights import Publisher, Subscriber

PUBLISHER: Address = ("10.0.0.254", wire.UDP_PORT)
STATUS = wire.OlafStatus(1, 2, 3, 0).pack()
Model = dict[str, npt.NDArray[Any]]


def player_address(number: int) -> Address:
    return f"10.0.{1 + number // 200}.{1 + number % 200}", wire.UDP_PORT


class Engine:
    """Copies ACKs to its members with a status; each leg loses, doubles and delays datagrams."""

    def __init__(self, loss: float = 0.0, repeat: float = 0.0, spread: float = 0.0, seed: int = 0) -> None:
        self.loss, self.repeat, self.spread, self.random = loss, repeat, spread, Random(seed)
        self.members: list[Address] = []
        self.down: set[Address] = set()
        """Nothing reaches or leaves these."""
        self.late: dict[Address, float] = {}
        """Share of frames that these addresses lose besides."""
        self.up = 0
        """Bytes that the publisher sent."""
        self.frames = 0
        self.seen: list[tuple[Address, Address, bytes]] | None = None
        """What was sent, where it is kept."""

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        if self.seen is not None:
            self.seen.append((source, to, datagram))
        if source == PUBLISHER:
            self.up += len(datagram)
            self.frames += 1
        if source == PUBLISHER and datagram[0] & 0xF == wire.FrameType.ACK:
            if to not in self.members:
                return
            copy = bytearray(datagram[: wire.OLAF_BYTES] + STATUS + datagram[wire.OLAF_BYTES :])
            copy[1] |= wire.Flag.STATUS
            for member in self.members:
                self._leg(network, source, member, bytes(copy))
        else:
            self._leg(network, source, to, datagram)

    def _leg(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes) -> None:
        if self.down & {source, to}:
            return
        for _ in range(1 + (self.random.random() < self.repeat)):
            if self.random.random() >= self.loss and self.random.random() >= self.late.get(to, 0.0):
                network.arrive(network.time + 1e-4 + self.random.random() * self.spread, source, to, datagram)


class Fan:
    """A publisher with its model, and players."""

    def __init__(
        self,
        players: int,
        values: int = 20_000,
        share: float = 0.014,
        seed: int = 0,
        mtu: int = 1500,
        **faults: Any,
    ) -> None:
        self.engine = Engine(seed=seed, **faults)
        self.network = VirtualNetwork(self.engine, epoch=1_790_000_000_000_000_000)
        self.random = np.random.default_rng(seed)
        self.mtu = mtu
        self.share, self.apart = share, 1
        """Share of elements that a step changes, of every ``apart``-th one."""
        self.model: Model = {
            "embed": self.random.integers(0, 2**16, values // 2, np.uint16).reshape(-1, 10),
            "head": self.random.integers(0, 2**16, values - values // 2, np.uint16),
        }
        self.digests: dict[int, str] = {}
        """SHA-256 of each version that was published."""
        self.publisher = self.publish_with()
        self.players: list[Subscriber] = []
        self.models: list[Model] = []
        for _ in range(players):
            self.join()

    def publish_with(self, **options: Any) -> Publisher:
        text = f"{player_address(0)[0]}:{wire.UDP_PORT}"
        return Publisher(text, self.model, port=self.network.port(PUBLISHER), **{"mtu": self.mtu, **options})

    def replace_publisher(self, **options: Any) -> None:
        self.publisher.close()
        self.publisher = self.publish_with(**options)

    def join(self, **options: Any) -> Subscriber:
        address = player_address(len(self.players))
        self.engine.members.append(address)
        model = {name: np.zeros_like(array) for name, array in self.model.items()}
        where = options.pop("publisher", f"{PUBLISHER[0]}:{PUBLISHER[1]}")
        self.players.append(Subscriber(where, model, port=self.network.port(address), **options))
        self.models.append(model)
        return self.players[-1]

    def step(self) -> None:
        """Move a share of the bits by one, as training does."""
        for array in self.model.values():
            flat = array.reshape(-1)
            where = np.flatnonzero(self.random.random(len(flat)) < self.share * self.apart)
            where = where[where % self.apart == 0]
            flat[where] += self.random.choice(np.array([1, 2**16 - 1], np.uint16), len(where))

    def publish(self) -> int:
        self.step()
        version = self.publisher.publish()
        self.digests[version] = sha(self.model)
        return version

    def run_fan(self, seconds: float, stop: Callable[[], bool] = lambda: False) -> bool:
        return self.network.run(self.network.time + seconds, stop)

    def settle(self, seconds: float = 60.0, players: list[int] | None = None) -> None:
        """Run until these players, or all, can adopt the newest version; they do, and have its bits."""
        chosen = range(len(self.players)) if players is None else players
        newest = self.publisher.version
        done = self.run_fan(seconds, lambda: all(self.players[n]._inbox.have == newest for n in chosen))
        assert done, [self.players[n]._inbox.have for n in chosen]
        for number in chosen:
            self.adopt(number)
            assert self.players[number].version == newest

    def deliver(self, seconds: float = 60.0, players: list[int] | None = None) -> None:
        """Publish the next version, and have these players, or all, adopt it."""
        self.publish()
        self.settle(seconds, players)

    def adopt(self, number: int) -> int | None:
        """Adopt as a player; what it plays then is what was published under that number."""
        version = self.players[number].adopt()
        if version is not None:
            assert sha(self.models[number]) == self.digests[version]
        return version


def sha(model: Model) -> str:
    digest = hashlib.sha256()
    for array in model.values():
        digest.update(array.tobytes())
    return digest.hexdigest()
