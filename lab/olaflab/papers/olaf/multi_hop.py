"""OLAF §8.3 measured in the event-level model: tables 2 and 3, figure 10, and what the paper leaves open.

Figure 9's topology: ten clusters of ten workers; C1 … C5 (group S1) send to SW1, C6 … C10 (group S2) to SW2,
both lead to SW3 and it to the parameter server. An output is a rate limiter before a link of the same rate,
store and forward, as a device of ns-3 sends.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from olaf.worker.transmission import TOLERANCE
from scipy.stats import t

from olafctl.wire.modes import Mode
from olaflab.fairness import jain_index
from olaflab.model.run import run_simulation
from olaflab.model.scenario import EngineModel, LinkModel, Scenario, Source, TransmissionModel
from olaflab.papers import spreads
from olaflab.papers.figure import Points, Progress
from olaflab.papers.spreads import Spreads, spread_over

CLUSTERS, WORKERS = 10, 10
S1 = range(5)
"""The clusters of group S1; the others are S2."""
FRAME_BYTES = 1000
EDGE_SLOTS, CORE_SLOTS = 5, 8
MS, SECOND = 1_000_000, 1_000_000_000
SAME, APART = (100 * MS, 100 * MS), (100 * MS, 300 * MS)
"""Periods of S1 and S2 in table 2 and in table 3."""
WARM_UP, OBSERVED = 10 * SECOND, 100 * SECOND
SWEEP_RUNS = 10
"""Runs of each setup of a sweep, at most."""
_M = 1e6
_EDGES = (0.5, 0.55, 0.6, 0.7, 0.8, 1.0, 2.0, 100.0)
"""Outputs of SW1 and SW2, in Mb/s; the last is no bottleneck at all."""
_JITTERS = (0.0, 0.01, 0.1, 1.0)
_CORES = (0.5, 0.75, 1.0, 1.5)
_BEHIND = (25, 50, 75, 100)
_ALIKE = (1.0, 2.0, 5.0, 10.0)
"""Outputs of all three, in Mb/s, where all workers send at once."""
_FAIR = TransmissionModel(v=TOLERANCE, tolerance=TOLERANCE)
DEVICE_QUEUE = 100
"""Frames that a device of ns-3 holds by default."""
DEEP_FIFO = f"FIFO, {DEVICE_QUEUE} frames behind"
"""The name of FIFO with a device's queue behind each of its own."""
ALPHAS = tuple(tenth / 10 for tenth in range(1, 11))
_PLACES = ((0.7, 1.4), (0.7, 1.0), (0.5, 1.0), (1.0, 1.0), (1.0, 2.0), (5.0, 10.0), (5.0, 1.0))
"""Outputs of SW2 and SW3 in figure 10, in Mb/s; the first pair is its base."""
CODE = (Path(__file__), Path(spreads.__file__))
"""The files that decide what is measured."""


class Queue(StrEnum):
    """The rows of the paper's tables."""

    FIFO = "FIFO"
    OLAF = "Olaf"
    OLAF_TC = "Olaf_TC"


@dataclass(frozen=True)
class Setup:
    """A run as OLAF §8.3 describes it, with all that it leaves open."""

    queue: Queue
    periods: tuple[int, int]
    """ns between two updates of a worker of S1 and of S2."""
    x1: float = 0.7e6
    """bit/s of SW1's output."""
    x2: float = 0.7e6
    x3: float = 1e6
    jitter: float = 0.1
    """Greatest delay of an update, as a share of its period."""
    control: TransmissionModel = _FAIR
    """Parameters of Olaf_TC: fairness between clusters."""
    delay: int = 0
    """ns of each link, in each direction."""
    ack_bytes: int = 64
    active_window: int = SECOND
    """ns: more than three times the longest period, so that every cluster that sends counts as active."""
    behind: int = 0
    """Frames that wait behind each of FIFO's queues: a device's own queue, which Olaf's replaces."""
    together: bool = False
    """All workers send at the same instants, in an order drawn in each run, not at phases of their own."""


