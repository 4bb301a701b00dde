"""Would I gain? Loss, age and delivery with FIFO, with Olaf, and with transmission control as well.

A training job is described by what is known before anything is built: the model's length, how often a
worker updates, how many there are, and the link to the parameter server. Each alternative is several runs
of the event-level model, with the phases and the jitter of as many seeds. A job is one run: with other phases
its age may be another one by far, so every figure is the median over the seeds, with its extremes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf

import numpy as np

from olafctl.wire import layouts
from olafctl.wire.geometry import BEATS
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET
from olafctl.wire.modes import Mode
from olaflab.model.run import Result, run_simulation
from olaflab.model.scenario import EngineModel, Scenario, Source, TransmissionModel
from olafswitch.errors import BadInput, Problem

_INTERVALS = 200
"""Observed of each worker, at least."""
_UPDATES = 20_000
"""Frames observed, at least."""
_MOST_FRAMES = 100_000_000
"""Limit of frames over all seeds."""
SEEDS = range(20)
"""The default: the figure of one more run is within their extremes in about nine of ten jobs."""
_LOSSLESS = 0.001
"""Below this share of lost updates a queue is not congested."""
_WINDOW_INTERVALS = 3
"""An index counts as active for so many intervals, and feedback is obsolete after as many."""


@dataclass(frozen=True)
class GainJob:
    """A training job in front of one engine."""

    values: int
    """Length of the model."""
    interval: int
    """ns between two updates of a worker."""
    workers: int
    """Workers of each cluster."""
    clusters: int
    rate: int
    """bit/s of the link to the parameter server."""
    slots: int
    jitter: float
    """Share of the interval by which an update may be late."""
    mtu: int
    """Bytes of an IP packet."""

    @property
    def segments(self) -> int:
        """Frames of an update, as few as fit the MTU, as ACKs with a status too."""
        return -(-self.values // self._most_values)

    @property
    def frame_bytes(self) -> int:
        """Bytes of the frame of a segment."""
        return GRADIENT_OFFSET + 4 * -(-self.values // self.segments)

    @property
    def offered_rate(self) -> float:
        """bit/s that the workers send if nothing is held back or combined."""
        frames = self.workers * self.clusters * self.segments / self.interval * 1e9
        return 8 * self.frame_bytes * frames

    @property
    def _most_values(self) -> int:
        return (self.mtu + layouts.ETHERNET.size - GRADIENT_OFFSET - layouts.STATUS.size) // 4


class QueueWay(StrEnum):
    """A queue to compare."""

    FIFO = "FIFO"
    OLAF = "Olaf"
    CONTROL = "Olaf, transmission control"


@dataclass(frozen=True)
class Spread:
    """A figure's median over the seeds, and its extremes; infinite where most, or one, have none."""

    median: float
    lowest: float
    highest: float


