"""Each version by several ways, in turn, to players on this machine: bytes, processor time, seconds."""

import multiprocessing
import socket
import struct
import time
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import olaf
from olaf.transport.port import Address

from olaflab.papers.summary import Estimate, estimate_mean
from olaflab.weights.codecs import import_zstd
from olaflab.weights.plan import Bits, Plan, Task
from olafswitch.errors import OlafError, Problem

TCP, INDEX, XOR, OLAF, GLOO, RAY = (
    "full, TCP", "index and value, TCP", "XOR and zstd-1, TCP", "deltas, Olaf", "full, gloo", "full, Ray",
)  # fmt: skip
_ENDED = "ended"
_HEAD = struct.Struct("<20sQ")
_LONGEST = 60.0


@dataclass(frozen=True)
class WayCost:
    """Holds what a version costs by one way."""

    way: str
    megabytes: Estimate
    """That the trainer hands over, for all players together."""
    processor: Estimate
    """ms of the trainer's process."""
    milliseconds: Estimate
    """Until every player has it."""


def measure_ways(plan: Plan, progress: Callable[[str], None]) -> list[WayCost]:
    """Measure every version by every way that is installed. Raises OlafError where a player's bits are
    others."""
    task = Task(plan)
    with ExitStack() as stack:
        trainer = _Trainer(plan, task, stack)
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in trainer.ways}
        for version in range(plan.versions):
            old = task.model["w"].copy() if version else np.zeros_like(task.model["w"])
            if version:
                task.step()
            progress(f"version {version + 1}")
            names = list(rows)[version % len(rows) :] + list(rows)[: version % len(rows)]
            for name in names:
                worked, began = time.process_time(), time.perf_counter()
                sent = trainer.ways[name](old, task.model["w"])
                took = time.perf_counter() - began, time.process_time() - worked
                rows[name].append((sent / 1e6, took[1] * 1e3, took[0] * 1e3))
        trainer.tell(_ENDED, _sum(task.model["w"]))
    # The first version is the whole, whatever the way.
    return [
        WayCost(name, *(estimate_mean(part) for part in np.array(row[1:]).T)) for name, row in rows.items()
    ]


class _Trainer:
    """One end of every way; ``ways`` send a version, of which the one before is known, until all have it."""

    def __init__(self, plan: Plan, task: Task, stack: ExitStack) -> None:
        self._task = task
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._publisher = stack.enter_context(
            olaf.Publisher("127.0.0.1", task.model, multicast=False, rate=plan.rate, mtu=1500)
        )
        store = str(Path(stack.enter_context(TemporaryDirectory())) / "gloo")
        context = multiprocessing.get_context("spawn")
        for number in range(plan.players):
            arguments = plan, number, listener.getsockname(), self._publisher.address, store
            process = context.Process(target=_play, args=arguments, daemon=True)
            process.start()
            stack.callback(process.join)
        self._links = [stack.enter_context(listener.accept()[0]) for _ in range(plan.players)]
        self.ways: dict[str, Callable[[Bits, Bits], int]] = {
            TCP: self._full,
            INDEX: self._index,
            OLAF: self._deltas,
        }
        if import_zstd() is not None:
            self.ways[XOR] = self._xor
        if find_spec("torch"):
            _join_gloo(plan, 0, store)
            self.ways[GLOO] = self._broadcast
        if find_spec("ray"):
            self.ways[RAY] = _by_ray(plan, stack)

    def tell(self, way: str, payload: bytes) -> int:
        """Tell every player one by one; return when all have installed the version."""
        for link in self._links:
            link.sendall(_HEAD.pack(way.encode(), len(payload)) + payload)  # two would wait for an ACK
        if way == GLOO:
            _broadcast(self._task.model["w"])
        if any(link.recv(1) != b"\1" for link in self._links):
            raise OlafError(Problem("a player has other bits than were sent", way))
        return len(self._links) * len(payload)

    def _full(self, old: Bits, new: Bits) -> int:
        return self.tell(TCP, new.tobytes())

    def _index(self, old: Bits, new: Bits) -> int:
        where = np.flatnonzero(old != new)
        return self.tell(INDEX, where.astype("<u4").tobytes() + new[where].tobytes())

    def _xor(self, old: Bits, new: Bits) -> int:
        return self.tell(XOR, import_zstd().ZstdCompressor(1).compress(old ^ new))

    def _deltas(self, old: Bits, new: Bits) -> int:
        before = self._publisher.sent.bytes
        self.tell(OLAF, self._publisher.publish().to_bytes(4, "little"))
        return self._publisher.sent.bytes - before

    def _broadcast(self, old: Bits, new: Bits) -> int:
        self.tell(GLOO, b"")
        return new.nbytes


def _sum(bits: Bits) -> bytes:
    return zlib.crc32(bits.tobytes()).to_bytes(4, "little")


def _join_gloo(plan: Plan, rank: int, store: str) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=plan.players + 1)


def _broadcast(bits: Bits) -> None:
    import torch
    import torch.distributed as dist

    dist.broadcast(torch.from_numpy(bits.view(np.int16)).view(torch.uint8), 0)


def _by_ray(plan: Plan, stack: ExitStack) -> Callable[[Bits, Bits], int]:
    """Send by Ray: players are actors, and the trainer puts a version into its object store."""
    import ray

    class Player:
        def __init__(self) -> None:
            self.bits = np.zeros(plan.values, np.uint16)

        def install(self, bits: Bits) -> None:
            self.bits[:] = bits

    try:
        ray.init(num_cpus=plan.players, include_dashboard=False, log_to_driver=False)
    except Exception as error:  # Ray raises no narrower one where a node does not start in time
        what = "Ray's node does not start in time"
        raise OlafError(Problem(what, RAY, "try when the machine is less busy")) from error
    stack.callback(ray.shutdown)
    actors = [ray.remote(Player).remote() for _ in range(plan.players)]

    def put(old: Bits, new: Bits) -> int:
        stored = ray.put(new)
        ray.get([actor.install.remote(stored) for actor in actors])
        return new.nbytes

    return put


def _play(plan: Plan, number: int, server: Address, publisher: str, store: str) -> None:
    """Run a player's process, with bits of its own for every way."""
    states = {name: np.zeros(plan.values, np.uint16) for name in (TCP, INDEX, XOR, OLAF, GLOO)}
    with (
        socket.create_connection(server) as link,
        olaf.Subscriber(publisher, {"w": states[OLAF]}) as player,
        link.makefile("rb") as stream,
    ):
        if find_spec("torch"):
            _join_gloo(plan, number + 1, store)
        while True:
            name, length = _HEAD.unpack(stream.read(_HEAD.size))
            way, payload = name.rstrip(b"\0").decode(), stream.read(length)
            if way == _ENDED:
                used = [bits for bits in states.values() if bits.any()]
                link.sendall(bytes([all(_sum(bits) == payload for bits in used)]))
                return
            bits = states[way]
            if way == TCP:
                bits[:] = np.frombuffer(payload, "<u2")
            elif way == INDEX:
                count = length // 6
                bits[np.frombuffer(payload, "<u4", count)] = np.frombuffer(payload, "<u2", count, 4 * count)
            elif way == XOR:
                bits ^= np.frombuffer(import_zstd().ZstdDecompressor().decompress(payload), "<u2")
            elif way == GLOO:
                _broadcast(bits)
            elif player.await_version(int.from_bytes(payload, "little"), _LONGEST):
                player.adopt()
            link.sendall(b"\1")
