"""Runs a scenario, and measures it: Age-of-Model, loss and aggregation of each cluster."""

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olaflab.fairness import jain_index
from olaflab.model import library
from olaflab.model.scenario import MAX_TIME, Scenario
from olafswitch.errors import BadInput, OlafError, Problem

_AT_A_TIME = 5_000_000
"""Events between two reports of progress; also what an interrupt waits for."""


@dataclass(frozen=True)
class ClusterResult:
    """What became of one cluster's updates; ages in ns within (warm_up, duration].

    Of a cluster with segments an update counts once for each frame, and its age is its oldest segment's.
    """

    cluster: int
    generated: int
    """Worker updates that reached the first engine."""
    delivered: int
    """Updates in frames that the parameter server received."""
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
    def aggregated_updates(self) -> int:
        """Delivered updates that were merged into another's frame."""
        return self.delivered - self.frames


@dataclass(frozen=True)
class WorkerResult:
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

    clusters: tuple[ClusterResult, ...]
    """Clusters that sent something, by index."""
    engines: Mapping[str, Mapping[str, int]]
    """Counts by engine: updates of each disposition, sent, and dropped by the engine's link."""
    under_way: int
    """Worker updates in queues and on links at the end."""
    events: int
    receptions: Receptions | None
    """Departures, if the run records them."""
    workers: tuple[WorkerResult, ...]
    """Workers by cluster and number, if the run measures each."""

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
        """Return :attr:`average_age` over the clusters at ``places`` in :attr:`clusters`."""
        ages = [self.clusters[place].average_age for place in places]
        known = [age for age in ages if age is not None]
        return sum(known) / len(known) if known and len(known) == len(ages) else None

    @property
    def fairness(self) -> float | None:
        """Jain's index of the clusters' average ages, in [1/n, 1]; None when a cluster has none."""
        known = [cluster.average_age for cluster in self.clusters if cluster.average_age is not None]
        return jain_index(known) if known and len(known) == len(self.clusters) else None


def run_simulation(
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
    native = library.load_library()
    world = library.world_array(scenario, duration, warm_up)
    world["record"], world["initial"], world["goal"] = record, initial, goal
    world["senders"] = len(scenario.senders) if each_worker else 0
    with _open_simulation(scenario, world) as simulation:
        while native.olaf_simulation_run(simulation, _AT_A_TIME):
            progress(int(native.olaf_simulation_events(simulation)))
        rows = np.zeros(scenario.clusters, library.STRUCTS["Cluster"])
        native.olaf_simulation_clusters(simulation, rows.ctypes.data)
        counters = np.zeros(len(scenario.engines), library.STRUCTS["Counters"])
        native.olaf_simulation_engines(simulation, counters.ctypes.data)
        result = Result(
            clusters=tuple(_cluster_result(index, row) for index, row in enumerate(rows) if row["generated"]),
            engines={
                engine.name: {name: int(row[name]) for name in library.STRUCTS["Counters"].names or ()}
                for engine, row in zip(scenario.engines, counters, strict=True)
            },
            under_way=int(native.olaf_simulation_under_way(simulation)),
            events=int(native.olaf_simulation_events(simulation)),
            receptions=_read_receptions(native, simulation, library.index_owners(scenario))
            if record
            else None,
            workers=_worker_results(native, simulation, scenario) if each_worker else (),
        )
    _check_accounts(result, int(rows["uncounted"].sum()))
    return result


@contextmanager
def _open_simulation(scenario: Scenario, world: NDArray[np.void]) -> Iterator[int]:
    native = library.load_library()
    engines, settings, sources = (
        library.engine_array(scenario),
        library.settings_array(scenario),
        library.source_array(scenario),
    )
    arrivals, owners = library.arrival_array(scenario), library.index_owners(scenario)
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


def _cluster_result(index: int, row: Any) -> ClusterResult:
    observed, peaks = int(row["observed"]), int(row["peak_count"])
    return ClusterResult(
        cluster=index,
        generated=int(row["generated"]),
        delivered=int(row["delivered"]),
        frames=int(row["frames"]),
        replaced=int(row["replaced"]),
        lost=int(row["lost"]),
        held=int(row["held"]),
        acknowledged=int(row["acknowledged"]),
        average_age=float(row["area"]) / observed / library.PS if observed else None,
        mean_peak=float(row["peaks"]) / peaks / library.PS if peaks else None,
        highest_peak=int(row["highest_peak"]) / library.PS if peaks else None,
    )


def _read_receptions(native: ctypes.CDLL, simulation: int, owners: NDArray[np.uint32]) -> Receptions:
    at = ctypes.c_void_p()
    count = int(native.olaf_simulation_receptions(simulation, ctypes.byref(at)))
    raw = ctypes.string_at(at.value, count * library.STRUCTS["Reception"].itemsize) if at.value else b""
    rows = np.frombuffer(raw, library.STRUCTS["Reception"])
    return Receptions(
        index=rows["index"].astype(np.int64),
        cluster=owners[rows["index"]].astype(np.int64),
        generated=rows["generated"].copy(),
        time=rows["time"].copy(),
        count=rows["count"].astype(np.int64),
    )


def _worker_results(native: ctypes.CDLL, simulation: int, scenario: Scenario) -> tuple[WorkerResult, ...]:
    senders = scenario.senders
    rows = np.zeros(len(senders), library.STRUCTS["Worker"])
    native.olaf_simulation_workers(simulation, rows.ctypes.data)
    return tuple(
        WorkerResult(
            cluster=cluster,
            worker=worker,
            delivered=int(row["delivered"]),
            average_age=float(row["area"]) / int(row["observed"]) / library.PS if row["observed"] else None,
            reached=None if row["reached"] < 0 else int(row["reached"]) // library.PS,
        )
        for (cluster, worker), row in zip(senders, rows, strict=True)
    )


def _check_accounts(result: Result, uncounted: int) -> None:
    """Raise OlafError unless every worker update is accounted for."""
    ended = sum(cluster.delivered + cluster.replaced + cluster.lost for cluster in result.clusters)
    if result.generated != ended + uncounted + result.under_way:
        raise OlafError(
            Problem(
                f"{result.generated} updates generated, {ended + uncounted + result.under_way} accounted for",
                "event-level model",
                "a defect of the model: please report it with the scenario",
            )
        )
