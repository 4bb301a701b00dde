"""The system to verify: clusters, engine, transmission control, in integer nanoseconds (OLAF §5, §12.2)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from olafswitch.errors import BadInput, Problem

SECOND = 1_000_000_000


class Transmission(StrEnum):
    """The treatment of a worker's probabilistic decision (OLAF §5)."""

    ALWAYS = "always"
    """Transmission control is off: every update is sent."""
    ANY = "any"
    """For all outcomes: wherever 0 < P_s < 1 the worker may send or withhold; at P_s = 1 it sends."""
    BOUNDED = "bounded"
    """As ANY, but a cluster withholds at most ``patience`` updates in a row."""
    EXPECTED = "expected"
    """The expected rate: a worker sums P_s and sends whenever the sum reaches 1 (no guarantee for chance)."""


class Slope(StrEnum):
    """The slope v of f (OLAF §5)."""

    URGENT = "1/threshold"
    FAIR = "threshold"
    """v = Δ_T, both in seconds: f is then Δ_T·(Δ̂ - Δ_T) in s²."""


class SlotFreed(StrEnum):
    """The time from which on a slot takes another update."""

    SENT = "sent"
    """Once its update is sent (OLAF §4), p/C after its departure began: the link is the bottleneck."""
    DEPARTURE = "departure"
    """At D(k): the Q of OLAF §12.3 counts D > A only, and so does an engine whose rate limiter is the
    bottleneck, which reads a frame at once and then delays the next."""


@dataclass(frozen=True)
class ClusterFlow:
    """A flow: ``workers`` that each generate an update every ``period`` ns.

    Each worker's first update lies anywhere in ``phase`` (inclusive; within one period), and each update is
    late by any value in [0, jitter], independently.
    """

    name: str
    period: int
    phase: tuple[int, int]
    workers: int = 1
    jitter: int = 0


