"""A scenario to simulate: engines, the links between them, and workers that send periodically."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from olafctl.wire.geometry import ADDER_LATENCY, MEMBERS, SLOTS
from olafctl.wire.layouts import GRADIENT_OFFSET
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, Problem

MAX_TIME = (1 << 63) // 1000 - 1
"""ns: the model counts picoseconds in 63 bits."""

MIN_RATE, MAX_RATE = 1, 128_000_000_000
"""bit/s of an engine's rate limiter: the highest is its full width."""

SECOND = 1_000_000_000
"""ns."""

ACTIVE_WINDOW = 10_000_000
"""ns: a testbed's default."""


@dataclass(frozen=True)
class LinkModel:
    """From an engine to the next one, or to the parameter server; ACKs come back on it."""

    to: str | None = None
    """The name of an engine; None is the parameter server."""
    rate: float | None = None
    """bit/s in each direction; None sends a frame in no time."""
    delay: int = 0
    """ns, after the frame was sent."""
    capacity: int | None = None
    """Updates that wait or are being sent, beyond which the link drops; None is unlimited."""


@dataclass(frozen=True)
class EngineModel:
    """An OlafQueue with its output."""

    name: str
    slots: int = SLOTS.default
    rate: float | None = None
    """bit/s of the rate limiter; None does not limit."""
    link: LinkModel = field(default_factory=LinkModel)
    mode: Mode = Mode.OLAF
    modes: Mapping[int, Mode] = field(default_factory=dict)
    """Modes of the clusters with another mode than ``mode``, by their index."""
    adder_latency: int = ADDER_LATENCY.default
    """Cycles."""
    active_window: int = ACTIVE_WINDOW
    """ns within which an index that sent counts as active."""
    accumulate_quota: int | None = None
    """Slots that incomplete sums of rounds may take; None is half of all."""

    def mode_of(self, cluster: int) -> Mode:
        """Return the mode of a cluster, given its index."""
        return self.modes.get(cluster, self.mode)

    @property
    def quota(self) -> int:
        return max(1, self.slots // 2) if self.accumulate_quota is None else self.accumulate_quota


@dataclass(frozen=True)
class TransmissionModel:
    """Transmission control of a worker, by the SDK's rule (olaf.worker.transmission, OLAF §5)."""

    v: float
    """1/s: 1/Δ_T for urgency, the number of Δ_T for fairness between clusters."""
    tolerance: float
    """Δ_T in seconds."""


@dataclass(frozen=True)
class Source:
    """A worker: update k is generated at phase + k·period + U(0, jitter), in ns.

    In rounds the first one is; the next one a period and U(0, jitter) after the result of the one before.
    In mode iswitch-async nothing waits for results, and nothing is sent again.
    """

    cluster: int
    worker: int
    engine: str
    period: int
    phase: int | None = None
    """None draws it uniformly from [0, period)."""
    jitter: int = 0
    delay: int = 0
    """ns on the way to the engine."""
    size: int = 1000
    """Bytes of a frame; an update has one for each segment of its cluster."""
    control: TransmissionModel | None = None
    """None sends every update; else an update that is held back is part of the next one. Not in rounds."""
    retry: int = SECOND
    """ns after which a contribution without a result is sent again."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Updates at given times, such as a recorded training: arrays of one length, in order of time."""

    engine: str | NDArray[np.str_]
    """Where they arrive, when they are generated: of each update, or of all."""
    time: NDArray[np.int64]
    """ns."""
    cluster: NDArray[np.int64]
    worker: NDArray[np.int64]
    size: int = 1000
    """Bytes of a frame."""
    round: NDArray[np.int64] | None = None
    """To which each update is a contribution, where its cluster sends in rounds."""
    segment: NDArray[np.int64] | None = None
    """Segment of each update, from 0 on; None where every model is one frame."""


@dataclass(frozen=True)
class Scenario:
    """A whole topology. Raises BadInput with every problem, where it is and what to do."""

    engines: tuple[EngineModel, ...]
    sources: tuple[Source, ...] = ()
    trace: Trace | None = None
    segments: Mapping[int, int] = field(default_factory=dict)
    """Segments of the clusters whose model takes more than one frame, by their number."""
    ack_bytes: int | None = None
    """Bytes of an ACK without its status header; None is as long as the update that it answers (weights)."""
    seed: int = 0
    """Random seed of the open phases, of all jitter and of transmission control: a seed repeats exactly."""

    def __post_init__(self) -> None:
        problems = tuple(_find_problems(self)) or tuple(_round_problems(self))
        if problems:
            raise BadInput(*problems)

    @property
    def clusters(self) -> int:
        """One more than the highest cluster number."""
        traced = [] if self.trace is None else [int(self.trace.cluster.max())]
        return 1 + max([*traced, *(source.cluster for source in self.sources)])

    @property
    def controlled(self) -> bool:
        """Whether a worker has transmission control, and so whether ACKs are simulated."""
        return any(source.control is not None for source in self.sources)

    @property
    def rounds(self) -> bool:
        """Whether an engine sums the contributions of a cluster, in rounds or numbered."""
        return any(mode.sums for engine in self.engines for mode in (engine.mode, *engine.modes.values()))

    @cached_property
    def senders(self) -> list[tuple[int, int]]:
        """Every worker as (cluster, worker), in order."""
        known = {(source.cluster, source.worker) for source in self.sources}
        if (trace := self.trace) is not None:
            width = 1 + int(trace.worker.max())
            codes = np.unique(trace.cluster * width + trace.worker).tolist()
            known.update(divmod(code, width) for code in codes)
        return sorted(known)

    def members_below(self) -> Mapping[tuple[str, int], Set[int]]:
        """Return the workers whose updates pass an engine, by the engine's name and their cluster."""
        first = {(source.engine, source.cluster, source.worker) for source in self.sources}
        if (trace := self.trace) is not None:
            engines = np.broadcast_to(np.asarray(trace.engine), len(trace.time)).tolist()
            first.update(zip(engines, trace.cluster.tolist(), trace.worker.tolist(), strict=True))
        onward = {engine.name: engine.link.to for engine in self.engines}
        found = defaultdict[tuple[str, int], set[int]](set)
        for engine, cluster, worker in first:
            at: str | None = engine
            while at is not None:
                found[at, cluster].add(worker)
                at = onward[at]
        return found


def _find_problems(scenario: Scenario) -> Iterator[Problem]:
    names = [engine.name for engine in scenario.engines]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem("two engines have this name", f"engine {name}")
    if not scenario.engines:
        yield Problem("there is no engine", "engines")
        return
    if not scenario.sources and scenario.trace is None:
        yield Problem("no worker sends anything", "sources")
    for engine in scenario.engines:
        yield from _engine_problems(engine, names)
    yield from _find_loops(scenario)
    for source in scenario.sources:
        yield from _source_problems(source, names)
    if scenario.trace is not None:
        yield from _trace_problems(scenario.trace, names, scenario.segments)
    for cluster, segments in scenario.segments.items():
        if cluster < 0 or segments < 1:
            yield Problem(
                f"has {segments} segments", f"cluster {cluster}", "at least 1, of clusters from 0 on"
            )
    if scenario.ack_bytes is not None and not GRADIENT_OFFSET <= scenario.ack_bytes <= 65535:
        yield Problem(
            f"ACKs of {scenario.ack_bytes} bytes", "ack_bytes", f"{GRADIENT_OFFSET} … 65535, or None"
        )
    workers = [(source.cluster, source.worker) for source in scenario.sources]
    if len(set(workers)) < len(workers):
        cluster, worker = next(one for one in workers if workers.count(one) > 1)
        yield Problem(
            "sends from two places", f"worker {worker} of cluster {cluster}", "number workers apart"
        )


def _round_problems(scenario: Scenario) -> Iterator[Problem]:
    """Check a scenario whose engines and workers are valid otherwise."""
    if not scenario.rounds:
        return
    modes = {engine.name: engine.mode_of for engine in scenario.engines}
    members, passed = defaultdict[int, set[int]](set), defaultdict[int, set[Mode]](set)
    for (engine, cluster), below in scenario.members_below().items():
        members[cluster] |= below
        passed[cluster].add(modes[engine](cluster))
    for cluster, found in sorted(passed.items()):
        if not any(mode.sums for mode in found):
            continue
        if len(found) > 1:
            remedy = "give every engine on its way mode iswitch, or iswitch-async, or none"
            yield Problem(
                "sends in rounds that some engines on its way do not sum", f"cluster {cluster}", remedy
            )
        elif max(members[cluster]) >= MEMBERS.default:
            what = f"sends in rounds, and has a worker {max(members[cluster])}"
            yield Problem(what, f"cluster {cluster}", f"number its workers 0 … {MEMBERS.default - 1}")


def _check_ranges(where: str, ranges: Mapping[str, tuple[float | None, float, float]]) -> Iterator[Problem]:
    """Yield a problem for each value outside its range (least, most); None is no limit."""
    for name, (value, least, most) in ranges.items():
        if value is not None and not least <= value <= most:
            yield Problem(f"has a {name} of {value}", where, f"choose {least} … {most}")


def _engine_problems(engine: EngineModel, names: list[str]) -> Iterator[Problem]:
    where, link = f"engine {engine.name}", engine.link
    yield from _check_ranges(
        where,
        {
            "number of slots": (engine.slots, SLOTS.least, SLOTS.greatest),
            "rate in bit/s": (engine.rate, MIN_RATE, MAX_RATE),
            "latency of adders": (engine.adder_latency, ADDER_LATENCY.least, ADDER_LATENCY.greatest),
            "room for incomplete sums": (engine.accumulate_quota, 1, engine.slots),
            "window of activity": (engine.active_window, 0, MAX_TIME),
            "cluster index": (min(engine.modes, default=0), 0, inf),
        },
    )
    if link.to is not None and link.to not in names:
        known = ", ".join(names)
        yield Problem(f"leads to {link.to!r}, which does not exist", f"{where}: link", f"known: {known}")
    limits = {
        "rate in bit/s": (link.rate, 1e-3, inf),
        "delay": (link.delay, 0, MAX_TIME),
        "room for frames": (link.capacity, 1, inf),
    }
    yield from _check_ranges(f"{where}: link", limits)


def _find_loops(scenario: Scenario) -> Iterator[Problem]:
    onward = {engine.name: engine.link.to for engine in scenario.engines}
    for name in onward:
        seen, at = [name], onward[name]
        while at is not None and at in onward and at not in seen:
            seen.append(at)
            at = onward[at]
        if at == name and name == min(seen):
            yield Problem(
                f"frames go round in a circle: {' → '.join([*seen, name])}",
                f"engine {name}",
                "lead the last one to the parameter server",
            )


def _source_problems(source: Source, names: list[str]) -> Iterator[Problem]:
    where = f"worker {source.worker} of cluster {source.cluster}"
    if source.engine not in names:
        known = ", ".join(names)
        yield Problem(f"sends to engine {source.engine!r}, which does not exist", where, f"known: {known}")
    times = {name: (getattr(source, name), 0, MAX_TIME) for name in ("phase", "jitter", "delay")}
    yield from _check_ranges(
        where,
        {
            "cluster": (source.cluster, 0, inf),
            "number": (source.worker, 0, inf),
            "period": (source.period, 1, MAX_TIME),
            "time to send again": (source.retry, 1, MAX_TIME),
            **times,
            "frame in bytes": (source.size, GRADIENT_OFFSET, 65535),
        },
    )
    control = source.control
    if control is not None and not (0 <= control.v < float("inf") and 0 < control.tolerance < float("inf")):
        what = f"has transmission control with v = {control.v} and a tolerance of {control.tolerance} s"
        yield Problem(what, where, "v at least 0, the tolerance above 0")


def _trace_problems(trace: Trace, names: list[str], segments: Mapping[int, int]) -> Iterator[Problem]:
    wrong = list(_shape_problems(trace))
    if wrong:
        yield from wrong
        return
    known = ", ".join(names)
    for engine in sorted(set(np.unique(trace.engine).tolist()) - set(names)):
        yield Problem(f"arrives at engine {engine!r}, which does not exist", "trace", f"known: {known}")
    if (np.diff(trace.time) < 0).any() or (trace.time < 0).any() or (trace.time > MAX_TIME).any():
        yield Problem("has times that descend or lie outside 0 … 106 days", "trace", "sort it by time")
    if (trace.cluster < 0).any() or (trace.worker < 0).any():
        yield Problem("has a negative cluster or worker", "trace", "numbers begin at 0")
    for cluster in np.unique(trace.cluster).tolist():
        yield from _segment_problems(trace, cluster, segments.get(cluster, 1))
    if not GRADIENT_OFFSET <= trace.size <= 65535:
        yield Problem(f"has frames of {trace.size} bytes", "trace", f"{GRADIENT_OFFSET} … 65535")


def _shape_problems(trace: Trace) -> Iterator[Problem]:
    if trace.time.ndim != 1 or not len(trace.time):
        yield Problem(f"has times of shape {trace.time.shape}", "trace", "a list of at least one time")
        return
    columns = {
        "engines": np.asarray(trace.engine) if np.ndim(trace.engine) else None,
        "clusters": trace.cluster,
        "workers": trace.worker,
        "rounds": trace.round,
        "segments": trace.segment,
    }
    for name, column in columns.items():
        if column is not None and column.shape != trace.time.shape:
            what = f"has {name} of shape {column.shape}, and times of shape {trace.time.shape}"
            yield Problem(what, "trace", "one entry an update")


def _segment_problems(trace: Trace, cluster: int, segments: int) -> Iterator[Problem]:
    where = f"trace: cluster {cluster}"
    if trace.segment is None:
        if segments > 1:
            yield Problem(f"does not give an update's segment, of {segments}", where, "give segment")
        return
    found = trace.segment[trace.cluster == cluster]
    if found.min() < 0 or found.max() >= segments:
        what = f"has segments {found.min()} … {found.max()}, its model has {segments}"
        yield Problem(what, where, f"choose 0 … {segments - 1}")
