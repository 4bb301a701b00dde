"""Throughput and latency of the queue, counted in cycles of its 250 MHz clock."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

import numpy as np

from olafctl.queue.registers import IndexSettings, rate_word
from olafctl.wire.layouts import GRADIENT_OFFSET
from olafctl.wire.modes import Mode
from olaftest.queue.model import CYCLE_NS, QueueModel
from olaftest.queue.traffic import Frame, make_update

SIZES = (256, 1500, 9036)
MIXES = ("every frame another cluster", "random over 9 clusters", "all one cluster")
SEGMENTS = 134
"""Segments of a 1.2 MB model in jumbo frames."""
MODEL_WORKERS = 3
MODEL_MIX = f"{SEGMENTS} segments of one model, {MODEL_WORKERS} workers interleaved"
ROUND_WORKERS = (4, 12)
RATES: tuple[int | None, ...] = (None, 40_000_000_000, 20_000_000_000)
CLUSTERS = 9
"""As in the paper's testbed (OLAF §8)."""
_WARM_UP = 200
_CHUNK = 1000
_LIMIT = 100_000_000


@dataclass(frozen=True)
class Throughput:
    """One measurement. Rates in Gb/s of frame bytes; ``stalls`` are cycles in which a beat had to wait."""

    size: int
    mix: str
    rate: int | None
    mode: Mode
    frames: int
    beats_per_cycle: float
    in_gbps: float
    out_gbps: float
    stalls: int
    merged: int
    replaced: int
    dropped: int


@dataclass(frozen=True)
class Latency:
    """ns from a frame's first beat in to its first and to its last beat out, through an empty queue."""

    size: int
    first_ns: int
    last_ns: int


def measure_throughput(
    library: Path, size: int, mix: str, rate: int | None, frames: int, mode: Mode = Mode.OLAF
) -> Throughput:
    """Offer ``frames`` updates back to back and count the cycles the queue takes to accept them.

    ``rate`` in bit/s limits the output; None leaves it unconstrained. MODEL_MIX needs SEGMENTS indices.
    """
    supply = _supply_segments(size) if mix == MODEL_MIX else _supply_updates(size, mix)
    return _count_throughput(library, supply, (size, mix, rate, frames), IndexSettings(mode))


def measure_rounds(
    library: Path, size: int, workers: int, rate: int | None, frames: int, mode: Mode = Mode.ISWITCH
) -> Throughput:
    """Measure as ``throughput`` does, with iSwitch rounds: each of ``workers`` members contributes to every
    round. Numbered sums have the same updates: a member's round is its contribution's number."""
    mix = f"iSwitch {'rounds' if mode is Mode.ISWITCH else 'numbered sums'} of {workers} workers"
    settings = IndexSettings(mode, threshold=workers)
    return _count_throughput(library, _supply_rounds(size, workers), (size, mix, rate, frames), settings)


def _count_throughput(
    library: Path,
    supply: Iterator[Frame],
    cell: tuple[int, str, int | None, int],
    settings: IndexSettings,
) -> Throughput:
    size, mix, rate, frames = cell
    with QueueModel(library) as model:
        model.registers.configure(0, model.registers.read("indices") - 1, settings)
        model.registers.write("rate", rate_word(rate))
        _feed_frames(model, supply, _WARM_UP)
        model.registers.write("clear", 1)
        before = model.registers.read_all()
        cycles, left = _feed_frames(model, supply, frames)
        after = model.registers.read_all()
        counted = {name: after[name] - before[name] for name in after}
        dropped = sum(value for name, value in counted.items() if name.startswith("dropped_"))
        return Throughput(
            size=size,
            mix=mix,
            rate=rate,
            mode=settings.mode,
            frames=counted["in_updates"],
            beats_per_cycle=counted["input_beats"] / cycles,
            in_gbps=counted["in_updates"] * size * 8 / (cycles * CYCLE_NS),
            out_gbps=left * size * 8 / (cycles * CYCLE_NS),
            stalls=counted["input_stalls"],
            merged=counted["merged"],
            replaced=counted["replaced_worker"] + counted["replaced_reward"],
            dropped=dropped,
        )


def measure_latency(library: Path, size: int) -> Latency:
    """Measure one update through an empty, unconstrained queue."""
    with QueueModel(library) as model:
        sidecar, frame = next(_supply_updates(size, MIXES[2]))
        offered = model.cycle + 10
        model.offer(sidecar, frame, offered)
        model.settle(10_000)
        (departure,) = model.take_departures()
        return Latency(size, (departure.first - offered) * CYCLE_NS, (departure.last - offered) * CYCLE_NS)


def _feed_frames(model: QueueModel, supply: Iterator[Frame], frames: int) -> tuple[int, int]:
    """Send frames back to back: the cycles until the last is accepted, and how many left meanwhile."""
    cycles = left = 0
    for first in range(0, frames, _CHUNK):
        for _ in range(min(_CHUNK, frames - first)):
            model.offer(*next(supply))
        cycles += model.drain(_LIMIT)
        left += sum(1 for _ in model.take_departures())
    return cycles, left


def _supply_updates(size: int, mix: str) -> Iterator[Frame]:
    """Yield updates of ``size`` bytes without end; workers differ, so that updates merge."""
    pick = Random(size)
    payload = _make_payload(size)
    worker = 0
    while True:
        worker += 1
        cluster = {MIXES[0]: worker % CLUSTERS, MIXES[1]: pick.randrange(CLUSTERS), MIXES[2]: 0}[mix]
        yield make_update(cluster, worker, payload, gen_time=worker)


def _supply_segments(size: int) -> Iterator[Frame]:
    """Yield the segments of MODEL_WORKERS workers' gradients, each in order, interleaved frame by frame."""
    payload = _make_payload(size)
    for sent in count():
        step, worker = divmod(sent, MODEL_WORKERS)
        # The workers are at different places of the model.
        segment = (step + worker * SEGMENTS // MODEL_WORKERS) % SEGMENTS
        yield make_update(segment, worker, payload, gen_time=sent, segment=segment, seq=step // SEGMENTS)


def _supply_rounds(size: int, workers: int) -> Iterator[Frame]:
    payload = _make_payload(size)
    for sent in count():
        round_, member = divmod(sent, workers)
        yield make_update(0, member, payload, gen_time=sent, seq=round_, member=member)


def _make_payload(size: int) -> bytes:
    gradients = np.random.default_rng(size).standard_normal((size - GRADIENT_OFFSET) // 4, dtype=np.float32)
    return gradients.astype("<f4").tobytes()
