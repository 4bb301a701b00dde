"""Both ends of every way of a block from a worker's machine to the head's: a plain connection, ZeroMQ, Olaf's
passer, Ray and a store in between.
"""

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from olaf.experience import DataKey, Ring, Writer, layout
from olaf.experience.passers import Bound, direct
from olaf.experience.remote import Receiver, Sender
from olaf.experience.triggers import Transfer
from olaf.experience.writer import Arrays

from olaflab.papers.artos.link import LinkMachine
from olaflab.papers.artos.rays import RayBlocks
from olaflab.papers.artos.store import StoreClient

STEPS, SHAPE = 512, (84, 84, 4)
BYTES = STEPS * int(np.prod(SHAPE))
MOST = 16
"""Blocks at a time, one an actor (ARTOS §6.3)."""
SMALL = ("reward", "value")
STEP = layout({"reward": (), "value": (), "obs": (SHAPE, "|u1")}, joint=False)
"""Layout of a worker's ring and of the head's."""
PLAIN, ZEROMQ, OLAF, RAY, STORE, STORE_EACH = (
    "one connection", "ZeroMQ", "Olaf's passer", "Ray", "Redis, when all are there", "Redis, each at once",
)  # fmt: skip
WAYS = (PLAIN, ZEROMQ, OLAF, RAY, STORE, STORE_EACH)
_PLAIN_PORT, _ZEROMQ_PORT, _OLAF_PORT = 9001, 9002, 9003
_KEY = b"blocks"
_LOOK = 0.2
"""Seconds after which a sender looks whether it is to send again."""


def make_block() -> Any:
    """Make a block (512, 84, 84, 4) of noise, which cannot be compressed."""
    return np.random.default_rng(1).integers(0, 255, (STEPS, *SHAPE), np.uint8)


def make_rows(pixels: Any) -> Arrays:
    """Make a block with rewards and values."""
    small = np.zeros(STEPS, np.float32)
    return {"reward": small, "value": small, "obs": pixels}


class Senders:
    """The worker's ends, by way."""

    def __init__(self, head: LinkMachine, store: LinkMachine | None) -> None:
        import zmq

        self._block = make_block()
        self._connection = _connect_to(head.address)
        self._socket: Any = zmq.Context.instance().socket(zmq.PUSH)
        self._socket.connect(f"tcp://{head.address}:{_ZEROMQ_PORT}")
        self._store = None if store is None else StoreClient(store.address)
        self.cache = Ring(STEP, STEPS, MOST, full="refuse")
        self.writers = [Writer(self.cache, actor) for actor in range(MOST)]
        self._sender = Sender(self.cache, f"tcp://{head.address}:{_OLAF_PORT}", "worker")
        self.transfer = Transfer(self.cache, "send", (SMALL, ("obs",)), STEPS)
        self._bound = Bound({self.transfer: self._sender})
        self._by_way: dict[str, Callable[[int], None]] = {
            PLAIN: self._send_plain,
            ZEROMQ: self._send_zeromq,
            OLAF: self._send_olaf,
            STORE: self._send_to_store,
            STORE_EACH: self._send_to_store,
        }

    def send_blocks(self, way: str, count: int) -> float:
        """Send ``count`` blocks: when it began. What actors write while they play is there before."""
        if way == OLAF:
            for writer in self.writers[:count]:
                assert writer.write(make_rows(self._block))
        begin = time.perf_counter()
        self._by_way[way](count)
        return begin

    def _send_plain(self, count: int) -> None:
        for _ in range(count):
            self._connection.sendall(self._block)

    def _send_zeromq(self, count: int) -> None:
        for _ in range(count):
            self._socket.send(self._block, copy=False)

    def _send_olaf(self, count: int) -> None:
        self._bound.check()
        while self._sender.waiting:
            self._sender.pump(_LOOK)

    def _send_to_store(self, count: int) -> None:
        assert self._store is not None
        for _ in range(count):
            self._store.push_block(_KEY, self._block)


