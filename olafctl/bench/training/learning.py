"""Figures 2, 3 and 8 of OLAF: how fast and how far LunarLander is learnt, by strategy, workers and queue."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from olaf.policies import Periodic, Plain, PolicyMaker, RewardGated, Synchronous

from olafctl.bench.training.curves import COLUMNS, drawn, points
from olafctl.bench.training.lab import Lab, Queue, Run, lab
from olafctl.bench.training.report import Figure, estimate
from olafctl.bench.training.runs import Runs, final, mean_reward
from olafctl.queue.internals import Mode
from olafctl.targets.interface import Progress
from olafctl.train.plan import Pace, Plan
from olafctl.train.record import SLOWDOWNS

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
CLUSTERS, MEMBERS, SLOTS = 2, 3, 2
UPDATE = 0.15
"""Seconds of virtual time for an update in figure 8: the load is the same from beginning to end."""
JITTER = 0.3
LOCAL_RATE = 1e-3
"""Of figure 8's workers, twice the usual: three workers a cluster learn in as many updates as six would."""
FRAME_BITS = 8 * 8884
OFFERED = CLUSTERS * MEMBERS * FRAME_BITS / UPDATE
"""bit/s that all workers of figure 8 send together."""
LOSSES = {"FIFO, 55 % lost": 0.55, "FIFO, 74 % lost": 0.74}
PAPER_GAIN = (0.82, 0.865)
"""By how much Olaf's end reward is above FIFO's at 40 and at 20 Gb/s (OLAF §8.2)."""


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


def figure2(updates: int, seeds: int, folder: Path, progress: Progress) -> Figure:
    """Eight heterogeneous workers under each strategy, without congestion."""
    runs = Runs(folder, progress)
    with lab(f"learning-{WORKERS}", 1, WORKERS, max(NUMBERS), progress) as twin:
        curves = {
            name: [_uncongested(twin, runs, name, WORKERS, updates, seed) for seed in range(1, seeds + 1)]
            for name in STRATEGIES
        }
    ends = {name: estimate(final(found)) for name, found in curves.items()}
    rows = [
        (
            name,
            estimate(mean_reward(found)),
            ends[name],
            round(float(np.mean([run.seconds[-1] for run in found])), 1),
            f"{sum(run.refused for run in found) / sum(run.received for run in found):.0%}",
        )
        for name, found in curves.items()
    ]
    return Figure(
        "figure2",
        f"{WORKERS} heterogeneous workers",
        {**_settings(WORKERS, updates), "seeds": seeds},
        ("strategy", "mean reward", "end reward", "seconds", "refused"),
        rows,
        {
            f"{first} ends above {other}": ends[first].mean > ends[other].mean
            for first in (GATE, PLAIN)
            for other in (PERIODIC, SYNCHRONOUS)
        },
        COLUMNS,
        list(points(curves)),
        drawn(curves, f"{WORKERS} heterogeneous workers"),
    )


def figure3(updates: int, seeds: int, folder: Path, progress: Progress) -> Figure:
    """One cluster of ever more workers, each update applied at once, without congestion."""
    runs = Runs(folder, progress)
    curves: dict[str, list[Run]] = {}
    for workers in NUMBERS:
        with lab(f"learning-{workers}", 1, workers, max(NUMBERS), progress) as twin:
            curves[f"N = {workers}"] = [
                _uncongested(twin, runs, PLAIN, workers, updates, seed) for seed in range(1, seeds + 1)
            ]
    areas = [estimate(mean_reward(found)) for found in curves.values()]
    rows = [
        (name, area, estimate(final(found)), _reached(found, 0.0))
        for (name, found), area in zip(curves.items(), areas, strict=True)
    ]
    means = [area.mean for area in areas]
    return Figure(
        "figure3",
        "more workers",
        {**_settings(0, updates), "workers": NUMBERS, "seeds": seeds},
        ("workers", "mean reward", "end reward", "updates to reward 0"),
        rows,
        {
            f"N = {more} learns faster than N = {less}": above > below
            for less, more, below, above in zip(NUMBERS, NUMBERS[1:], means, means[1:], strict=False)
        },
        COLUMNS,
        list(points(curves)),
        drawn(curves, "more workers"),
    )


def _settings(workers: int, updates: int) -> dict[str, Any]:
    return {"workers": workers, "updates": updates, "slowdowns": SLOWDOWNS, "step_seconds": STEP}