def make_scenario(setup: Setup, seed: int) -> Scenario:
    """Return ``setup`` with phases and jitter drawn from ``seed``."""

    def engine(name: str, slots: int, rate: float, to: str | None) -> EngineModel:
        link = LinkModel(to, rate, setup.delay)
        fifo = setup.queue is Queue.FIFO
        mode, behind = (Mode.FIFO, setup.behind) if fifo else (Mode.OLAF, 0)
        return EngineModel(name, slots + behind, rate, link, mode, active_window=setup.active_window)

    order = np.random.default_rng(seed).permutation(CLUSTERS * WORKERS)
    sources = tuple(
        Source(
            cluster,
            worker,
            "sw1" if cluster in S1 else "sw2",
            period=period,
            phase=int(order[WORKERS * cluster + worker]) if setup.together else None,
            jitter=round(setup.jitter * period),
            delay=setup.delay,
            size=FRAME_BYTES,
            control=setup.control if setup.queue is Queue.OLAF_TC else None,
        )
        for cluster in range(CLUSTERS)
        for period in (setup.periods[0 if cluster in S1 else 1],)
        for worker in range(WORKERS)
    )
    engines = (
        engine("sw1", EDGE_SLOTS, setup.x1, "sw3"),
        engine("sw2", EDGE_SLOTS, setup.x2, "sw3"),
        engine("sw3", CORE_SLOTS, setup.x3, None),
    )
    return Scenario(engines, sources, ack_bytes=setup.ack_bytes, seed=seed)


def measure_setup(setup: Setup, seeds: Sequence[int], observed: int = OBSERVED) -> Spreads:
    """Return means and spreads over runs of ``observed`` ns after the warm-up.

    ``loss`` and ``held`` are percent of what workers generated; ages are ms, ``age_s1`` by the clusters' own
    Age-of-Model (OLAF §6), ``peak`` the mean of all clusters' peaks, ``worker_s1`` by each worker's, in which
    only its own updates count; ``fairness`` is Jain's index over the ten clusters, ``worker_fairness`` over
    the hundred workers; ``starved`` counts clusters of which nothing was received, whose age is that of the
    initial model.
    """
    return spread_over(run_once(setup, seed, observed) for seed in seeds)


def run_once(setup: Setup, seed: int, observed: int = OBSERVED) -> dict[str, float]:
    """Return the values that :func:`measure_setup` spreads, of one run."""
    found = run_simulation(
        make_scenario(setup, seed), WARM_UP + observed, warm_up=WARM_UP, each_worker=True, initial=True
    )
    clusters = np.array([cluster.average_age for cluster in found.clusters], dtype=float) / MS
    workers = np.array([worker.average_age for worker in found.workers], dtype=float) / MS
    each = workers.reshape(CLUSTERS, WORKERS).mean(axis=1)
    edge = len(S1)
    held = sum(cluster.held for cluster in found.clusters)
    return {
        "loss": 100 * found.loss,
        "held": 100 * held / (held + found.generated),
        "age_s1": float(clusters[:edge].mean()),
        "age_s2": float(clusters[edge:].mean()),
        "fairness": jain_index(clusters),
        "worker_s1": float(each[:edge].mean()),
        "worker_s2": float(each[edge:].mean()),
        "worker_fairness": jain_index(workers),
        "peak": float(np.mean([c.mean_peak for c in found.clusters if c.mean_peak is not None])) / MS,
        "starved": sum(cluster.frames == 0 for cluster in found.clusters),
    }


@dataclass(frozen=True)
class Point:
    """A place in a sweep: its label, and its differences from the base in all queues."""

    sweep: str
    label: str
    changes: Mapping[str, Any]


def sweep_points() -> Iterator[Point]:
    """Vary all that OLAF §8.3 leaves open, one thing at a time; the edges' rates and the jitter together."""
    for edge in _EDGES:
        for jitter in _JITTERS:
            label = f"{edge:g} Mb/s, jitter {jitter:.0%}"
            yield Point("edge", label, {"x1": edge * _M, "x2": edge * _M, "jitter": jitter})
    for core in _CORES:
        changes = {"x1": 0.7 * core * _M, "x2": 0.7 * core * _M, "x3": core * _M}
        yield Point("core", f"{core:g} Mb/s", changes)
    for core in (0.4, 0.5):
        changes = {"x1": 100 * _M, "x2": 100 * _M, "x3": core * _M}
        yield Point("core", f"{core:g} Mb/s, SW1 and SW2 100 Mb/s", changes)
    for behind in _BEHIND:
        yield Point("behind", f"{behind} frames behind FIFO's slots", {"behind": behind})
    for rate in _ALIKE:
        for jitter in (0.01, 0.1):
            changes = {"x1": rate * _M, "x2": rate * _M, "x3": rate * _M, "jitter": jitter, "together": True}
            yield Point("together", f"all outputs {rate:g} Mb/s, jitter {jitter:.0%}", changes)
    for delay in (0, 1, 10):
        yield Point("delay", f"{delay} ms each way on every link", {"delay": delay * MS})


