"""How long one gradient of several workers takes to be aggregated, in virtual time: by iSwitch's rounds in
the real queue, by a ring all-reduce, and by a parameter server, over the same links (iSwitch §6.1, §6.3).

Every worker has a full-duplex link to the switch of its rack, every rack one to the root. A switch forwards a
frame when it has arrived whole. Only the network takes time: sums, updates and hosts' software do not, so the
figures are what links and queue alone allow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np

from olafctl.errors import OlafError, Problem
from olafctl.queue.registers import IndexSettings
from olafctl.wire.frames import Endpoint
from olafctl.wire.geometry import Geometry, segment_values
from olafctl.wire.layouts import GRADIENT_OFFSET, FrameType, Kind
from olafctl.wire.modes import Mode
from olaflab.frames import OlafFrame
from olaflab.queue.links import Link
from olaflab.queue.model import CYCLE_NS, QueueModel, Sidecar

GEOMETRY = Geometry(indices=1024, slots=64, beats=140)
QUOTA = 48
RATE = 10e9
DELAY = 500.0
"""ns of a link, its two ends included."""
_SEGMENT = slice(60, 62)
_SETTLED = 1_000_000


@dataclass(frozen=True)
class Workload:
    """One of the paper's benchmarks, and what it measured for four workers (iSwitch tables 1, 3, 4 and 5)."""

    name: str
    size: int
    """Bytes of a gradient."""
    speedup: tuple[float, float]
    """All-reduce and iSwitch over the parameter server, end to end."""
    iterations: float
    hours: tuple[float, float, float]
    """Parameter server, all-reduce, iSwitch."""
    asynchronous: tuple[float, float]
    """ms per iteration of asynchronous training: parameter server, iSwitch."""

    @property
    def iteration(self) -> tuple[float, float, float]:
        """ms per iteration: parameter server, all-reduce, iSwitch."""
        server, reduce, switch = (hours * 3_600_000 / self.iterations for hours in self.hours)
        return server, reduce, switch


WORKLOADS = (
    Workload("DQN", 6_410_000, (1.97, 3.66), 1.40e6, (31.72, 16.08, 8.66), (24.88, 12.07)),
    Workload("A2C", 3_310_000, (1.62, 2.55), 2.00e5, (2.87, 1.78, 1.12), (13.13, 12.53)),
    Workload("PPO", 40_020, (0.91, 1.72), 8.00e4, (0.39, 0.42, 0.22), (3.40, 7.99)),
    Workload("DDPG", 157_520, (0.90, 1.83), 7.50e5, (8.07, 9.01, 4.40), (11.58, 14.89)),
)


@dataclass(frozen=True)
class Times:
    """ns until the last worker has the whole result."""

    workers: int
    server: float
    reduce: float
    switch: float


def racks_of(workers: int, each: int) -> tuple[int, ...]:
    """Workers in each rack, ``each`` of them in all but the last."""
    return tuple(min(each, workers - first) for first in range(0, workers, each))


