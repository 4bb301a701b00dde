"""Throughput and latency of the box, counted in cycles of its 250 MHz clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from olafctl.queue.registers import CLOCK_HZ
from olafctl.targets.opennic.box_registers import Copy
from olafctl.targets.opennic_sim.box import build_rtl
from olafctl.wire import layouts
from olafctl.wire.frames import Datagram
from olafctl.wire.layouts import FrameKind
from olafswitch.simulation.bench import BEAT, Bench, Received, Signals, Sink, Source
from olaftest.opennic import random_frames

WARM_UP = 10
"""Frames that leave before counting begins."""
OUT_PORT = 2
_UDP = layouts.ETHERNET.size + layouts.IPV4.size + layouts.UDP.size
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
    """Cycles from a frame's first beat in to its first beat out, in all and by stage, and to its last."""

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


def measure_throughput(
    size: int, kind: FrameKind, inputs: Sequence[int] = (0,), frames: int = 60
) -> Throughput:
    """Send frames of ``size`` bytes without a pause into each of ``inputs``, out by one port.

    Updates are not combined (mode FIFO), so that all that goes in comes out.
    """
    box = random_frames.open_programmed_box()
    try:
        frame = random_frames.an_update(size) if kind is FrameKind.UPDATE else _plain_frame(size)
        for source in inputs:
            for _ in range(frames):
                box.rx[source].send(frame)
        box.settle()
        left = box.tx[OUT_PORT - 1].frames()
    finally:
        box.close()
    return _count_throughput(left[WARM_UP:])


def measure_replication(size: int, members: int, frames: int = 4) -> Throughput:
    """Send ACKs of ``size`` bytes to a group of so many members, all of them behind one port."""
    box = random_frames.open_programmed_box()
    try:
        copies = [Copy(OUT_PORT, number + 1, number, number) for number in range(members)]
        box.registers.set_group(random_frames.CLUSTER_GROUP, copies)
        for _ in range(frames):
            box.rx[0].send(random_frames.an_ack(size - layouts.STATUS.size))
        box.settle()
        left = box.tx[OUT_PORT - 1].frames()
    finally:
        box.close()
    return _count_throughput(left)


def measure_latency(size: int) -> Latency:
    """Send one update of ``size`` bytes through an empty box, and return the share of each stage."""
    box = random_frames.open_programmed_box()
    frame = random_frames.an_update(size)
    try:
        box.rx[0].send(frame)
        came = _first_beat(box.bench, box.rx[0])
        box.settle()
        (left,) = box.tx[OUT_PORT - 1].frames()
        total, gone = left.first - came, left.last - came
    finally:
        box.close()
    known = {
        "measure": _cycles_through("olaf_box_measure", frame, {"HOLD": HOLD}),
        "arbiter": _cycles_through("olaf_box_arbiter", frame, {"INPUTS": 1}),
        "replicator": _cycles_through("olaf_box_replicator", frame, {}),
        "port": _cycles_through("olaf_box_tx", frame, {}),
    }
    return Latency(total, {**known, "VNP4₁, OlafQueue, VNP4₂": total - sum(known.values())}, gone)


def _plain_frame(size: int) -> bytes:
    """Make a frame that is no update, to the server's port."""
    return Datagram(random_frames.STRANGER, random_frames.SERVER, bytes(size - _UDP)).encode()


def _count_throughput(left: Sequence[Received]) -> Throughput:
    beats = sum((len(frame.data) + BEAT - 1) // BEAT for frame in left)
    return Throughput(beats, left[-1].last - left[0].first + 1)


def _first_beat(bench: Bench, source: Source) -> int:
    """Run until the first beat is taken: the cycle in which it was."""
    while not source.beats:
        bench.run_cycles(1)
    return bench.cycles() - 1


def _cycles_through(top: str, frame: bytes, parameters: Mapping[str, int]) -> int:
    """Count the cycles from a frame's first beat in to its first beat out of one module."""
    bench = Bench(build_rtl(top, parameters), {"clk": 4000})
    try:
        bench["rst"] = 1
        bench.run_cycles(10)
        bench["rst"] = 0
        source, sink, user = _connect_ends(bench, top)
        source.send(frame, user(len(frame)))
        came = _first_beat(bench, source)
        bench.run_cycles(2 * len(frame))
        return sink.frames()[0].first - came
    finally:
        bench.close()


def _connect_ends(bench: Bench, top: str) -> tuple[Source, Sink, Callable[[int], Sequence[int]]]:
    sink = bench.sink(Signals.axis("m"))
    if top == "olaf_box_tx":
        return bench.source(Signals.axis("s", [("s_size", 16)])), sink, lambda size: (size,)
    if top == "olaf_box_replicator":
        bench["port_numbers"] = OUT_PORT
        user = [("s_dst", 16), ("s_declared", 16)]
        return bench.source(Signals.axis("s", user)), sink, lambda size: (OUT_PORT, size)
    return bench.source(Signals.axis("s")), sink, lambda size: ()