def control_points() -> Iterator[Point]:
    """Vary what transmission control leaves open (OLAF §5)."""
    for tolerance in (0.05, 0.1, 0.2, 0.4):
        for text, v in (("Δ_T", tolerance), ("1/Δ_T", 1 / tolerance)):
            label = f"Δ_T {tolerance * 1000:g} ms, v = {text}"
            yield Point("control", label, {"control": TransmissionModel(v, tolerance)})
    yield Point("control", "an ACK is as long as an update", {"ack_bytes": 1000})
    for window in (10, 100, 200, 400):
        label = f"active clusters: those of the last {window} ms"
        yield Point("control", label, {"active_window": window * MS})


def measure_sweeps(periods: tuple[int, int], runs: int, controls: bool, progress: Progress) -> Points:
    """Measure the base and every point of the sweeps; with ``controls`` those of transmission control, too.

    ``fairer`` is the mean difference in fairness that transmission control makes, run by run, with half of
    its 95 % interval.
    """
    progress(f"{runs} runs of each queue")
    each = {queue: [run_once(Setup(queue, periods), seed) for seed in range(runs)] for queue in Queue}
    both = zip(each[Queue.OLAF], each[Queue.OLAF_TC], strict=True)
    fairer = np.array([after["fairness"] - before["fairness"] for before, after in both])
    half = t.ppf(0.975, runs - 1) * fairer.std(ddof=1) / runs**0.5 if runs > 1 else np.nan
    base = {queue.value: spread_over(rows).as_json() for queue, rows in each.items()}
    deep = Setup(Queue.FIFO, periods, behind=DEVICE_QUEUE)
    base[DEEP_FIFO] = measure_setup(deep, range(runs)).as_json()
    found = []
    everything = [(point, list(Queue)) for point in sweep_points()]
    if controls:
        everything += [(point, [Queue.OLAF_TC]) for point in control_points()]
    for number, (point, queues) in enumerate(everything):
        if number % 8 == 0:
            progress(f"sweep, setup {number + 1} of {len(everything)}")
        setups = {queue.value: replace(Setup(queue, periods), **point.changes) for queue in queues}
        few = range(min(runs, SWEEP_RUNS))
        rows = {name: measure_setup(setup, few).as_json() for name, setup in setups.items()}
        found.append({"sweep": point.sweep, "label": point.label, "queues": rows})
    return {"runs": runs, "base": base, "fairer": [float(fairer.mean()), float(half)], "sweep": found}


def measure_bottleneck(runs: int, progress: Progress) -> Points:
    """Measure figure 10: every α under every queue, at the base's rates and at the sweep's."""
    places = []
    for x2, x3 in _PLACES:
        progress(f"x2 = {x2:g} Mb/s, x3 = {x3:g} Mb/s")
        number = runs if (x2, x3) == _PLACES[0] else min(runs, SWEEP_RUNS)
        curves = {}
        for queue in Queue:
            setups = [Setup(queue, SAME, x1=alpha * x2 * 1e6, x2=x2 * 1e6, x3=x3 * 1e6) for alpha in ALPHAS]
            curves[queue.value] = [measure_setup(setup, range(number)).as_json() for setup in setups]
        places.append({"x2": x2, "x3": x3, "runs": number, "curves": curves})
    return {"places": places}


def ns3_scenarios(seed: int) -> Sequence[tuple[str, Scenario]]:
    """Return table 2's base with Olaf and with FIFO, as another simulator can run it."""
    return [(queue.value, make_scenario(Setup(queue, SAME), seed)) for queue in (Queue.OLAF, Queue.FIFO)]