def spread_of_seeds(values: Sequence[float | None]) -> Spread:
    """Return the spread of the seeds' figures, at least one; None is infinite."""
    known = np.sort([inf if value is None else value for value in values])
    return Spread(float(known[len(known) // 2]), float(known[0]), float(known[-1]))


@dataclass(frozen=True)
class WayOutcome:
    """One alternative."""

    way: QueueWay
    lost: Spread
    """Share of the updates that were sent, 0 … 1."""
    held: Spread
    """Share of the updates that transmission control held back, to go with the next."""
    age: Spread
    """ns: Age-of-Model, the mean over clusters, of several segments the oldest; infinite if one has none."""
    updates: Spread
    """Worker updates a second that the parameter server receives, combined or not; the mean of segments."""
    frames: Spread
    """Frames a second that it receives."""


@dataclass(frozen=True)
class Gain:
    """All alternatives for one job."""

    outcomes: dict[QueueWay, WayOutcome]
    younger: Spread
    """Olaf's age as a share of FIFO's with the same seed; infinite where either has none."""

    @property
    def is_congested(self) -> bool:
        """Whether FIFO loses updates."""
        return self.outcomes[QueueWay.FIFO].lost.median > _LOSSLESS


@dataclass(frozen=True)
class _Figures:
    """The figures of one run; :class:`WayOutcome` spreads them."""

    lost: float
    held: float
    age: float | None
    updates: float
    frames: float


def compare_ways(job: GainJob, seeds: Sequence[int] = SEEDS) -> Gain:
    """Compare the alternatives. Raises BadInput for a job that cannot be sent or simulated."""
    check_job(job, len(seeds))
    found = {way: [_collect_figures(job, way, seed) for seed in seeds] for way in QueueWay}
    pairs = zip(found[QueueWay.FIFO], found[QueueWay.OLAF], strict=True)
    younger = [olaf.age / fifo.age if olaf.age and fifo.age else None for fifo, olaf in pairs]
    return Gain({way: _make_outcome(way, each) for way, each in found.items()}, spread_of_seeds(younger))


def check_job(job: GainJob, seeds: int = len(SEEDS)) -> None:
    """Refuse a job that cannot be sent, or is too large to simulate so many times. Raises BadInput."""
    problems = list(_find_problems(job, seeds))
    if problems:
        raise BadInput(*problems)


def make_scenario(job: GainJob, way: QueueWay, seed: int) -> Scenario:
    """Return the job as a scenario of the event-level model."""
    window = _WINDOW_INTERVALS * job.interval
    engine = EngineModel(
        "engine",
        job.slots,
        job.rate,
        mode=Mode.FIFO if way is QueueWay.FIFO else Mode.OLAF,
        active_window=window,
    )
    tolerance = window / 1e9
    control = TransmissionModel(1 / tolerance, tolerance) if way is QueueWay.CONTROL else None
    sources = tuple(
        Source(
            cluster,
            worker,
            engine.name,
            job.interval,
            jitter=round(job.jitter * job.interval),
            size=job.frame_bytes,
            control=control,
        )
        for cluster in range(job.clusters)
        for worker in range(job.workers)
    )
    return Scenario((engine,), sources, segments=dict.fromkeys(range(job.clusters), job.segments), seed=seed)


def observed_time(job: GainJob) -> int:
    """Return the ns of virtual time that a run takes, of which a tenth is not observed."""
    each = job.workers * job.clusters * job.segments
    return max(_INTERVALS, -(-_UPDATES // each)) * job.interval


def _collect_figures(job: GainJob, way: QueueWay, seed: int) -> _Figures:
    length = observed_time(job)
    found = run_simulation(make_scenario(job, way, seed), length, warm_up=length // 10)
    return _Figures(found.loss, _held_share(found), found.average_age, *_count_delivered(found, job, length))


def _make_outcome(way: QueueWay, found: Sequence[_Figures]) -> WayOutcome:
    names = ("lost", "held", "age", "updates", "frames")
    return WayOutcome(way, *(spread_of_seeds([getattr(each, name) for each in found]) for name in names))


def _held_share(found: Result) -> float:
    held = sum(cluster.held for cluster in found.clusters)
    return held / max(held + found.generated, 1)


def _count_delivered(found: Result, job: GainJob, length: int) -> tuple[float, float]:
    seconds = length / 1e9
    updates = sum(cluster.delivered for cluster in found.clusters) / job.segments
    return updates / seconds, sum(cluster.frames for cluster in found.clusters) / seconds


def _find_problems(job: GainJob, seeds: int) -> Iterator[Problem]:
    least = GRADIENT_OFFSET - layouts.ETHERNET.size + layouts.STATUS.size + 4
    if job.mtu < least:
        yield Problem(f"{job.mtu} bytes leave no room for a value", "--mtu", f"at least {least}")
        return
    room = BEATS.greatest * BEAT_BYTES
    if job.frame_bytes > room:
        yield Problem(
            f"frames of {job.frame_bytes} bytes do not fit a slot of {room}", "--mtu", "a smaller MTU"
        )
    frames = observed_time(job) // job.interval * job.workers * job.clusters * job.segments * seeds
    if frames > _MOST_FRAMES:
        yield Problem(
            f"{frames} frames would have to be simulated, {_MOST_FRAMES} are the most",
            "--values, --workers, --clusters, --seeds",
            "take fewer seeds, or describe fewer clusters with a share of the link's rate",
        )
