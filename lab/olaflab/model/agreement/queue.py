"""The event-level model next to the Verilated queue: single frames and gradients."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from olafctl.queue.registers import IndexSettings, rate_of, rate_word
from olafctl.queue.verilate import build_queue
from olafctl.wire.frames import Endpoint
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, FrameKind, FrameType
from olafctl.wire.modes import Mode
from olaflab.model import iterations
from olaflab.model.iterations import Approach, IterationJob, IterationNetwork
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import EngineModel, Scenario, Source, Trace
from olaflab.queue import aggregation
from olaftest.frames import OlafFrame
from olaftest.queue.model import CYCLE_NS, QueueModel, Sidecar

GEOMETRY = Geometry()
BEATS = (3, 4, 5, 8, 16, 24)
"""Lengths of the frames that are compared."""
RATES = (None, 2, 5, 20, 40, 100)
"""Gb/s."""
_SECOND = 10**9
_PERIOD = _SECOND // 10
_HOST = Endpoint("02:00:00:00:00:01", IPv4Address("10.0.0.1"), 20300)
_FIRST = 1000
"""The cycle of the first arrival: the registers are written before."""
_SETTLE = 10**9
"""Cycles within which a queue must become idle."""


@dataclass(frozen=True)
class Agreement:
    """How a number of random arrivals ended in both models."""

    updates: int
    frames: int
    """Updates that left the Verilated queue."""
    different_frames: int
    """Updates whose cluster, newest update or count differs in the event-level model."""
    different_times: int
    """Equal ones that left in another cycle."""
    different_counts: int
    """Sum of the differences in the counts of appended, merged, replaced and dropped updates."""


@dataclass(frozen=True)
class Speed:
    """One scenario, on one core."""

    name: str
    updates: int
    seconds: float
    """Processor time."""

    @property
    def per_second(self) -> float:
        """Updates a second."""
        return self.updates / self.seconds


def compare_random_loads(
    updates: int, seed: int, *, per_load: int = 20_000, progress: Callable[[str], None] = lambda step: None
) -> Agreement:
    """Compare both models on ``updates`` random arrivals, ``per_load`` of each random load.

    Raises MissingTool without Verilator or a C++ compiler.
    """
    library = build_queue(GEOMETRY, progress)
    pick, parts = random.Random(seed), []
    for done in range(0, updates, per_load):
        parts.append(_compare_load(QueueModel(library), pick, min(per_load, updates - done)))
        progress(f"{done + parts[-1].updates} updates compared")
    return Agreement(*(sum(getattr(part, name) for part in parts) for name in Agreement.__dataclass_fields__))


def measure_speeds(clusters: int = 1000, workers: int = 10, updates: int = 5_000_000) -> list[Speed]:
    """Measure periodic workers before an engine with a slot for every tenth cluster, at several loads."""
    loads = {"idle": 10.0, "output at 0.9 of the load": 0.9, "output at 0.3": 0.3}
    duration = updates * _PERIOD // (clusters * workers)
    return [_measure_speed(name, clusters, workers, share, duration) for name, share in loads.items()]


def measure_hour(clusters: int = 1000, workers: int = 10) -> Speed:
    """Measure an hour of virtual time with an update of each worker every 100 ms, twice what the output
    takes."""
    return _measure_speed("one hour, output at 0.5 of the load", clusters, workers, 0.5, 3600 * _SECOND)


def _measure_speed(name: str, clusters: int, workers: int, share: float, duration: int) -> Speed:
    size = 1000
    offered = clusters * workers * size * 8 * _SECOND / _PERIOD
    engine = EngineModel("engine", slots=max(clusters // 10, 1), rate=offered * share)
    sources = tuple(
        Source(cluster, worker, "engine", _PERIOD, jitter=_PERIOD // 10, size=size)
        for cluster in range(clusters)
        for worker in range(workers)
    )
    begin = time.process_time()
    result = run_simulation(Scenario((engine,), sources), duration)
    return Speed(name, result.generated, time.process_time() - begin)


def _compare_load(model: QueueModel, pick: random.Random, updates: int) -> Agreement:
    """Compare one random load, through ``model`` from its reset on, which is closed at the end."""
    beats, gigabits = pick.choice(BEATS), pick.choice(RATES)
    mode = pick.choices(list(Mode), (0.55, 0.15, 0.15, 0.15))[0]
    word = rate_word(None if gigabits is None else gigabits * 10**9)
    trace = _draw_arrivals(pick, updates, beats)
    engine = EngineModel("engine", GEOMETRY.slots, rate_of(word), mode=mode)
    ours = run_simulation(Scenario((engine,), trace=trace), int(trace.time[-1]) + _SECOND, record=True)
    with model:
        for index in range(GEOMETRY.indices):
            members = len(np.unique(trace.worker[trace.cluster == index]))
            settings = IndexSettings(mode, threshold=max(members, 1))
            model.registers.configure(index, index, settings)
        model.registers.write("accumulate_quota", engine.quota)
        model.registers.write("rate", word)
        theirs = _run_verilated(model, trace, beats)
        counters = model.registers.read_all()
    assert ours.receptions is not None
    mine = list(
        zip(
            ours.receptions.cluster.tolist(),
            (ours.receptions.generated // 1000).tolist(),
            ours.receptions.count.tolist(),
            (ours.receptions.time // 1000).tolist(),
            strict=True,
        )
    )
    same = [one[:3] == other[:3] for one, other in zip(mine, theirs, strict=False)]
    late = sum(equal and one[3] != other[3] for equal, one, other in zip(same, mine, theirs, strict=False))
    return Agreement(
        updates=updates,
        frames=len(theirs),
        different_frames=same.count(False) + abs(len(mine) - len(theirs)),
        different_times=late,
        different_counts=_count_differences(ours, counters),
    )


def _draw_arrivals(pick: random.Random, updates: int, beats: int) -> Trace:
    """Draw arrivals on the cycle, from back to back to far apart; each frame arrives before the next."""
    drawn = np.random.default_rng(pick.getrandbits(32))
    most = pick.choice((beats + 2, 2 * beats, 5 * beats, 20 * beats))
    gaps = drawn.integers(beats, most, updates)
    clusters, workers = pick.randint(1, GEOMETRY.indices), pick.randint(1, 4)
    cluster = drawn.integers(0, clusters, updates)
    return Trace(
        "engine",
        (_FIRST + np.cumsum(gaps)) * CYCLE_NS,
        cluster,
        drawn.integers(1, workers + 1, updates),
        beats * BEAT_BYTES,
        round=_draw_rounds(drawn, cluster, workers),
    )


def _draw_rounds(drawn: np.random.Generator, cluster: NDArray[np.int64], workers: int) -> NDArray[np.int64]:
    """Draw the round of each contribution: two of each worker to a round, some too early or late."""
    before = np.zeros(len(cluster), np.int64)
    for each in np.unique(cluster):
        mine = cluster == each
        before[mine] = np.arange(mine.sum())
    before //= 2 * workers
    before += 1 + drawn.choice((-1, 0, 1), len(cluster), p=(0.02, 0.96, 0.02))
    return before


def _run_verilated(model: QueueModel, trace: Trace, beats: int) -> list[tuple[int, int, int, int]]:
    """Return (cluster, time of the newest update, count, time) of each frame that leaves, in ns."""
    gradient = np.zeros((beats * BEAT_BYTES - GRADIENT_OFFSET) // 4, dtype=np.float32)
    assert trace.round is not None
    columns = (trace.round.tolist(), trace.time.tolist(), trace.cluster.tolist(), trace.worker.tolist())
    for seq, at, cluster, worker in zip(*columns, strict=True):
        frame = OlafFrame(_HOST, _HOST, FrameType.UPDATE, 0, 1, seq, 0.0, at, gradient).encode()
        sidecar = Sidecar(
            len(frame), kind=FrameKind.UPDATE, cluster=cluster, index=cluster, worker=worker, member=worker
        )
        model.offer(sidecar, frame, at // CYCLE_NS)
    model.settle(_SETTLE)
    left = []
    for departure in model.take_departures():
        frame_out = OlafFrame.decode(departure.frame)
        left.append(
            (departure.sidecar.cluster, frame_out.gen_time, frame_out.count, (departure.last + 1) * CYCLE_NS)
        )
    return left


def _count_differences(ours: Result, counters: dict[str, int]) -> int:
    mine = ours.engines["engine"]
    return sum(abs(mine[name] - counters[name]) for name in mine if name in counters)


@dataclass(frozen=True)
class Compared:
    """ns until the last worker has the sum."""

    workers: int
    racks: int
    size: int
    """Bytes of the gradient."""
    verilated: float
    modelled: float


def compare_gradient(library: Path, size: int, racks: Sequence[int]) -> Compared:
    """Compare both, without hosts' software, over links of one rate; racks but the last are of one size.

    Raises OlafError when a result of the Verilated queue is not the exact sum, or does not come.
    """
    whole = -(-size // 4) * 4
    network = IterationNetwork(
        each_rack=racks[0] if len(racks) > 1 else 0,
        rate=aggregation.RATE,
        trunk=aggregation.RATE,
        delay=aggregation.DELAY,
        beats=aggregation.GEOMETRY.beats,
        slots=aggregation.GEOMETRY.slots,
        quota=aggregation.QUOTA,
    )
    course = iterations.simulate_job(IterationJob(Approach.ENGINE, sum(racks), [whole], network=network))
    # Virtual time is of whole picoseconds in one and of floating nanoseconds in the other.
    verilated = round(aggregation.time_round(library, size, racks), 3)
    return Compared(sum(racks), len(racks), size, verilated, round(float(course.updates[0]), 3))
