"""One round of a gradient through the Verilated queues of racks and root, in virtual time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np

from olafctl.queue.registers import IndexSettings
from olafctl.wire.frames import Endpoint
from olafctl.wire.geometry import Geometry, segment_values
from olafctl.wire.layouts import GRADIENT_OFFSET, FrameKind, FrameType
from olafctl.wire.modes import Mode
from olafswitch.errors import OlafError, Problem
from olaftest.frames import OlafFrame
from olaftest.queue.model import CYCLE_NS, QueueModel, Sidecar


@dataclass
class VirtualLink:
    """One direction of a link; ``rate`` in bit/s, ``delay`` in ns."""

    rate: float
    delay: float
    free: float = field(default=0.0, init=False)
    """ns at which the last frame has left it."""

    def carry(self, ready: float, size: int) -> float:
        """Send a frame of ``size`` bytes that is there at ``ready`` ns; when its last byte has arrived."""
        self.free = max(ready, self.free) + size * 8e9 / self.rate
        return self.free + self.delay


GEOMETRY = Geometry(indices=1024, slots=64, beats=140)
QUOTA = 48
RATE = 10e9
DELAY = 500.0
"""ns of a link, its two ends included."""
_SEGMENT = slice(60, 62)
_SETTLED = 1_000_000


def frame_sizes(size: int) -> list[int]:
    """Return the bytes of the frames of a gradient of ``size`` bytes."""
    each = 4 * segment_values(GEOMETRY.beats)
    whole, rest = divmod(-(-size // 4) * 4, each)
    return [GRADIENT_OFFSET + each] * whole + ([GRADIENT_OFFSET + rest] if rest else [])


def time_round(library: Path, size: int, racks: Sequence[int]) -> float:
    """Return the ns until the last worker has the whole sum of a gradient of ``size`` bytes of the workers in
    ``racks``.

    Raises OlafError when a result is not the exact sum, or does not come.
    """
    sizes = frame_sizes(size)
    uploads = _time_uploads(sizes, racks)
    results = []
    first = 0
    for workers, frames in zip(racks, uploads, strict=True):
        results.append(_run_rack(library, _encode_contributions(first, workers, sizes), frames, workers))
        first += workers
    if len(racks) == 1:
        complete = results[0]
    else:
        trunks = [
            _carry_frames(_make_link(), [(time, len(frame)) for time, frame in result]) for result in results
        ]
        arriving = sorted(
            (time, rack, frame)
            for rack, (times_, result) in enumerate(zip(trunks, results, strict=True))
            for (time, _), (_, frame) in zip(times_, result, strict=True)
        )
        complete = _run_queue(library, arriving, sum(racks))
    _check_results(complete, sum(racks), len(sizes))
    last = 0.0
    for workers in racks:
        trunk, members = _make_link(), [_make_link() for _ in range(workers)]
        for time, frame in complete:
            arrived = time if len(racks) == 1 else trunk.carry(time, len(frame))
            last = max(last, *(member.carry(arrived, len(frame)) for member in members))
    return last


def _time_uploads(sizes: Sequence[int], racks: Sequence[int]) -> list[list[tuple[float, int]]]:
    """Return (arrival, size) at each rack's switch, of all its workers' frames, which all begin at 0."""
    return [
        sorted(
            frame
            for _ in range(workers)
            for frame in _carry_frames(_make_link(), [(0.0, size) for size in sizes])
        )
        for workers in racks
    ]


def _carry_frames(link: VirtualLink, frames: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    return [(link.carry(ready, size), size) for ready, size in frames]


def _make_link() -> VirtualLink:
    return VirtualLink(RATE, DELAY)


def _encode_contributions(first: int, workers: int, sizes: Sequence[int]) -> list[list[bytes]]:
    """Encode each worker's frames; the values of worker w are w + 1."""
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


def _run_rack(
    library: Path, contributions: list[list[bytes]], arrivals: Sequence[tuple[float, int]], threshold: int
) -> list[tuple[float, bytes]]:
    """Return what leaves a rack's engine, and when. All workers began together, so segments come side by
    side."""
    workers = len(contributions)
    arriving = [
        (time, nth % workers, contributions[nth % workers][nth // workers])
        for nth, (time, _) in enumerate(arrivals)
    ]
    return _run_queue(library, arriving, threshold)


def _run_queue(
    library: Path, arriving: Sequence[tuple[float, int, bytes]], threshold: int
) -> list[tuple[float, bytes]]:
    """Pass frames (arrival, member, frame) through a queue whose indices release at ``threshold``."""
    with QueueModel(library) as model:
        model.registers.write("accumulate_quota", QUOTA)
        model.registers.configure(0, GEOMETRY.indices - 1, IndexSettings(Mode.ISWITCH, threshold=threshold))
        origin = model.cycle
        for time, member, frame in arriving:
            segment = int.from_bytes(frame[_SEGMENT], "big")
            sidecar = Sidecar(
                len(frame), kind=FrameKind.UPDATE, index=segment, member=member, worker=member + 1
            )
            model.offer(sidecar, frame, origin + int(time / CYCLE_NS))
        model.settle(int(arriving[-1][0] / CYCLE_NS) + _SETTLED)
        return [((gone.last + 1 - origin) * float(CYCLE_NS), gone.frame) for gone in model.take_departures()]


def _check_results(results: Sequence[tuple[float, bytes]], workers: int, segments: int) -> None:
    """Raise OlafError unless every segment left once, as the sum of one contribution of each worker."""
    seen = set()
    for _, encoded in results:
        frame = OlafFrame.decode(encoded)
        seen.add(frame.segment)
        if frame.count != workers or not np.all(frame.gradient == workers * (workers + 1) / 2):
            raise OlafError(Problem(f"segment {frame.segment} is not the sum of {workers} contributions"))
    if len(results) != segments or len(seen) != segments:
        raise OlafError(Problem(f"{len(results)} results of {segments} segments"))
