"""Iterations to the same reward, with the staleness that arises: proximal policy optimisation on Hopper and
deterministic policy gradients on HalfCheetah, actor-critic and deep Q-learning on a pole on a cart.

Asynchrony is emulated as the paper emulates it, by the use of old weights (iSwitch §5.3, §6.2): staleness is
drawn from the histogram of an asynchronous run of the same algorithm's workload in the event-level model.
Each training is kept as soon as it has ended, so that an interrupted command goes on where it was.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from olaflab.model.iterations import Approach
from olaflab.papers.iswitch.costs import HostCosts
from olaflab.papers.iswitch.predicted import JITTER, staleness
from olaflab.papers.iswitch.published import WORKERS, WORKLOADS
from olaflab.papers.runs import Runs
from olaflab.papers.summary import estimate_mean
from olaflab.papers.trivial import quieten_gymnasium
from olaflab.training import cartpole
from olaflab.training.staled import cheetah, hopper, train
from olaflab.training.staled.train import DelayedTask, Learnt

TASKS: Mapping[str, DelayedTask] = {
    "DQN": DelayedTask(cartpole.DeepQ, 200.0, 40, 20_000, 50, times=3),
    "A2C": DelayedTask(cartpole.ActorCritic, 200.0, 40, 20_000, 50, times=3),
    "PPO": DelayedTask(hopper.HopperPolicy, 250.0, 10, 16_000, 50),
    "DDPG": DelayedTask(cheetah.Deterministic, 0.0, 10, 40_000, 200),
}
"""Tasks by the workload whose staleness they have. Returns of a pole are 500 at most; deep Q-learning stays
below 300."""


@dataclass(frozen=True)
class GradientWay:
    """How gradients become iterations."""

    name: str
    each: int
    """Gradients of an iteration."""
    stale: Approach | None
    """The workload whose staleness they have; None has none."""


WAYS = (
    GradientWay("synchronous", WORKERS, None),
    GradientWay("Async iSW", WORKERS, Approach.ENGINE_ASYNC),
    GradientWay("Async PS", 1, Approach.SERVER_ASYNC),
    GradientWay("one gradient an iteration, none stale", 1, None),
)


def measure_learning(
    costs: HostCosts, seeds: int, folder: Path, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Train in every way, by learner; one seed of all comes before the next. Raises OlafError."""
    quieten_gymnasium()
    kept = Runs(Learnt, folder / "iswitch", progress)
    counts = {
        (name, way.name): _staleness_counts(name, way, costs, progress) for name in TASKS for way in WAYS
    }
    runs: dict[tuple[str, str], list[Learnt]] = {each: [] for each in counts}
    for seed in range(seeds):
        for name, task in TASKS.items():
            for way in WAYS:
                stale = counts[name, way.name]
                limits = (task.goal, task.episodes, task.gradients, task.every)
                settings = {"each": way.each, "counts": stale, "limits": limits}
                for number in range(seed * task.times, (seed + 1) * task.times):
                    make = partial(_train_once, task, way, stale, number)
                    runs[name, way.name].append(kept.run_of(f"{name}-{way.name}", number, settings, make))
    return {
        "learners": {
            name: {
                "seeds": seeds * task.times,
                "goal": task.goal,
                "episodes": task.episodes,
                "gradients": task.gradients,
                "every": task.every,
                "ways": {
                    way.name: {
                        "each": way.each,
                        "staleness": _mean_staleness(counts[name, way.name]),
                        "iterations": [run.iterations for run in runs[name, way.name]],
                        "curves": [run.curve for run in runs[name, way.name]],
                    }
                    for way in WAYS
                },
            }
            for name, task in TASKS.items()
        },
    }


def _staleness_counts(
    name: str, way: GradientWay, costs: HostCosts, progress: Callable[[str], None]
) -> list[int]:
    """Count gradients by how many versions old they are."""
    if way.stale is None:
        return [1]
    progress(f"staleness of {name}, {way.name}")
    workload = next(each for each in WORKLOADS if each.name == name)
    counts: list[int] = staleness(way.stale, workload, costs, JITTER).staleness.tolist()
    return counts[: max(np.flatnonzero(counts)) + 1]


def _mean_staleness(counts: Sequence[int]) -> float:
    return float(np.average(np.arange(len(counts)), weights=counts))


def _train_once(task: DelayedTask, way: GradientWay, counts: Sequence[int], seed: int) -> Learnt:
    draw = partial(_draw_staleness, np.cumsum(np.array(counts) / sum(counts)))
    return train.train_with_delay(task, way.each, draw, seed)


def mean_with_interval(values: list[int | None]) -> tuple[float, float] | None:
    """Return a mean and half of its interval of 95 %; None unless all reached the goal."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len(known) < 2:
        return None
    found = estimate_mean(np.array(known, np.float64))
    return found.mean, found.interval


def _draw_staleness(sums: Any, random: np.random.Generator) -> int:
    return int(np.searchsorted(sums, random.random(), side="right"))
