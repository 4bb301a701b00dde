"""A block from one process to another on this machine: the ring, ZeroMQ, a pipe, and a plain copy."""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from olaf.experience import Bell, DataKey, Ring, Writer, layout

STEPS, SHAPE = 512, (84, 84, 4)
BYTES = STEPS * int(np.prod(SHAPE))
"""14.45 MB: a block of stacked frames (ARTOS §6)."""
_PLACES = 2
"""Blocks that a way has room for, so that one can be written while the other is learnt from."""

Block = npt.NDArray[np.uint8]
Receive = Callable[[], None]
Send = Callable[[Block], None]


@dataclass(frozen=True)
class Moved:
    """A block's way."""

    way: str
    wall: float
    """Seconds from the call that sends it until it is in an array of the other process; the median."""
    cpu: float
    """Seconds of both processes; the median."""


WAYS = (
    "copy", "copy, shared", "ring, in place", "ring, gathered", "ZeroMQ, objects", "ZeroMQ, copied",
    "ZeroMQ, zero-copy", "pipe",
)  # fmt: skip
"""``copy`` is one within a process, into two places in turn, as the ring has them,
in huge pages where the kernel gives any; shared, into memory such as a ring's. Of the ring a learner
reads rows in place or gathers them. ZeroMQ over ipc: ``send_pyobj`` and ``recv_pyobj``; ``send(array)`` and
``recv()`` into an array; and with copy=False on both sides, the array upon the message's own memory."""


def measure_ways(repeats: int) -> Iterator[Moved]:
    """Measure all ways in turn, on the same machine."""
    with tempfile.TemporaryDirectory() as folder:
        name, address = f"transfer-{os.getpid()}", f"ipc://{Path(folder) / 'block'}"
        ring, spare = (
            Ring(layout({"obs": (SHAPE, "|u1")}, joint=False), _PLACES * STEPS, 1, name=each, full="refuse")
            for each in (name, f"{name}-spare")
        )
        spare.populate(0)
        ours, theirs = multiprocessing.get_context("forkserver").Pipe()
        sender = multiprocessing.get_context("forkserver").Process(
            target=_serve_sender, args=(theirs, name, address), daemon=True
        )
        sender.start()
        try:
            times = _measure_times(ring, spare, ours, address, repeats)
        finally:
            sender.terminate()
            sender.join()
            ring.unlink()
            spare.unlink()
    for way, pairs in times.items():
        wall, cpu = np.median(np.array(pairs), axis=0)
        yield Moved(way, float(wall), float(cpu))


def _measure_times(
    ring: Ring, spare: Ring, pipe: Connection, address: str, repeats: int
) -> dict[str, list[tuple[float, float]]]:
    import zmq

    bell, learn = Bell(ring, "learner"), DataKey(ring, "learn", 1, STEPS)
    context: Any = zmq.Context()
    socket = context.socket(zmq.PULL)
    socket.bind(address)
    into, places = (
        np.empty((STEPS, *SHAPE), np.uint8),
        [np.zeros((STEPS, *SHAPE), np.uint8) for _ in range(_PLACES)],
    )
    gathered = ring.buffers(STEPS)
    source = _make_block()
    copies = {"copy": places, "copy, shared": np.split(spare.column("obs"), _PLACES)}

    def in_place() -> None:
        bell.wait()
        assert learn.check()
        firing = learn.take()
        assert firing is not None
        ((actor, start, stop),) = firing.ranges
        (part,) = ring.views(actor, start, stop)
        assert len(part["obs"]) == STEPS
        learn.done(firing)

    def gather() -> None:
        bell.wait()
        assert learn.check()
        firing = learn.take()
        assert firing is not None
        assert ring.gather(*firing.places(), gathered).intact.all()
        learn.done(firing)

    def objects() -> None:
        assert len(socket.recv_pyobj()) == STEPS

    def copied() -> None:
        into[:] = np.frombuffer(socket.recv(), np.uint8).reshape(into.shape)

    def uncopied() -> None:
        assert len(np.frombuffer(socket.recv(copy=False).buffer, np.uint8)) == BYTES

    def through_pipe() -> None:
        into[:] = np.frombuffer(pipe.recv_bytes(), np.uint8).reshape(into.shape)

    receivers: dict[str, Receive] = dict(
        zip(WAYS[2:], (in_place, gather, objects, copied, uncopied, through_pipe), strict=True)
    )
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for repeat in range(repeats + 2):
        for way in WAYS:
            if way in copies:
                begin, cpu = time.perf_counter(), time.process_time()
                copies[way][repeat % _PLACES][:] = source
                found = time.perf_counter() - begin, time.process_time() - cpu
            else:
                pipe.send(way)
                cpu = time.process_time()
                receivers[way]()
                end, spent = time.perf_counter(), time.process_time() - cpu
                pipe.send("it is here")
                begin, other = pipe.recv()
                found = end - begin, spent + other
            if repeat >= 2:  # memory is there then
                times[way].append(found)
    socket.close()
    context.term()
    return times


def _make_block() -> Block:
    return np.random.default_rng(1).integers(0, 255, (STEPS, *SHAPE), np.uint8)


def _serve_sender(pipe: Connection, name: str, address: str) -> None:
    """The other process: it receives a way, sends a block, and reports when it began and what it spent."""
    import zmq

    ring = Ring.open(name)
    writer, bell = Writer(ring, 0), Bell(ring, "learner")
    context: Any = zmq.Context()
    socket = context.socket(zmq.PUSH)
    socket.connect(address)
    block = _make_block()

    def write(block: Block) -> None:
        assert writer.write({"obs": block})
        bell()

    senders: dict[str, Send] = {
        "ring, in place": write,
        "ring, gathered": write,
        "ZeroMQ, objects": socket.send_pyobj,
        "ZeroMQ, copied": lambda block: socket.send(block),
        "ZeroMQ, zero-copy": lambda block: socket.send(block, copy=False),
        "pipe": lambda block: pipe.send_bytes(block.reshape(-1).data),
    }
    while True:
        way = pipe.recv()
        begin, cpu = time.perf_counter(), time.process_time()
        senders[way](block)
        pipe.recv()  # it has arrived: threads that send have worked, too
        pipe.send((begin, time.process_time() - cpu))
