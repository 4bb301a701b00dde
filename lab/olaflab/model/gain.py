"""Would I gain? Loss, age and delivery with FIFO, with Olaf, and with transmission control as well.

A training job is described by what is known before anything is built: the model's length, how often a
worker updates, how many there are, and the link to the parameter server. Each alternative is a run of the
event-level model with the same phases and jitter.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from olafctl.errors import BadInput, Problem
from olafctl.wire import layouts
from olafctl.wire.geometry import BEATS
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET
from olafctl.wire.modes import Mode
from olaflab.model.run import Result, run
from olaflab.model.scenario import Control, Engine, Scenario, Source

_INTERVALS = 200
"""Observed of each worker, at least."""
_UPDATES = 20_000
"""Frames observed, at least."""
_MOST_FRAMES = 20_000_000
_LOSSLESS = 0.001
"""Below this share of lost updates a queue is not congested."""
_WINDOW_INTERVALS = 3
"""An index counts as active for so many intervals, and feedback is obsolete after as many."""


@dataclass(frozen=True)
class Job:
    """A training job in front of one engine."""

    values: int
    """Length of the model."""
    interval: int
    """ns between two updates of a worker."""
    workers: int
    """Of each cluster."""
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
        return -(-self.values // self._most)

    @property
    def frame_bytes(self) -> int:
        """Of each segment."""
        return GRADIENT_OFFSET + 4 * -(-self.values // self.segments)

    @property
    def offered(self) -> float:
        """bit/s that the workers send if nothing is held back or combined."""
        frames = self.workers * self.clusters * self.segments / self.interval * 1e9
        return 8 * self.frame_bytes * frames

    @property
    def _most(self) -> int:
        return (self.mtu + layouts.ETHERNET.size - GRADIENT_OFFSET - layouts.STATUS.size) // 4


class Way(StrEnum):
    """What is compared."""

    FIFO = "FIFO"
    OLAF = "Olaf"
    CONTROL = "Olaf, transmission control"


@dataclass(frozen=True)
class Outcome:
    """One alternative."""

    way: Way
    lost: float
    """Share of the updates that were sent, 0 … 1."""
    held: float
    """Share of the updates that transmission control held back, to go with the next."""
    age: float | None
    """ns: Age-of-Model, the mean over clusters, of several segments the oldest's; None where one has none."""
    updates: float
    """Worker updates a second that the parameter server receives, combined or not; the mean of segments."""
    frames: float
    """Frames a second that it receives."""


@dataclass(frozen=True)
class Gain:
    """All alternatives for one job."""

    outcomes: dict[Way, Outcome]

    @property
    def congested(self) -> bool:
        """Whether FIFO loses updates."""
        return self.outcomes[Way.FIFO].lost > _LOSSLESS

    @property
    def younger(self) -> float | None:
        """Olaf's age as a share of FIFO's."""
        fifo, olaf = self.outcomes[Way.FIFO].age, self.outcomes[Way.OLAF].age
        return None if fifo is None or olaf is None else olaf / fifo


def gain(job: Job, seed: int = 0) -> Gain:
    """Compare the alternatives. Raises BadInput for a job that cannot be sent or simulated."""
    check(job)
    return Gain({way: _outcome(job, way, seed) for way in Way})


def check(job: Job) -> None:
    """Raises BadInput for a job that cannot be sent, or is too large to simulate."""
    problems = list(_problems(job))
    if problems:
        raise BadInput(*problems)


def scenario(job: Job, way: Way, seed: int) -> Scenario:
    """The job as a scenario of the event-level model."""
    window = _WINDOW_INTERVALS * job.interval
    engine = Engine(
        "engine",
        job.slots,
        job.rate,
        mode=Mode.FIFO if way is Way.FIFO else Mode.OLAF,
        active_window=window,
    )
    tolerance = window / 1e9
    control = Control(1 / tolerance, tolerance) if way is Way.CONTROL else None
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


def observed(job: Job) -> int:
    """ns of virtual time that a run takes, of which a tenth is not observed."""
    each = job.workers * job.clusters * job.segments
    return max(_INTERVALS, -(-_UPDATES // each)) * job.interval


def _outcome(job: Job, way: Way, seed: int) -> Outcome:
    length = observed(job)
    found = run(scenario(job, way, seed), length, warm_up=length // 10)
    return Outcome(way, found.loss, _held(found), found.average_age, *_delivered(found, job, length))


def _held(found: Result) -> float:
    held = sum(cluster.held for cluster in found.clusters)
    return held / max(held + found.generated, 1)


def _delivered(found: Result, job: Job, length: int) -> tuple[float, float]:
    seconds = length / 1e9
    updates = sum(cluster.delivered for cluster in found.clusters) / job.segments
    return updates / seconds, sum(cluster.frames for cluster in found.clusters) / seconds


def _problems(job: Job) -> Iterator[Problem]:
    least = GRADIENT_OFFSET - layouts.ETHERNET.size + layouts.STATUS.size + 4
    if job.mtu < least:
        yield Problem(f"{job.mtu} bytes leave no room for a value", "--mtu", f"at least {least}")
        return
    room = BEATS.greatest * BEAT_BYTES
    if job.frame_bytes > room:
        yield Problem(
            f"frames of {job.frame_bytes} bytes do not fit a slot of {room}", "--mtu", "a smaller MTU"
        )
    frames = observed(job) // job.interval * job.workers * job.clusters * job.segments
    if frames > _MOST_FRAMES:
        yield Problem(
            f"{frames} frames would have to be simulated, {_MOST_FRAMES} are the most",
            "--values, --workers, --clusters",
            "describe fewer clusters with a share of the link's rate",
        )
