"""OLAF §8.1 measured in the event-level model: a recorded training before one engine of 8 slots.

The arrivals, the measures and the windows are those of ``olafctl demo``, which sends the same through the
twin.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from olafctl import paths
from olafctl.verify import aom
from olafctl.wire.modes import Mode
from olaflab.model import library
from olaflab.model.run import Receptions, run
from olaflab.model.scenario import Engine, Scenario, Trace
from olaflab.papers.olaf.demo.experiment import TOGETHER, TRACE
from olaflab.training.replay import trace as traces
from olaflab.training.replay.schedule import Load, Schedule, schedule

CLUSTERS, WORKERS, SLOTS = 9, 3, 8
G = 10**9
_PS = 1000


@dataclass(frozen=True)
class Outcome:
    """One replay; counts are updates."""

    sent: int
    received: int
    """Frames at the parameter server."""
    merged: int
    replaced: int
    lost: int
    age: float
    """ns: the mean of the clusters' average ages, each from its first update sent to its last."""
    counts: Counter[int]
    """Worker updates in a received frame → frames."""


def load(at_once: int | None, order: int) -> Load:
    """``at_once`` clusters train at a time, in an order drawn from ``order``; None: all together."""
    return TOGETHER if at_once is None else replace(TOGETHER, at_once=at_once, order=order)


def planned(wanted: Load) -> Schedule:
    """When the recorded training's updates are sent."""
    trace = traces.load(paths.sources() / TRACE)
    return schedule(trace, np.arange(CLUSTERS * WORKERS) // WORKERS, wanted)


def replay(plan: Schedule, frame_bytes: int, mode: Mode, rate: int, slots: int = SLOTS) -> Outcome:
    """Send a plan through one engine of ``slots`` slots whose output takes ``rate`` bit/s."""
    cluster = plan.worker // WORKERS
    trace = Trace("engine", plan.time, cluster, plan.worker % WORKERS, frame_bytes)
    engine = Engine("engine", slots, rate, mode=mode)
    end = int(plan.time[-1]) + G
    found = run(Scenario((engine,), trace=trace), end, record=True)
    assert found.receptions is not None
    counters = found.engines["engine"]
    return Outcome(
        sent=len(plan.time),
        received=counters["sent"],
        merged=counters["merged"],
        replaced=counters["replaced_worker"],
        lost=sum(counters[name] for name in library.DISPOSITIONS if name.startswith("dropped")),
        age=float(np.mean(_ages(found.receptions, plan, cluster))),
        counts=Counter(found.receptions.count.tolist()),
    )


def _ages(receptions: Receptions, plan: Schedule, cluster: np.ndarray) -> Sequence[float]:
    ages = []
    for number in range(CLUSTERS):
        sent, mine = plan.time[cluster == number], receptions.cluster == number
        window = int(sent.min()) * _PS, int(sent.max()) * _PS
        average = aom.ages(receptions.generated[mine], receptions.time[mine], *window).average
        assert average is not None, "a cluster without any reception"
        ages.append(average / _PS)
    return ages
