"""Runs a scenario, and measures it: Age-of-Model, loss and aggregation of each cluster."""

import ctypes
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olafctl import aom
from olafctl.errors import BadInput, OlafError, Problem
from olafctl.queue.registers import CLOCK_HZ
from olafctl.simulate import library
from olafctl.simulate.scenario import MAX_TIME, Scenario, Trace
from olafctl.testbed.model import Mode
from olafctl.wire.layouts import STATUS

_PS = 1000
"""Picoseconds in a nanosecond."""
_CYCLE_PS = 10**12 // CLOCK_HZ
_MERGE_CYCLES = 3
"""Of a merged beat besides the adder's: it is read, written, and can be read again (hdl/olaf_merge.v)."""
_AT_A_TIME = 5_000_000
"""Events between two reports of progress; also what an interrupt waits for."""


@dataclass(frozen=True)
class Cluster:
    """What became of one cluster's updates; ages in ns within (warm_up, duration].

    Of a cluster with segments an update counts once for each frame, and its age is its oldest segment's.
    """

    cluster: int
    generated: int
    """Worker updates that reached the first engine."""
    delivered: int
    """Of them, those in frames that the parameter server received."""
    frames: int
    replaced: int
    """Neither lost nor delivered: a newer or a better update took their place (OLAF §3)."""
    lost: int
    held: int
    """Updates that transmission control did not send, besides those generated: the next one contains them."""
    acknowledged: int
    """ACKs that a worker received; none are simulated without transmission control."""
    average_age: float | None
    """None where nothing was received."""
    mean_peak: float | None
    highest_peak: float | None

    @property
    def aggregated(self) -> int:
        """Delivered updates that were merged into another's frame."""
        return self.delivered - self.frames


@dataclass(frozen=True)
class Worker:
    """One worker, measured by its own updates, also those that others were merged with."""

    cluster: int
    worker: int
    delivered: int
    """Updates; a replaced one is not delivered. Of a model in segments, frames."""
    average_age: float | None
    """ns, as a cluster's, but only its own updates count; of a model in segments, of its newest segment."""
    reached: int | None
    """ns at which ``goal`` updates were delivered."""


@dataclass(frozen=True)
class Receptions:
    """Every frame at the parameter server, in order of time; times in ps."""

    index: NDArray[np.int64]
    cluster: NDArray[np.int64]
    generated: NDArray[np.int64]
    time: NDArray[np.int64]
    count: NDArray[np.int64]


@dataclass(frozen=True)
class Result:
    """A run's figures."""

    clusters: tuple[Cluster, ...]
    """Those that sent something, by index."""
    engines: Mapping[str, Mapping[str, int]]
    """By name: how many updates met each disposition, were sent, and were dropped by the engine's link."""
    under_way: int
    """Worker updates in queues and on links at the end."""
    events: int
    receptions: Receptions | None
    """Where the run was asked to record them."""
    workers: tuple[Worker, ...]
    """By cluster and worker, where the run was asked to measure each."""

    @property
    def generated(self) -> int:
        return sum(cluster.generated for cluster in self.clusters)

    @property
    def loss(self) -> float:
        """Lost worker updates as a share of those generated, 0 … 1."""
        return sum(cluster.lost for cluster in self.clusters) / max(self.generated, 1)

    @property
    def average_age(self) -> float | None:
        """ns: the mean of the clusters' average ages; None when a cluster has none."""
        return self.average_age_of(range(len(self.clusters)))

    def average_age_of(self, places: Sequence[int]) -> float | None:
        """:attr:`average_age` over the clusters at ``places`` in :attr:`clusters`."""
        ages = [self.clusters[place].average_age for place in places]
        known = [age for age in ages if age is not None]
        return sum(known) / len(known) if known and len(known) == len(ages) else None

    @property
    def fairness(self) -> float | None:
        """Jain's index of the clusters' average ages, in [1/n, 1]; None when a cluster has none."""
        known = [cluster.average_age for cluster in self.clusters if cluster.average_age is not None]
        return aom.jain(known) if known and len(known) == len(self.clusters) else None


