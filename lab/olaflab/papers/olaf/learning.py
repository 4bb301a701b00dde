"""Figures 2 and 3 of OLAF: how fast and how far LunarLander is learnt, by strategy and number of workers."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olaf.policies import Periodic, Plain, PolicyMaker, RewardGated, Synchronous

from olafctl.targets.interface import Progress
from olafctl.wire.modes import Mode
from olaflab.papers.curves import COLUMNS, points
from olaflab.papers.olaf.lab import Lab, Queue, Run, lab
from olaflab.papers.runs import Runs, final, mean_reward
from olaflab.papers.summary import Summary, estimate
from olaflab.training.plan import Pace, Plan
from olaflab.training.record import SLOWDOWNS

STEP = 0.001
"""Seconds of virtual time for an environment step on the fastest hardware."""
WORKERS = 8
NUMBERS = (1, 2, 4, 8, 16)
IDEAL = Queue(Mode.FIFO)
"""Nothing waits, so nothing is merged or lost."""
GATE = "async, reward gate (Olaf)"
PLAIN = "async, every update"
PERIODIC = "periodic (iSwitch)"
SYNCHRONOUS = "synchronous (SwitchML)"


@dataclass(frozen=True)
class Strategy:
    """How the parameter server moves the weights, and whether workers wait for it."""

    policy: PolicyMaker
    waits: bool = False


STRATEGIES = {
    GATE: Strategy(RewardGated),
    PLAIN: Strategy(Plain),
    PERIODIC: Strategy(partial(Periodic, updates=WORKERS)),
    SYNCHRONOUS: Strategy(partial(Synchronous, workers=WORKERS), waits=True),
}
"""Those of figure 2, and the first one without its gate."""


def figure2(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Eight heterogeneous workers under each strategy, without congestion."""
    runs = Runs(Run, folder, progress)
    with lab(f"learning-{WORKERS}", 1, WORKERS, max(NUMBERS), progress) as twin:
        curves = {
            name: [_uncongested(twin, runs, name, WORKERS, updates, seed) for seed in range(1, seeds + 1)]
            for name in STRATEGIES
        }
    ends = {name: final(found) for name, found in curves.items()}
    rows = [
        (
            name,
            estimate(mean_reward(found)),
            estimate(ends[name]),
            round(float(np.mean([run.seconds[-1] for run in found])), 1),
            f"{sum(run.refused for run in found) / sum(run.received for run in found):.0%}",
        )
        for name, found in curves.items()
    ]
    return Summary(
        f"{WORKERS} heterogeneous workers",
        {**_settings(WORKERS, updates), "seeds": seeds},
        ("strategy", "mean reward", "end reward", "seconds", "refused"),
        rows,
        dict(
            above(f"{first} ends above {other}", ends[first], ends[other])
            for first in (GATE, PLAIN)
            for other in (PERIODIC, SYNCHRONOUS)
        ),
        COLUMNS,
        list(points(curves)),
    )


def figure3(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """One cluster of ever more workers, each update applied at once, without congestion."""
    runs = Runs(Run, folder, progress)
    curves: dict[str, list[Run]] = {}
    for workers in NUMBERS:
        with lab(f"learning-{workers}", 1, workers, max(NUMBERS), progress) as twin:
            curves[f"N = {workers}"] = [
                _uncongested(twin, runs, PLAIN, workers, updates, seed) for seed in range(1, seeds + 1)
            ]
    areas = {name: mean_reward(found) for name, found in curves.items()}
    rows = [
        (name, estimate(areas[name]), estimate(final(found)), _reached(found, 0.0))
        for name, found in curves.items()
    ]
    return Summary(
        "more workers",
        {**_settings(0, updates), "workers": NUMBERS, "seeds": seeds},
        ("workers", "mean reward", "end reward", "updates to reward 0"),
        rows,
        dict(
            above(f"{more} learns faster than {less}", areas[more], areas[less])
            for less, more in pairwise(areas)
        ),
        COLUMNS,
        list(points(curves)),
    )


def _settings(workers: int, updates: int) -> dict[str, Any]:
    return {"workers": workers, "updates": updates, "slowdowns": SLOWDOWNS, "step_seconds": STEP}


def _uncongested(twin: Lab, runs: Runs[Run], name: str, workers: int, updates: int, seed: int) -> Run:
    """A run of figure 2 or 3; what both have is made once."""
    strategy = STRATEGIES[name]
    pace = Pace(step=STEP, slowdowns=SLOWDOWNS)
    plan = Plan(updates, 1, pace, seed, strategy.policy, control=False, waits=strategy.waits)
    curve = f"strategy{list(STRATEGIES).index(name)}-{workers}"
    return runs.of(curve, seed, _settings(workers, updates), partial(twin.train, IDEAL, plan))


def above(claim: str, higher: NDArray[np.float64], lower: NDArray[np.float64]) -> tuple[str, bool]:
    """A claim with the difference, seed by seed; it holds when its interval is above 0."""
    difference = estimate(higher - lower)
    return f"{claim}, by {difference}", difference.mean > difference.interval


def _reached(runs: list[Run], reward: float) -> str:
    """Updates until the mean of the ten last rewards, over all seeds, reached ``reward``."""
    mean = np.convolve(np.mean([run.rewards for run in runs], axis=0), np.ones(10) / 10, "valid")
    above = np.flatnonzero(mean >= reward)
    return str(int(above[0]) + 10) if len(above) else "not reached"