def frame_sizes(size: int) -> list[int]:
    """Bytes of the frames of a gradient of ``size`` bytes."""
    each = 4 * segment_values(GEOMETRY.beats)
    whole, rest = divmod(-(-size // 4) * 4, each)
    return [GRADIENT_OFFSET + each] * whole + ([GRADIENT_OFFSET + rest] if rest else [])


def times(library: Path, size: int, racks: Sequence[int]) -> Times:
    """All three ways, for a gradient of ``size`` bytes of the workers in ``racks``.

    Raises OlafError when a result is not the exact sum, or does not come.
    """
    return Times(sum(racks), server(size, racks), reduce(size, racks), rounds(library, size, racks))


def server(size: int, racks: Sequence[int]) -> float:
    """Every worker sends its gradient to a server at the root (in the only rack, when there is one), and gets
    the weights when all have come."""
    sizes = frame_sizes(size)
    up = _uploads(sizes, racks)
    if len(racks) > 1:
        up = [_through(_link(), frames) for frames in up]
    inbound = _link()
    complete = _through(inbound, sorted(frame for frames in up for frame in frames))[-1][0]
    outbound, last = _link(), 0.0
    trunks = [_link() for _ in racks]
    downs = [[_link() for _ in range(workers)] for workers in racks]
    for frame in sizes:
        for trunk, members in zip(trunks, downs, strict=True):
            for member in members:
                arrived = outbound.carry(complete, frame)
                if len(racks) > 1:
                    arrived = trunk.carry(arrived, frame)
                last = max(last, member.carry(arrived, frame))
    return last


def reduce(size: int, racks: Sequence[int]) -> float:
    """A ring: 2·(N - 1) steps, in each of which every worker sends the N-th part of the gradient to the next
    one, when it has the part of the step before."""
    workers = sum(racks)
    sizes = frame_sizes(-(-size // workers))
    # A ring over racks crosses to the next rack and back by the root: four links instead of two.
    links = 2 if len(racks) == 1 else 4
    chain = [_link() for _ in range(links)]
    ready = 0.0
    for _ in range(2 * (workers - 1)):
        frames = [(ready, frame) for frame in sizes]
        for link in chain:
            frames = _through(link, frames)
        ready = frames[-1][0]
    return ready


def rounds(library: Path, size: int, racks: Sequence[int]) -> float:
    """One round of every segment through the queue of each rack's engine, and of the root's when there are
    several."""
    sizes = frame_sizes(size)
    uploads = _uploads(sizes, racks)
    results = []
    first = 0
    for workers, frames in zip(racks, uploads, strict=True):
        results.append(_round(library, _contributions(first, workers, sizes), frames, workers))
        first += workers
    if len(racks) == 1:
        complete = results[0]
    else:
        trunks = [_through(_link(), [(time, len(frame)) for time, frame in result]) for result in results]
        arriving = sorted(
            (time, rack, frame)
            for rack, (times_, result) in enumerate(zip(trunks, results, strict=True))
            for (time, _), (_, frame) in zip(times_, result, strict=True)
        )
        complete = _offer(library, arriving, sum(racks))
    _check(complete, sum(racks), len(sizes))
    last = 0.0
    for workers in racks:
        trunk, members = _link(), [_link() for _ in range(workers)]
        for time, frame in complete:
            arrived = time if len(racks) == 1 else trunk.carry(time, len(frame))
            last = max(last, *(member.carry(arrived, len(frame)) for member in members))
    return last


def _uploads(sizes: Sequence[int], racks: Sequence[int]) -> list[list[tuple[float, int]]]:
    """(arrival, size) at each rack's switch, of all its workers' frames, which all begin at 0."""
    return [
        sorted(frame for _ in range(workers) for frame in _through(_link(), [(0.0, size) for size in sizes]))
        for workers in racks
    ]


def _through(link: Link, frames: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    return [(link.carry(ready, size), size) for ready, size in frames]


def _link() -> Link:
    return Link(RATE, DELAY)


def _contributions(first: int, workers: int, sizes: Sequence[int]) -> list[list[bytes]]:
    """Each worker's frames; the values of worker w are w + 1."""
    engine = Endpoint("02:00:00:00:00:fe", IPv4Address("10.0.0.254"), 20300)
    found = []
    for number in range(first, first + workers):
        source = Endpoint(f"02:00:00:00:01:{number:02x}", IPv4Address(f"10.0.1.{number + 1}"), 20300)
        frames = {}
        for size in set(sizes):
            values = np.full((size - GRADIENT_OFFSET) // 4, number + 1, np.float32)
            frame = OlafFrame(source, engine, FrameType.UPDATE, 0, 1, 1, 0.0, number, values)
            frames[size] = bytearray(frame.encode())
        mine = []
        for segment, size in enumerate(sizes):
            frames[size][_SEGMENT] = segment.to_bytes(2, "big")
            mine.append(bytes(frames[size]))
        found.append(mine)
    return found


def _round(
    library: Path, contributions: list[list[bytes]], arrivals: Sequence[tuple[float, int]], threshold: int
) -> list[tuple[float, bytes]]:
    """What leaves a rack's engine, and when. All workers began together, so segments come side by side."""
    workers = len(contributions)
    arriving = [
        (time, nth % workers, contributions[nth % workers][nth // workers])
        for nth, (time, _) in enumerate(arrivals)
    ]
    return _offer(library, arriving, threshold)


def _offer(
    library: Path, arriving: Sequence[tuple[float, int, bytes]], threshold: int
) -> list[tuple[float, bytes]]:
    """Frames (arrival, member, frame) through a queue whose indices release at ``threshold``."""
    with QueueModel(library) as model:
        model.registers.write("accumulate_quota", QUOTA)
        model.registers.configure(0, GEOMETRY.indices - 1, IndexSettings(Mode.ISWITCH, threshold=threshold))
        origin = model.cycle
        for time, member, frame in arriving:
            segment = int.from_bytes(frame[_SEGMENT], "big")
            sidecar = Sidecar(len(frame), kind=Kind.UPDATE, index=segment, member=member, worker=member + 1)
            model.offer(sidecar, frame, origin + int(time / CYCLE_NS))
        model.settle(int(arriving[-1][0] / CYCLE_NS) + _SETTLED)
        return [((gone.last + 1 - origin) * float(CYCLE_NS), gone.frame) for gone in model.take()]


def _check(results: Sequence[tuple[float, bytes]], workers: int, segments: int) -> None:
    """Raises OlafError unless every segment left once, as the sum of one contribution of each worker."""
    seen = set()
    for _, encoded in results:
        frame = OlafFrame.decode(encoded)
        seen.add(frame.segment)
        if frame.count != workers or not np.all(frame.gradient == workers * (workers + 1) / 2):
            raise OlafError(Problem(f"segment {frame.segment} is not the sum of {workers} contributions"))
    if len(results) != segments or len(seen) != segments:
        raise OlafError(Problem(f"{len(results)} results of {segments} segments"))