def _uncongested(twin: Lab, runs: Runs, name: str, workers: int, updates: int, seed: int) -> Run:
    """A run of figure 2 or 3; what both have is made once."""
    strategy = STRATEGIES[name]
    pace = Pace(step=STEP, slowdowns=SLOWDOWNS)
    plan = Plan(updates, 1, pace, seed, strategy.policy, control=False, waits=strategy.waits)
    curve = f"strategy{list(STRATEGIES).index(name)}-{workers}"
    return runs.of(curve, seed, _settings(workers, updates), partial(twin.train, IDEAL, plan))


def figure8(updates: int, seeds: int, folder: Path, progress: Progress) -> Figure:
    """Two clusters behind no queue, FIFO and Olaf's, at the output rates where FIFO loses 55 and 74 %."""
    queues = {"ideal": IDEAL}
    for name, loss in LOSSES.items():
        queues[name] = Queue(Mode.FIFO, round(OFFERED * (1 - loss)))
    for name, loss in LOSSES.items():
        queues[name.replace("FIFO", "Olaf").replace("lost", "less output")] = Queue(
            Mode.OLAF, round(OFFERED * (1 - loss))
        )
    settings = {
        "clusters": CLUSTERS,
        "workers": MEMBERS,
        "slots": SLOTS,
        "updates": updates,
        "update_seconds": UPDATE,
        "jitter": JITTER,
        "policy": "plain",
        "local_rate": LOCAL_RATE,
    }
    runs = Runs(folder, progress)
    curves: dict[str, list[Run]] = {name: [] for name in queues}
    with lab("figure8", CLUSTERS, MEMBERS, SLOTS, progress) as twin:
        for seed in range(1, seeds + 1):
            for number, (name, queue) in enumerate(queues.items()):
                pace = Pace(update=UPDATE, jitter=JITTER)
                control = queue.mode is Mode.OLAF
                plan = Plan(updates, 1, pace, seed, Plain, control=control, local_rate=LOCAL_RATE)
                made_with = {**settings, "mode": queue.mode.name, "rate": queue.rate}
                curves[name].append(
                    runs.of(f"queue{number}", seed, made_with, partial(twin.train, queue, plan))
                )
    return _figure8(curves, {**settings, "seeds": seeds})


def _figure8(curves: dict[str, list[Run]], settings: dict[str, Any]) -> Figure:
    first = np.array([np.mean(run.rewards[: _tenth(run)]) for run in curves["ideal"]])
    ends = {name: final(found) for name, found in curves.items()}
    scale = float((ends["ideal"] - first).mean())
    shares = {name: (end - first) / scale for name, end in ends.items()}
    rows = [
        (
            name,
            estimate(ends[name]),
            round(estimate(shares[name]).mean, 3),
            round(estimate(shares[name]).interval, 3),
            f"{sum(run.lost for run in found) / sum(run.sent for run in found):.1%}",
            round(sum(run.contained for run in found) / sum(run.received for run in found), 2),
            round(float(np.mean([run.age_of_model for run in found])), 3),
        )
        for name, found in curves.items()
    ]
    names = list(curves)
    pairs = list(zip(names[3:], names[1:3], PAPER_GAIN, strict=True))
    holds = {
        f"{olaf} ends above {fifo} by the paper's {gain:.1%} of what was learnt": bool(
            shares[olaf].mean() >= (1 + gain) * shares[fifo].mean()
        )
        for olaf, fifo, gain in pairs
    }
    holds |= {f"{olaf} is within 10 % of ideal": bool(shares[olaf].mean() >= 0.9) for olaf, _, _ in pairs}
    return Figure(
        "figure8",
        f"{CLUSTERS} clusters of {MEMBERS} workers",
        settings,
        ("queue", "end reward", "(R - R0)/(Rideal - R0)", "±", "lost", "updates a frame", "AoM s"),
        rows,
        holds,
        COLUMNS,
        list(points(curves)),
        drawn(curves, f"{CLUSTERS} clusters of {MEMBERS} workers"),
    )


def _reached(runs: list[Run], reward: float) -> str:
    """Updates until the mean of the ten last rewards, over all seeds, reached ``reward``."""
    mean = np.convolve(np.mean([run.rewards for run in runs], axis=0), np.ones(10) / 10, "valid")
    above = np.flatnonzero(mean >= reward)
    return str(int(above[0]) + 10) if len(above) else "not reached"


def _tenth(run: Run) -> int:
    return max(1, len(run.rewards) // 10)