def run(
    scenario: Scenario,
    duration: int,
    *,
    warm_up: int = 0,
    record: bool = False,
    each_worker: bool = False,
    goal: int = 0,
    initial: bool = False,
    progress: Callable[[int], None] = lambda events: None,
) -> Result:
    """Simulate ``duration`` ns of virtual time; ages are observed from ``warm_up`` ns on.

    ``record`` keeps every reception; ``each_worker`` measures every worker, and when ``goal`` of its updates
    were delivered; once that is so of all, the run ends. With ``initial`` the parameter server holds a model
    generated at time 0, so that every cluster has an age from the start on. ``progress`` is called now and
    then with the number of events so far. Raises BadInput for wrong times, MissingTool without a C++
    compiler, OlafError when updates are not conserved (a defect of the model).
    """
    if not 0 <= warm_up < duration <= MAX_TIME:
        raise BadInput(
            Problem(
                f"{duration} ns with a warm-up of {warm_up} ns", "duration", f"longer than it, to {MAX_TIME}"
            )
        )
    native = library.load()
    world = _world(scenario, warm_up, duration)
    world["record"], world["initial"], world["goal"] = record, initial, goal
    world["senders"] = len(_senders(scenario)) if each_worker else 0
    with _simulation(scenario, world) as simulation:
        while native.olaf_simulation_run(simulation, _AT_A_TIME):
            progress(int(native.olaf_simulation_events(simulation)))
        rows = np.zeros(scenario.clusters, library.CLUSTER)
        native.olaf_simulation_clusters(simulation, rows.ctypes.data)
        counters = np.zeros(len(scenario.engines), library.COUNTERS)
        native.olaf_simulation_engines(simulation, counters.ctypes.data)
        result = Result(
            clusters=tuple(_cluster(index, row) for index, row in enumerate(rows) if row["generated"]),
            engines={
                engine.name: {name: int(row[name]) for name in library.COUNTERS.names or ()}
                for engine, row in zip(scenario.engines, counters, strict=True)
            },
            under_way=int(native.olaf_simulation_under_way(simulation)),
            events=int(native.olaf_simulation_events(simulation)),
            receptions=_receptions(native, simulation, _owners(scenario)) if record else None,
            workers=_workers(native, simulation, scenario) if each_worker else (),
        )
    _check(result, int(rows["uncounted"].sum()))
    return result


def native_arrays(scenario: Scenario, duration: int, warm_up: int = 0) -> bytes:
    """The scenario's sources and engines for another program: the numbers of engines, settings and sources,
    then the world and these arrays, as native/simulate.h declares them; times in ns."""
    parts = _engines(scenario), _settings(scenario), _sources(scenario)
    world = _world(scenario, warm_up, duration)
    world["indices"] = len(_owners(scenario))
    sizes = np.array([len(part) for part in parts], np.uint64)
    return b"".join(part.tobytes() for part in (sizes, world, *parts))


@contextmanager
def _simulation(scenario: Scenario, world: NDArray[np.void]) -> Iterator[int]:
    native = library.load()
    engines, settings, sources = _engines(scenario), _settings(scenario), _sources(scenario)
    arrivals, owners = _arrivals(scenario), _owners(scenario)
    world["owners"], world["indices"] = owners.ctypes.data, len(owners)
    simulation = native.olaf_simulation_new(
        world.ctypes.data,
        engines.ctypes.data,
        len(engines),
        settings.ctypes.data,
        len(settings),
        sources.ctypes.data,
        len(sources),
        arrivals.ctypes.data,
        len(arrivals),
    )
    try:
        yield simulation
    finally:
        native.olaf_simulation_free(simulation)


def _world(scenario: Scenario, warm_up: int, duration: int) -> NDArray[np.void]:
    world = np.zeros(1, library.WORLD)
    world["clusters"], world["seed"] = scenario.clusters, scenario.seed
    world["start"], world["end"] = warm_up * _PS, duration * _PS
    world["ack_bytes"], world["status_bytes"] = scenario.ack_bytes or 0, STATUS.size
    world["acknowledge"] = scenario.controlled
    return world


