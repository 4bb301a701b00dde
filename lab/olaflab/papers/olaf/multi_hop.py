"""OLAF §8.3 measured in the event-level model: tables 2 and 3, figure 10.

Figure 9's topology: ten clusters of ten workers; C1 … C5 (group S1) send to SW1, C6 … C10 (group S2) to SW2,
both lead to SW3 and it to the parameter server. An output is a rate limiter before a link of the same rate,
store and forward, as a device of ns-3 sends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from olaf.worker.transmission import TOLERANCE

from olafctl.wire.modes import Mode
from olaflab.fairness import jain
from olaflab.model.run import run
from olaflab.model.scenario import Control, Engine, Link, Scenario, Source
from olaflab.papers.statistics import Figures, over

CLUSTERS, WORKERS = 10, 10
S1 = range(5)
"""The clusters of group S1; the others are S2."""
FRAME_BYTES = 1000
EDGE_SLOTS, CORE_SLOTS = 5, 8
MS, SECOND = 1_000_000, 1_000_000_000
SAME, APART = (100 * MS, 100 * MS), (100 * MS, 300 * MS)
"""Periods of S1 and S2 in table 2 and in table 3."""
FAIR = Control(v=TOLERANCE, tolerance=TOLERANCE)
URGENT = Control(v=1 / TOLERANCE, tolerance=TOLERANCE)
WARM_UP, OBSERVED = 10 * SECOND, 100 * SECOND


class Queue(StrEnum):
    """The rows of the paper's tables."""

    FIFO = "FIFO"
    OLAF = "Olaf"
    OLAF_TC = "Olaf_TC"


@dataclass(frozen=True)
class Setup:
    """What OLAF §8.3 says of a run, and what it leaves open."""

    queue: Queue
    periods: tuple[int, int]
    """ns between two updates of a worker of S1 and of S2."""
    x1: float = 0.7e6
    """bit/s of SW1's output."""
    x2: float = 0.7e6
    x3: float = 1e6
    jitter: float = 0.1
    """Each update is late by up to this share of its period."""
    control: Control = FAIR
    """Parameters of Olaf_TC."""
    delay: int = 0
    """ns of each link, in each direction."""
    ack_bytes: int = 64
    active_window: int = SECOND
    """ns: more than three times the longest period, so that every cluster that sends counts as active."""
    behind: int = 0
    """Frames that wait behind each of FIFO's queues: a device's own queue, in whose place Olaf's is."""
    together: bool = False
    """All workers send at the same instants, in an order drawn in each run, not at phases of their own."""


def scenario(setup: Setup, seed: int) -> Scenario:
    """``setup`` with phases and jitter drawn from ``seed``."""

    def engine(name: str, slots: int, rate: float, to: str | None) -> Engine:
        link = Link(to, rate, setup.delay)
        fifo = setup.queue is Queue.FIFO
        mode, behind = (Mode.FIFO, setup.behind) if fifo else (Mode.OLAF, 0)
        return Engine(name, slots + behind, rate, link, mode, active_window=setup.active_window)

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


def measure(setup: Setup, seeds: Sequence[int], observed: int = OBSERVED) -> Figures:
    """Means and spreads over runs of ``observed`` ns after the warm-up.

    ``loss`` and ``held`` are percent of what workers generated; ages are ms, ``age_s1`` by the clusters' own
    Age-of-Model (OLAF §6), ``peak`` the mean of all clusters' peaks, ``worker_s1`` by each worker's, in which
    only its own updates count; ``fairness`` is Jain's index over the ten clusters, ``worker_fairness`` over
    the hundred workers; ``starved`` counts clusters of which nothing was received, whose age is that of the
    initial model.
    """
    return over(once(setup, seed, observed) for seed in seeds)


def once(setup: Setup, seed: int, observed: int = OBSERVED) -> dict[str, float]:
    """The figures of :func:`measure` of one run."""
    found = run(scenario(setup, seed), WARM_UP + observed, warm_up=WARM_UP, each_worker=True, initial=True)
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
        "fairness": jain(clusters),
        "worker_s1": float(each[:edge].mean()),
        "worker_s2": float(each[edge:].mean()),
        "worker_fairness": jain(workers),
        "peak": float(np.mean([c.mean_peak for c in found.clusters if c.mean_peak is not None])) / MS,
        "starved": sum(cluster.frames == 0 for cluster in found.clusters),
    }
