"""OLAF §8.1 and figure 7 measured in the event-level model: recorded trainings before one engine.

Table 1 and figure 6 replay one recorded training; the arrivals, the measures and the windows are those of
``olafctl demo``, which sends the same through the twin. Figure 7 asks how much sooner than with FIFO the
server has 200 updates of each of 300 workers.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from olafctl import paths
from olafctl.verify import aom
from olafctl.wire.modes import Mode
from olaflab.model import library
from olaflab.model.run import Receptions, run_simulation
from olaflab.model.scenario import EngineModel, Scenario, Trace
from olaflab.papers import spreads
from olaflab.papers.figure import Points, Progress
from olaflab.papers.olaf.demo.experiment import AT_ONCE, TOGETHER, TRACE
from olaflab.papers.spreads import spread_over
from olaflab.training.replay import trace as schedules
from olaflab.training.replay import trace as traces
from olaflab.training.replay.report import mode_text
from olaflab.training.replay.run import relative_reduction
from olaflab.training.replay.trace import (
    ReplayLoad,
    ReplaySchedule,
    schedule_updates,
    serialise_times,
    spread_times,
)
from olafswitch.errors import OlafError, Problem

CLUSTERS, WORKERS, SLOTS = 9, 3, 8
G = 10**9
_PS = 1000
RATES_1, RATES_6, RATES_7 = (40, 20), (40, 20, 5), (40, 20, 10, 5)
"""Gb/s of the output in table 1, figure 6 and figure 7."""
KS = (2, 3, 4, 5, 6, 7, 9)
"""Clusters that train at a time."""
GOAL = 200
"""Updates of each worker in figure 7."""
FEW = 5
"""Runs of each setup of figure 7's sweep."""
_BASE = (100, 8)
_OTHERS = ((9, 8), (20, 8), (50, 8), (100, 32), (100, 64))
"""Clusters, and slots of the queue, of figure 7."""
_SWEEP_RATES = (40, 20, 10)
_LONGEST = 1 << 30
"""ns after which a run of figure 7 is given up."""
CODE = (
    Path(__file__),
    *(Path(module.__file__ or "") for module in (spreads, schedules)),
    paths.sources() / TRACE,
)
"""The files that decide what is measured."""


@dataclass(frozen=True)
class Replayed:
    """The outcome of one replay; counts are updates."""

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


def make_load(at_once: int | None, order: int) -> ReplayLoad:
    """Let ``at_once`` clusters train at a time, in an order drawn from ``order``; None: all together."""
    return TOGETHER if at_once is None else replace(TOGETHER, at_once=at_once, order=order)