def _engines(scenario: Scenario) -> NDArray[np.void]:
    places = {engine.name: place for place, engine in enumerate(scenario.engines)}
    rows = np.zeros(len(scenario.engines), library.ENGINE)
    for row, engine in zip(rows, scenario.engines, strict=True):
        link = engine.link
        row["slots"], row["quota"], row["cycle"] = engine.slots, engine.quota, _CYCLE_PS
        row["merge_cycles"] = engine.adder_latency + _MERGE_CYCLES
        row["rate"] = round((engine.rate or 0) * _CYCLE_PS / 10**12 * 2**32)
        row["link_ps_per_byte"], row["link_delay"] = _ps_per_byte(link.rate), link.delay * _PS
        row["link_capacity"] = link.capacity or 0
        row["next"] = -1 if link.to is None else places[link.to]
        row["window"] = engine.active_window * _PS
    return rows


def _owners(scenario: Scenario) -> NDArray[np.uint32]:
    """The cluster of each index: a cluster's segments have consecutive ones."""
    sizes = [scenario.segments.get(cluster, 1) for cluster in range(scenario.clusters)]
    return np.repeat(np.arange(scenario.clusters, dtype=np.uint32), sizes)


def _senders(scenario: Scenario) -> list[tuple[int, int]]:
    """Every worker as (cluster, worker), in order."""
    known = {(source.cluster, source.worker) for source in scenario.sources}
    if scenario.trace is not None:
        codes, width = _codes(scenario.trace)
        known.update(divmod(code, width) for code in np.flatnonzero(np.bincount(codes)).tolist())
    return sorted(known)


def _codes(trace: Trace) -> tuple[NDArray[np.int64], int]:
    """The worker of each update as one number: that of its cluster times the second value, and its own."""
    width = 1 + int(trace.worker.max())
    return trace.cluster * width + trace.worker, width


def _first(scenario: Scenario) -> NDArray[np.int64]:
    """The first index of each cluster."""
    return np.searchsorted(_owners(scenario), np.arange(scenario.clusters)).astype(np.int64)


def _settings(scenario: Scenario) -> NDArray[np.void]:
    owners = _owners(scenario).tolist()
    rounds = any(Mode.ISWITCH in (engine.mode, *engine.modes.values()) for engine in scenario.engines)
    members = _members(scenario) if rounds else {}
    everyone = defaultdict[int, set[int]](set)
    for (_, cluster), workers in members.items():
        everyone[cluster] |= workers
    rows = np.zeros((len(scenario.engines), len(owners)), library.SETTING)
    for place, engine in enumerate(scenario.engines):
        for index, cluster in enumerate(owners):
            below = members.get((engine.name, cluster), set())
            row = rows[place, index]
            row["engine"], row["index"] = place, index
            row["mode"] = library.MODES[engine.modes.get(cluster, engine.mode)]
            row["wanted"], row["member"] = max(len(below), 1), min(below, default=0)
            row["distributes"] = engine.link.to is None or below == everyone[cluster]
    return rows.reshape(-1)


def _members(scenario: Scenario) -> Mapping[tuple[str, int], Set[int]]:
    """The workers of each cluster whose updates pass each engine."""
    first = {(source.engine, source.cluster, source.worker) for source in scenario.sources}
    if (trace := scenario.trace) is not None:
        engines = np.broadcast_to(np.asarray(trace.engine), len(trace.time)).tolist()
        first.update(zip(engines, trace.cluster.tolist(), trace.worker.tolist(), strict=True))
    onward = {engine.name: engine.link.to for engine in scenario.engines}
    found = defaultdict[tuple[str, int], set[int]](set)
    for engine, cluster, worker in first:
        at: str | None = engine
        while at is not None:
            found[at, cluster].add(worker)
            at = onward[at]
    return found


def _sources(scenario: Scenario) -> NDArray[np.void]:
    places = {engine.name: place for place, engine in enumerate(scenario.engines)}
    drawn = np.random.default_rng(scenario.seed)
    first = _first(scenario)
    numbers = {sender: number for number, sender in enumerate(_senders(scenario))}
    rows = np.zeros(len(scenario.sources), library.SOURCE)
    for row, source in zip(rows, scenario.sources, strict=True):
        phase = int(drawn.integers(source.period * _PS)) if source.phase is None else source.phase * _PS
        row["phase"], row["period"] = phase, source.period * _PS
        row["jitter"], row["delay"] = source.jitter * _PS, source.delay * _PS
        row["retry"] = source.retry * _PS
        row["engine"], row["index"] = places[source.engine], first[source.cluster]
        row["segments"] = scenario.segments.get(source.cluster, 1)
        row["worker"], row["size"] = source.worker, source.size
        row["sender"] = numbers[source.cluster, source.worker]
        if source.control is not None:
            row["v"], row["tolerance"] = source.control.v, source.control.tolerance
    return rows


