"""Throughput and latency of the box, counted in cycles of its 250 MHz clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

import numpy as np

from olafctl.queue.registers import CLOCK_HZ
from olafctl.targets.opennic.box_registers import Copy
from olafctl.wire import layouts
from olafctl.wire.frames import Endpoint
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import FrameType, Kind
from olafctl.wire.modes import Mode
from olaflab.frames import OlafFrame
from olaflab.opennic import random_frames
from olaflab.opennic.box import Box, Outcome
from olaflab.opennic.verilate import build
from olafswitch.simulation.bench import BEAT, Bench, Received, Signals, Sink, Source

WARM_UP = 10
"""Frames that leave before counting begins."""
OUT_PORT = 2
GROUP = 1
HOLD = 24
"""The box's IN_HOLD: beats of an update that are stored on the way in before it goes on."""


@dataclass(frozen=True)
class Throughput:
    """Beats that left in so many cycles, after a warm-up."""

    beats: int
    cycles: int

    @property
    def beats_per_cycle(self) -> float:
        return self.beats / self.cycles

    @property
    def bits_per_second(self) -> float:
        """With every beat full."""
        return self.beats_per_cycle * BEAT * 8 * CLOCK_HZ


@dataclass(frozen=True)
class Latency:
    """Cycles from a frame's first beat in to its first beat out, in all and of each stage, and to its last.

    ``ips`` are two stand-ins of the cycles given; the real ones are known when they are generated.
    """

    total: int
    stages: Mapping[str, int]
    gone: int
    """From the first beat in to the last beat out."""

    @property
    def first_ns(self) -> float:
        """To the first beat out."""
        return self.total * 1e9 / CLOCK_HZ

    @property
    def last_ns(self) -> float:
        """To the last beat out."""
        return self.gone * 1e9 / CLOCK_HZ


def throughput(
    queue: Geometry, size: int, kind: Kind, inputs: Sequence[int] = (0,), frames: int = 60
) -> Throughput:
    """Frames of ``size`` bytes without a pause into each of ``inputs``, out by one port.

    Updates are not combined (mode FIFO), so that all that goes in comes out.
    """
    box = Box(queue, _programs(kind))
    try:
        box.queue.write("mode", Mode.FIFO.number)
        frame = _frame(size)
        for source in inputs:
            for _ in range(frames):
                box.rx[source].send(frame)
        box.settle()
        left = box.tx[OUT_PORT - 1].frames()
    finally:
        box.close()
    return _counted(left[WARM_UP:])


def replication(queue: Geometry, size: int, members: int, frames: int = 4) -> Throughput:
    """ACKs of ``size`` bytes to a group of so many members, all of them behind one port."""
    box = Box(queue, _programs(Kind.ACK, group=GROUP))
    try:
        copies = [Copy(OUT_PORT, number + 1, number, number) for number in range(members)]
        box.registers.set_group(GROUP, copies)
        for _ in range(frames):
            box.rx[0].send(_frame(size))
        box.settle()
        left = box.tx[OUT_PORT - 1].frames()
    finally:
        box.close()
    return _counted(left)


def latency(queue: Geometry, size: int, ip_latency: int = 40) -> Latency:
    """One update of ``size`` bytes through an empty box, and the share of each stage."""
    box = Box(queue, _programs(Kind.UPDATE), latency=ip_latency)
    try:
        box.rx[0].send(_frame(size))
        came = _first_beat(box.bench, box.rx[0])
        box.settle()
        (left,) = box.tx[OUT_PORT - 1].frames()
        total, gone = left.first - came, left.last - came
    finally:
        box.close()
    known = {
        "measure": _through("olaf_box_measure", size, {"HOLD": HOLD}),
        "arbiter": _through("olaf_box_arbiter", size, {"INPUTS": 1}),
        "ips": 2 * ip_latency,
        "replicator": _through("olaf_box_replicator", size, {}),
        "port": _through("olaf_box_tx", size, {}),
    }
    return Latency(total, {**known, "queue and the rest": total - sum(known.values())}, gone)


def rtl_latency(size: int) -> Latency:
    """One update of ``size`` bytes through an empty box whose programs are Verilog."""
    box = random_frames.rtl_box(seed=1)
    try:
        box.rx[0].send(random_frames.an_update(size))
        came = _first_beat(box.bench, box.rx[0])
        box.settle()
        (left,) = box.tx[OUT_PORT - 1].frames()
    finally:
        box.close()
    return Latency(left.first - came, {}, left.last - came)


def _programs(kind: Kind, group: int = 0) -> dict[int, "_Fixed"]:
    return {
        1: _Fixed({"kind": int(kind), "cluster": 0, "worker": 1}),
        2: _Fixed({"group": group} if group else {"dst": OUT_PORT}),
    }


@dataclass(frozen=True)
class _Fixed:
    """A program with the same verdict for every frame."""

    metadata: Mapping[str, int]

    def __call__(self, metadata: Mapping[str, int], head: bytes) -> Outcome:
        return Outcome(head, self.metadata)


def _frame(size: int) -> bytes:
    """An update of ``size`` bytes; smaller than its headers, just bytes."""
    values, rest = divmod(size - layouts.GRADIENT_OFFSET, 4)
    if values < 0 or rest:
        return bytes(size)
    worker = Endpoint("02:00:00:00:00:01", IPv4Address("10.0.0.1"), 40001)
    server = Endpoint("02:00:00:00:00:fe", IPv4Address("10.0.0.254"), layouts.UDP_PORT)
    gradient = np.ones(values, dtype=np.float32)
    return OlafFrame(worker, server, FrameType.UPDATE, 0, 1, 7, 1.25, 1_000, gradient).encode()


def _counted(left: Sequence[Received]) -> Throughput:
    beats = sum((len(frame.data) + BEAT - 1) // BEAT for frame in left)
    return Throughput(beats, left[-1].last - left[0].first + 1)


def _first_beat(bench: Bench, source: Source) -> int:
    """Run until the first beat is taken: the cycle in which it was."""
    while not source.beats:
        bench.run(1)
    return bench.cycles() - 1


def _through(top: str, size: int, parameters: Mapping[str, int]) -> int:
    """Cycles from a frame's first beat in to its first beat out of one module."""
    bench = Bench(build(top, parameters), {"clk": 4000})
    try:
        bench["rst"] = 1
        bench.run(10)
        bench["rst"] = 0
        source, sink, user = _ends(bench, top)
        source.send(_frame(size), user(size))
        came = _first_beat(bench, source)
        bench.run(2 * size)
        return sink.frames()[0].first - came
    finally:
        bench.close()


def _ends(bench: Bench, top: str) -> tuple[Source, Sink, Callable[[int], Sequence[int]]]:
    sink = bench.sink(Signals.axis("m"))
    if top == "olaf_box_tx":
        return bench.source(Signals.axis("s", [("s_size", 16)])), sink, lambda size: (size,)
    if top == "olaf_box_replicator":
        bench["port_numbers"] = OUT_PORT
        user = [("s_dst", 16), ("s_declared", 16)]
        return bench.source(Signals.axis("s", user)), sink, lambda size: (OUT_PORT, size)
    return bench.source(Signals.axis("s")), sink, lambda size: ()