class Receivers:
    """The head's ends, by way; and its ring."""

    def __init__(self, head: LinkMachine, store: LinkMachine | None, ray: Path | None) -> None:
        """``store`` and ``ray``, the folder of a cluster, where there are any."""
        import zmq

        self._listener = socket.create_server((head.address, _PLAIN_PORT))
        self._connection: socket.socket | None = None
        self._socket: Any = zmq.Context.instance().socket(zmq.PULL)
        self._socket.bind(f"tcp://{head.address}:{_ZEROMQ_PORT}")
        self._into = np.zeros((MOST, STEPS, *SHAPE), np.uint8)
        self._store = None if store is None else StoreClient(store.address)
        self.ring = Ring(STEP, STEPS, 1, most=MOST, full="refuse")
        self.receiver = Receiver(self.ring, f"tcp://{head.address}:{_OLAF_PORT}")
        self._ray = None if ray is None else RayBlocks(head, ray, (STEPS, *SHAPE))

    def receive_blocks(self, way: str, count: int, *, each: bool) -> Iterator[float | None]:
        """Yield, as each of ``count`` blocks is in an array, when sending began, if the way knows.

        With ``each`` Ray gets each block as it comes, and not all at once.
        """
        if way == RAY:
            assert self._ray is not None
            return self._ray.get_each(count) if each else self._ray.get_all(count)
        ends: dict[str, Callable[[int], Iterator[None]]] = {
            PLAIN: self._receive_plain,
            ZEROMQ: self._receive_zeromq,
            OLAF: self._receive_olaf,
            STORE: self._receive_from_store,
            STORE_EACH: self._receive_from_store,
        }
        return ends[way](count)

    def _receive_plain(self, count: int) -> Iterator[None]:
        if self._connection is None:
            self._connection, _ = self._listener.accept()
        for place in self._into[:count]:
            view = memoryview(place).cast("B")
            while view:
                view = view[self._connection.recv_into(view) :]
            yield None

    def _receive_zeromq(self, count: int) -> Iterator[None]:
        for _ in range(count):
            assert len(np.frombuffer(self._socket.recv(copy=False).buffer, np.uint8)) == BYTES
            yield None

    def _receive_from_store(self, count: int) -> Iterator[None]:
        assert self._store is not None
        for place in self._into[:count]:
            self._store.pop_block(_KEY, place)
            yield None

    def _receive_olaf(self, count: int) -> Iterator[None]:
        there: queue.SimpleQueue[None] = queue.SimpleQueue()
        bound = Bound({DataKey(self.ring, "learn", 1, STEPS): direct(lambda firing: there.put(None))})
        for _ in range(count):
            while there.empty():
                self.receiver.receive(_LOOK)
                bound.check()
            yield there.get()


class StatedLearner:
    """A learner that takes stated seconds, as on a GPU elsewhere, and learns from what has come.

    In its first epoch it takes ``parts`` mini-batches, each as soon as its blocks are there; the epochs after
    that need all of them (ARTOS §4.4).
    """

    def __init__(self, count: int, seconds: float, epochs: int = 4, parts: int = 4) -> None:
        """``seconds`` of a block in all epochs."""
        self._count, self._epoch, self._epochs = count, count * seconds / epochs, epochs
        self._parts = min(parts, count)
        self._there = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._learn_blocks, daemon=True)
        self._thread.start()

    @property
    def whole_seconds(self) -> float:
        """Seconds of all that it does."""
        return self._epoch * self._epochs

    def add_block(self) -> None:
        """Add a block."""
        self._there.release()

    def wait_for_end(self) -> float:
        """Wait for its end: when it was."""
        self._thread.join()
        return time.perf_counter()

    def _learn_blocks(self) -> None:
        have = 0
        for part in range(1, self._parts + 1):
            while have < self._count * part // self._parts:
                self._there.acquire()
                have += 1
            time.sleep(self._epoch / self._parts)  # stated, as on a GPU elsewhere
        time.sleep(self._epoch * (self._epochs - 1))


def _connect_to(address: str) -> socket.socket:
    connection = socket.create_connection((address, _PLAIN_PORT), 20.0)
    connection.settimeout(None)
    return connection