def make_plan(wanted: ReplayLoad) -> ReplaySchedule:
    """Return when the recorded training's updates are sent."""
    trace = traces.load_trace(paths.sources() / TRACE)
    return schedule_updates(trace, np.arange(CLUSTERS * WORKERS) // WORKERS, wanted)


def replay_plan(
    plan: ReplaySchedule, frame_bytes: int, mode: Mode, rate: int, slots: int = SLOTS
) -> Replayed:
    """Send a plan through one engine of ``slots`` slots whose output takes ``rate`` bit/s."""
    cluster = plan.worker // WORKERS
    trace = Trace("engine", plan.time, cluster, plan.worker % WORKERS, frame_bytes)
    engine = EngineModel("engine", slots, rate, mode=mode)
    end = int(plan.time[-1]) + G
    found = run_simulation(Scenario((engine,), trace=trace), end, record=True)
    assert found.receptions is not None
    counters = found.engines["engine"]
    return Replayed(
        sent=len(plan.time),
        received=counters["sent"],
        merged=counters["merged"],
        replaced=counters["replaced_worker"],
        lost=sum(counters[name] for name in library.DISPOSITIONS if name.startswith("dropped")),
        age=float(np.mean(_cluster_ages(found.receptions, plan, cluster))),
        counts=Counter(found.receptions.count.tolist()),
    )


def _cluster_ages(receptions: Receptions, plan: ReplaySchedule, cluster: np.ndarray) -> Sequence[float]:
    ages = []
    for number in range(CLUSTERS):
        sent, mine = plan.time[cluster == number], receptions.cluster == number
        window = int(sent.min()) * _PS, int(sent.max()) * _PS
        average = aom.ages(receptions.generated[mine], receptions.time[mine], *window).average
        assert average is not None, "a cluster without any reception"
        ages.append(average / _PS)
    return ages


def name_setting(mode: Mode, rate: int) -> str:
    """Return the name of a queue at an output rate, such as ``FIFO 40 Gb/s``."""
    return f"{mode_text(mode)} {rate} Gb/s"


def measure_table1(runs: int, progress: Progress) -> Points:
    """Replay with every number of clusters at a time; nine have no order to choose, so one run.

    The paper does not say when a slot is free again. Ours is when its update begins to leave; a slot that is
    held until the update is sent is one less for those that wait, since a free output has nothing waiting.
    """
    found = {}
    for k in KS:
        progress(f"{k} clusters at a time")
        orders = range(1 if k == CLUSTERS else runs)
        found[str(k)] = spread_over(_replay_all(k, order) for order in orders).as_json()
    return {"runs": runs, "at_once": found}


def _replay_all(k: int, order: int) -> dict[str, float]:
    wanted = make_load(None if k == CLUSTERS else k, order)
    plan = make_plan(wanted)
    figures: dict[str, float] = {}
    for rate in RATES_1:
        fifo, olaf = (
            replay_plan(plan, wanted.frame_bytes, mode, rate * G) for mode in (Mode.FIFO, Mode.OLAF)
        )
        for mode, one in ((Mode.FIFO, fifo), (Mode.OLAF, olaf)):
            name = name_setting(mode, rate)
            figures |= {
                f"{name} received": one.received,
                f"{name} merged": one.merged,
                f"{name} replaced": one.replaced,
                f"{name} lost": 100 * one.lost / one.sent,
                f"{name} age": one.age / 1000,
            }
        held = replay_plan(plan, wanted.frame_bytes, Mode.OLAF, rate * G, SLOTS - 1)
        figures[f"{rate} held lost"] = 100 * held.lost / held.sent
        figures[f"{rate} less"] = 100 * (relative_reduction(fifo.age, olaf.age) or 0.0)
    return figures


def measure_figure6(runs: int, progress: Progress) -> Points:
    """Count frames by the updates in them, all runs together: in turn as in table 1, and all together."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for name, at_once, number in (("in turn", AT_ONCE, runs), ("together", None, 1)):
        progress(name)
        totals = {rate: Counter[int]() for rate in RATES_6}
        for order in range(number):
            wanted = make_load(at_once, order)
            plan = make_plan(wanted)
            for rate in RATES_6:
                totals[rate] += replay_plan(plan, wanted.frame_bytes, Mode.OLAF, rate * G).counts
        found[name] = {str(r): {str(n): f for n, f in sorted(total.items())} for r, total in totals.items()}
    return {"runs": runs, "frames": found}


def measure_figure7(runs: int, progress: Progress) -> Points:
    """Measure every rate with both queues; each run turns every worker's recording by another amount."""
    found = {str(rate): _measure_times(runs, rate, *_BASE, progress) for rate in RATES_7}
    few = min(runs, FEW)
    sweep = []
    for clusters, slots in _OTHERS:
        rates = {str(rate): _measure_times(few, rate, clusters, slots, progress) for rate in _SWEEP_RATES}
        sweep.append({"clusters": clusters, "slots": slots, "rates": rates})
    return {"runs": runs, "rates": found, "sweep": sweep}


def _measure_times(runs: int, rate: int, clusters: int, slots: int, progress: Progress) -> Points:
    made = []
    for seed in range(runs):
        if seed % FEW == 0:
            progress(f"{clusters} clusters, {slots} slots, {rate} Gb/s: run {seed + 1} of {runs}")
        times, losses = time_to(GOAL, recorded_gaps(seed, clusters), rate, slots)
        made.append(
            {
                "FIFO": times[Mode.FIFO] / 1e6,
                "Olaf": times[Mode.OLAF] / 1e6,
                "speedup": times[Mode.FIFO] / times[Mode.OLAF],
                "FIFO lost": 100 * losses[Mode.FIFO],
                "Olaf lost": 100 * losses[Mode.OLAF],
            }
        )
    return spread_over(made).as_json()


def recorded_gaps(seed: int, clusters: int) -> NDArray[np.float64]:
    """Return (workers, U) ns between a worker's updates, at which all together offer 60 Gb/s on average."""
    trace = traces.load_trace(paths.sources() / TRACE)
    time, _, _ = spread_times(trace, clusters * WORKERS)
    gaps = np.diff(time, axis=1, prepend=0).astype(np.float64)
    turns = np.random.default_rng(seed).integers(gaps.shape[1], size=len(gaps))
    gaps = np.stack([np.roll(row, turn) for row, turn in zip(gaps, turns, strict=True)])
    updates_per_ns = (1 / gaps.mean(axis=1)).sum()
    return np.asarray(gaps * (updates_per_ns * TOGETHER.frame_bytes * 8e9 / TOGETHER.offered))


def time_to(
    goal: int, gaps: NDArray[np.float64], rate: int, slots: int
) -> tuple[dict[Mode, float], dict[Mode, float]]:
    """Return ns until the server has ``goal`` updates of each worker with either queue, and the share lost.

    Every worker sends on until all have theirs. Raises OlafError when one does not get there in a second.
    """
    # The losses of FIFO decide how often the slowest worker has to send.
    duration = round(1.3 * goal * float(gaps.mean(axis=1).max()) * max(1.0, TOGETHER.offered / (rate * 1e9)))
    while duration < _LONGEST:
        plan = repeat_gaps(gaps, duration)
        times, losses = {}, {}
        for mode in (Mode.FIFO, Mode.OLAF):
            engine = EngineModel("engine", slots, rate * 1e9, mode=mode)
            found = run_simulation(Scenario((engine,), trace=plan), duration, each_worker=True, goal=goal)
            reached = [worker.reached for worker in found.workers if worker.reached is not None]
            if len(reached) < len(gaps):
                break
            times[mode], losses[mode] = float(max(reached)), found.loss
        else:
            return times, losses
        duration = duration * 3 // 2
    raise OlafError(Problem(f"a worker has not had {goal} updates delivered", f"figure 7, {rate} Gb/s"))


def repeat_gaps(gaps: NDArray[np.float64], duration: int) -> Trace:
    """Repeat every worker's recording for ``duration`` ns, over one link of 100 Gb/s."""
    # A worker begins somewhere within its first gap.
    begins = np.random.default_rng(0).random(len(gaps)) * gaps[:, 0]
    times = [
        np.cumsum(np.tile(row, int(duration / row.sum()) + 2)) - begin
        for row, begin in zip(gaps, begins, strict=True)
    ]
    times = [row[row < duration] for row in times]
    worker = np.repeat(np.arange(len(gaps)), [len(row) for row in times])
    wanted = np.concatenate(times)
    order = np.argsort(wanted, kind="stable")
    width = TOGETHER.frame_bytes * 8e9 / TOGETHER.link
    sent = serialise_times(wanted[order], np.full(len(order), width))
    kept = sent < duration
    worker = worker[order][kept]
    return Trace("engine", sent[kept], worker // WORKERS, worker % WORKERS, TOGETHER.frame_bytes)