@dataclass(frozen=True)
class System:
    """The whole system: times in ns. ``tick`` is the grain of the free phases and jitters."""

    clusters: tuple[ClusterFlow, ...]
    service: int
    """p/C: the time from one departure to the next."""
    slots: int
    """Q_max."""
    updates: int
    """The horizon in updates of a worker of the fastest cluster; other workers stop at the same time."""
    transmission: Transmission = Transmission.ALWAYS
    threshold: int = 400_000_000
    """Δ_T."""
    slope: Slope = Slope.URGENT
    ack_delay: int = 0
    """R: the time from D(k) to the reception of its ACK at the workers."""
    patience: int = 0
    """B of Transmission.BOUNDED."""
    slot_freed: SlotFreed = SlotFreed.DEPARTURE
    tick: int = 1

    def __post_init__(self) -> None:
        problems = tuple(_find_problems(self))
        if problems:
            raise BadInput(*problems)

    @property
    def rounds(self) -> tuple[int, ...]:
        """The number of updates that a worker of each cluster generates within the horizon."""
        end = self.updates * min(cluster.period for cluster in self.clusters)
        return tuple(-(-end // cluster.period) for cluster in self.clusters)

    @property
    def generations(self) -> tuple[int, ...]:
        """The number of updates that each cluster generates within the horizon."""
        return tuple(
            count * cluster.workers for count, cluster in zip(self.rounds, self.clusters, strict=True)
        )

    @property
    def horizon(self) -> int:
        """The ns at which the last update may be generated, without jitter."""
        return max(
            cluster.phase[1] + (rounds - 1) * cluster.period
            for cluster, rounds in zip(self.clusters, self.rounds, strict=True)
        )

    @property
    def load(self) -> float:
        """The generated updates as a share of the output's rate; 1 keeps it just busy."""
        return sum(cluster.workers * self.service / cluster.period for cluster in self.clusters)

    @property
    def controlled(self) -> bool:
        """Whether workers withhold updates at all: transmission control is on and Q_max < N (OLAF §5)."""
        return self.transmission is not Transmission.ALWAYS and self.slots < len(self.clusters)

    @property
    def exact(self) -> bool:
        """Whether every worker is exactly periodic; then two that meet always meet in the same order."""
        return not any(cluster.jitter for cluster in self.clusters)

    @property
    def capacity(self) -> int:
        """The services for which the output may stay busy before an update finds the queue full.

        Departures of one busy period are p/C apart, so n occupied slots are n - 1 to n services of work.
        """
        return self.slots - 1 if self.slot_freed is SlotFreed.SENT else self.slots

    def probability(self, feedback_age: int) -> Fraction:
        """Return P_s = min(Q_max/N + f, 1), f = v·max(Δ̂ - Δ_T, 0) at Δ̂ = ``feedback_age`` ns (OLAF §5)."""
        if not self.controlled:
            return Fraction(1)
        late = max(feedback_age - self.threshold, 0)
        return min(Fraction(self.slots, len(self.clusters)) + self.steepness * late, Fraction(1))

    @property
    def certain_after(self) -> int:
        """The least Δ̂ in ns at which P_s = 1: Δ_T + (1 - Q_max/N)/v, rounded up."""
        return math.ceil(self.threshold + (1 - Fraction(self.slots, len(self.clusters))) / self.steepness)

    @property
    def steepness(self) -> Fraction:
        """The slope v per nanosecond."""
        if self.slope is Slope.URGENT:
            return Fraction(1, self.threshold)
        return Fraction(self.threshold, SECOND * SECOND)

    def index(self, name: str) -> int:
        """Return the index of the cluster called ``name``. Raises BadInput when it does not exist."""
        for index, cluster in enumerate(self.clusters):
            if cluster.name == name:
                return index
        known = ", ".join(cluster.name for cluster in self.clusters)
        raise BadInput(Problem(f"no cluster is called {name!r}", "objective", f"known: {known}"))


def make_periodic(name: str, period: int, *, tick: int = 1, workers: int = 1, jitter: int = 0) -> ClusterFlow:
    """Return a cluster whose phase is free in [0, period)."""
    return ClusterFlow(name, period, (0, max(period - tick, 0)), workers, jitter)


def _find_problems(system: System) -> Iterator[Problem]:
    if not system.clusters:
        yield Problem("no cluster is given to verify")
        return
    names = [cluster.name for cluster in system.clusters]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem("two clusters have this name", f"cluster {name}")
    for field, least in (("service", 1), ("slots", 1), ("tick", 1), ("threshold", 1), ("updates", 2)):
        value = getattr(system, field)
        if value < least:
            unit = " ns" if field in ("service", "tick", "threshold") else ""
            yield Problem(f"is {value}{unit}", field, f"at least {least}")
    for field in ("ack_delay", "patience"):
        if getattr(system, field) < 0:
            yield Problem(f"is {getattr(system, field)}", field, "at least 0")
    for cluster in system.clusters:
        yield from _cluster_problems(cluster)
    if system.tick >= 1 and min(cluster.period for cluster in system.clusters) > 0:
        yield from _grain_problems(system)


def _cluster_problems(cluster: ClusterFlow) -> Iterator[Problem]:
    where = f"cluster {cluster.name}"
    low, high = cluster.phase
    if cluster.period < 1:
        yield Problem(f"period is {cluster.period} ns", where, "positive")
    elif not 0 <= low <= high < cluster.period:
        yield Problem(f"phase {low} … {high} ns", where, f"within [0, {cluster.period}) ns, ascending")
    if cluster.workers < 1:
        yield Problem(f"has {cluster.workers} workers", where, "at least 1")
    if cluster.jitter < 0:
        yield Problem(f"jitter is {cluster.jitter} ns", where, "not negative")


def _grain_problems(system: System) -> Iterator[Problem]:
    times = {"service": system.service, "ack_delay": system.ack_delay}
    for cluster in system.clusters:
        times[f"cluster {cluster.name}: period"] = cluster.period
        times[f"cluster {cluster.name}: phase"] = cluster.phase[0]
        times[f"cluster {cluster.name}: jitter"] = cluster.jitter
    for where, time in times.items():
        if time % system.tick:
            yield Problem(f"{time} ns is not a multiple of the tick, {system.tick} ns", where)