def _arrivals(scenario: Scenario) -> NDArray[np.void]:
    trace = scenario.trace
    if trace is None:
        return np.zeros(0, library.ARRIVAL)
    rows = np.zeros(len(trace.time), library.ARRIVAL)
    rows["worker"] = trace.worker
    rows["time"], rows["index"] = trace.time * _PS, _first(scenario)[trace.cluster]
    if trace.segment is not None:
        rows["index"] += trace.segment.astype(np.uint32)
    for place, engine in enumerate(scenario.engines):
        rows["engine"][np.broadcast_to(np.asarray(trace.engine) == engine.name, len(rows))] = place
    rows["size"] = trace.size
    rows["seq"] = np.arange(len(rows)) if trace.round is None else trace.round
    codes, width = _codes(trace)
    numbers = np.zeros(1 + int(codes.max()), np.uint32)
    for number, (cluster, worker) in enumerate(_senders(scenario)):
        if worker < width and (code := cluster * width + worker) < len(numbers):
            numbers[code] = number
    rows["sender"] = numbers[codes]
    return rows


def _ps_per_byte(rate: float | None) -> float:
    return 0.0 if rate is None else 8e12 / rate


def _cluster(index: int, row: Any) -> Cluster:
    observed, peaks = int(row["observed"]), int(row["peak_count"])
    return Cluster(
        cluster=index,
        generated=int(row["generated"]),
        delivered=int(row["delivered"]),
        frames=int(row["frames"]),
        replaced=int(row["replaced"]),
        lost=int(row["lost"]),
        held=int(row["held"]),
        acknowledged=int(row["acknowledged"]),
        average_age=float(row["area"]) / observed / _PS if observed else None,
        mean_peak=float(row["peaks"]) / peaks / _PS if peaks else None,
        highest_peak=int(row["highest_peak"]) / _PS if peaks else None,
    )


def _receptions(native: ctypes.CDLL, simulation: int, owners: NDArray[np.uint32]) -> Receptions:
    at = ctypes.c_void_p()
    count = int(native.olaf_simulation_receptions(simulation, ctypes.byref(at)))
    raw = ctypes.string_at(at.value, count * library.RECEPTION.itemsize) if at.value else b""
    rows = np.frombuffer(raw, library.RECEPTION)
    return Receptions(
        index=rows["index"].astype(np.int64),
        cluster=owners[rows["index"]].astype(np.int64),
        generated=rows["generated"].copy(),
        time=rows["time"].copy(),
        count=rows["count"].astype(np.int64),
    )


def _workers(native: ctypes.CDLL, simulation: int, scenario: Scenario) -> tuple[Worker, ...]:
    senders = _senders(scenario)
    rows = np.zeros(len(senders), library.WORKER)
    native.olaf_simulation_workers(simulation, rows.ctypes.data)
    return tuple(
        Worker(
            cluster=cluster,
            worker=worker,
            delivered=int(row["delivered"]),
            average_age=float(row["area"]) / int(row["observed"]) / _PS if row["observed"] else None,
            reached=None if row["reached"] < 0 else int(row["reached"]) // _PS,
        )
        for (cluster, worker), row in zip(senders, rows, strict=True)
    )


def _check(result: Result, uncounted: int) -> None:
    """Raises OlafError unless every worker update is accounted for."""
    ended = sum(cluster.delivered + cluster.replaced + cluster.lost for cluster in result.clusters)
    if result.generated != ended + uncounted + result.under_way:
        raise OlafError(
            Problem(
                f"{result.generated} updates generated, {ended + uncounted + result.under_way} accounted for",
                "event-level model",
                "a defect of the model: please report it with the scenario",
            )
        )
