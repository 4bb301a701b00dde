"""OLAF figure 7: how much sooner than with FIFO the server has 200 updates of each of 300 workers."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olafctl import paths, plotting
from olafctl.wire.modes import Mode
from olaflab.model.run import run
from olaflab.model.scenario import Engine, Scenario, Trace
from olaflab.papers import statistics
from olaflab.papers.figure import Points, Progress, Section, Table, modelled
from olaflab.papers.olaf.demo.experiment import TOGETHER, TRACE
from olaflab.papers.statistics import Figures, over
from olaflab.training.replay import schedule
from olaflab.training.replay import trace as traces
from olaflab.training.replay.schedule import serialised, spread
from olafswitch.errors import OlafError, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

WORKERS = 3
"""Workers of each cluster."""
GOAL = 200
"""Updates of each worker."""
RATES = (40, 20, 10, 5)
"""Gb/s of the output; 60 are offered on average."""
_LONGEST = 1 << 30
"""ns after which a run is given up."""
_BASE = (100, 8)
_OTHERS = ((9, 8), (20, 8), (50, 8), (100, 32), (100, 64))
"""Clusters, and slots of the queue."""
_SWEEP_RATES = (40, 20, 10)
_SWEEP_RUNS = 5


def measure(runs: int, progress: Progress) -> Points:
    """Every rate with both queues; each run turns every worker's recording by another amount."""
    found = {str(rate): _each(runs, rate, *_BASE, progress) for rate in RATES}
    few = min(runs, _SWEEP_RUNS)
    sweep = [
        {
            "clusters": clusters,
            "slots": slots,
            "rates": {str(rate): _each(few, rate, clusters, slots, progress) for rate in _SWEEP_RATES},
        }
        for clusters, slots in _OTHERS
    ]
    return {"runs": runs, "rates": found, "sweep": sweep}


def _each(runs: int, rate: int, clusters: int, slots: int, progress: Progress) -> Points:
    made = []
    for seed in range(runs):
        if seed % _SWEEP_RUNS == 0:
            progress(f"{clusters} clusters, {slots} slots, {rate} Gb/s: run {seed + 1} of {runs}")
        made.append(once(rate, seed, clusters, slots))
    return over(made).as_json()


def once(rate: int, seed: int, clusters: int, slots: int, goal: int = GOAL) -> dict[str, float]:
    """One run: ms and percent with either queue, and the speedup."""
    times, losses = time_to(goal, recorded_gaps(seed, clusters), rate, slots)
    return {
        "FIFO": times[Mode.FIFO] / 1e6,
        "Olaf": times[Mode.OLAF] / 1e6,
        "speedup": times[Mode.FIFO] / times[Mode.OLAF],
        "FIFO lost": 100 * losses[Mode.FIFO],
        "Olaf lost": 100 * losses[Mode.OLAF],
    }


def recorded_gaps(seed: int, clusters: int) -> NDArray[np.float64]:
    """(workers, U) ns between a worker's updates, at which all together offer 60 Gb/s on average."""
    trace = traces.load(paths.sources() / TRACE)
    time, _, _ = spread(trace, clusters * WORKERS)
    gaps = np.diff(time, axis=1, prepend=0).astype(np.float64)
    turns = np.random.default_rng(seed).integers(gaps.shape[1], size=len(gaps))
    gaps = np.stack([np.roll(row, turn) for row, turn in zip(gaps, turns, strict=True)])
    updates_per_ns = (1 / gaps.mean(axis=1)).sum()
    return np.asarray(gaps * (updates_per_ns * TOGETHER.frame_bytes * 8e9 / TOGETHER.offered))


def time_to(
    goal: int, gaps: NDArray[np.float64], rate: int, slots: int
) -> tuple[dict[Mode, float], dict[Mode, float]]:
    """ns until the server has ``goal`` updates of each worker with either queue, and the share lost by then.

    Every worker sends on until all have theirs. Raises OlafError when one does not get there in a second.
    """
    # What FIFO loses at least decides how often the slowest worker has to send.
    duration = round(1.3 * goal * float(gaps.mean(axis=1).max()) * max(1.0, TOGETHER.offered / (rate * 1e9)))
    while duration < _LONGEST:
        plan = endless(gaps, duration)
        times, losses = {}, {}
        for mode in (Mode.FIFO, Mode.OLAF):
            engine = Engine("engine", slots, rate * 1e9, mode=mode)
            found = run(Scenario((engine,), trace=plan), duration, each_worker=True, goal=goal)
            reached = [worker.reached for worker in found.workers if worker.reached is not None]
            if len(reached) < len(gaps):
                break
            times[mode], losses[mode] = float(max(reached)), found.loss
        else:
            return times, losses
        duration = duration * 3 // 2
    raise OlafError(Problem(f"a worker has not had {goal} updates delivered", f"figure 7, {rate} Gb/s"))


def endless(gaps: NDArray[np.float64], duration: int) -> Trace:
    """Every worker's recording, again and again for ``duration`` ns, over one link of 100 Gb/s."""
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
    sent = serialised(wanted[order], np.full(len(order), width))
    kept = sent < duration
    worker = worker[order][kept]
    return Trace("engine", sent[kept], worker // WORKERS, worker % WORKERS, TOGETHER.frame_bytes)


def section(data: Points) -> Section:
    """Times, losses and the speedup."""
    heads = ("output, Gb/s", "FIFO, ms", "lost, %", "Olaf, ms", "lost, %", "speedup")
    title = f"Time until {GOAL} updates of each worker; means and standard deviations of {data['runs']} runs"
    rows = [[rate, *_cells(kept)] for rate, kept in data["rates"].items()]
    runs = min(data["runs"], _SWEEP_RUNS)
    others = [
        [str(place["clusters"]), str(place["slots"]), rate, *_cells(kept)]
        for place in data["sweep"]
        for rate, kept in place["rates"].items()
    ]
    sweep = Table(f"Other numbers of clusters and slots; {runs} runs", ("clusters", "slots", *heads), others)
    return Section({"speedup": Table(title, heads, rows), "sweep": sweep})


def _cells(kept: Points) -> list[str]:
    found = Figures.of_json(kept)
    columns = (("FIFO", 1), ("FIFO lost", 1), ("Olaf", 1), ("Olaf lost", 1), ("speedup", 2))
    return [found.text(name, digits) for name, digits in columns]


def draw(data: Points, figure: "Drawing") -> None:
    """The speedup over the output's rate."""
    found = [Figures.of_json(kept) for kept in data["rates"].values()]
    means, spreads = zip(*(one.values["speedup"] for one in found), strict=True)
    axes = figure.subplots()
    axes.bar(list(data["rates"]), means, yerr=spreads, color=plotting.BLUE)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(xlabel="output, Gb/s", ylabel="T(FIFO) / T(Olaf)")


FIGURE = modelled(
    "fig7",
    "Figure 7: time until 200 updates of each worker",
    measure,
    section,
    draw,
    (6, 4),
    (
        Path(__file__),
        *(Path(module.__file__ or "") for module in (statistics, schedule)),
        paths.sources() / TRACE,
    ),
)
