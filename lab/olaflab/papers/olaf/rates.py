"""Figure 2 of OLAF at more learning rates: what of it is the strategy, and what the size of the step?

Periodic and synchronous training move the weights by the mean of eight updates, asynchronous training by
each of them. At one rate they step an eighth as far; at eight times the rate as far in all. And each strategy
has a rate that suits it: that of a grid with which the other seeds end highest, so no seed chooses its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from olaf.policies import RATE, Periodic, Plain, PolicyMaker, Synchronous

from olafctl.targets.interface import Progress
from olaflab.papers.curves import COLUMNS, points
from olaflab.papers.figure import Table
from olaflab.papers.olaf.lab import Lab, Run, lab
from olaflab.papers.olaf.learning import (
    IDEAL,
    NUMBERS,
    PERIODIC,
    PLAIN,
    STEP,
    SYNCHRONOUS,
    WORKERS,
    above,
)
from olaflab.papers.runs import Runs, final, mean_reward
from olaflab.papers.summary import Estimate, Summary, estimate
from olaflab.training.plan import Pace, Plan
from olaflab.training.record import SLOWDOWNS

GRID: Mapping[str, tuple[float, ...]] = {
    PLAIN: (1, 0.5, 2),
    SYNCHRONOUS: (8, 4, 16),
    PERIODIC: (8, 4, 2),
}
"""Multiples of γ that each strategy is tried with; with the first one all step as far in all as PLAIN."""
COMPARED = (PLAIN, SYNCHRONOUS, PERIODIC)
"""With as large a step in all."""
HEADS = ("strategy", "rate, γ", "mean reward", "end reward", "s until reward 0", "reached it")
REWARD = 0.0
"""The reward whose time is compared: between the untrained policy's -200 and a landing's 200."""
_MOVING = 3
"""Blocks that the reward over time is averaged over."""

Curves = dict[tuple[str, float], list[Run]]
"""By strategy and multiple of γ; a run a seed."""


def equal(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Eight heterogeneous workers, without congestion, which all move the weights as far in all."""
    curves = _trained({name: GRID[name][:1] for name in COMPARED}, updates, seeds, folder, progress)
    found = {name: curves[name, GRID[name][0]] for name in COMPARED}
    return Summary(
        f"{WORKERS} heterogeneous workers that move the weights as far in all",
        _settings(updates, seeds, {name: GRID[name][:1] for name in COMPARED}),
        HEADS,
        [_row(name, f"{GRID[name][0]:g}", each) for name, each in found.items()],
        dict(_statements(found)),
        COLUMNS,
        list(points(found)),
    )


def grid(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Each strategy at every rate of GRID; runs are shared with :func:`equal`."""
    return _figure(_trained(GRID, updates, seeds, folder, progress), updates, seeds)


def _trained(
    rates: Mapping[str, Sequence[float]], updates: int, seeds: int, folder: Path, progress: Progress
) -> Curves:
    """Seed by seed, so that an interrupted figure has whole seeds."""
    runs = Runs(Run, folder, progress)
    curves: Curves = {(name, factor): [] for name, factors in rates.items() for factor in factors}
    with lab(f"learning-{WORKERS}", 1, WORKERS, max(NUMBERS), progress) as twin:
        for seed in range(1, seeds + 1):
            for (name, factor), found in curves.items():
                found.append(_run(twin, runs, name, factor, updates, seed))
    return curves


def policy(name: str, factor: float) -> PolicyMaker:
    """A strategy's, with ``factor`` times the usual rate."""
    makers: dict[str, PolicyMaker] = {
        PLAIN: partial(Plain, rate=factor * RATE),
        PERIODIC: partial(Periodic, rate=factor * RATE, updates=WORKERS),
        SYNCHRONOUS: partial(Synchronous, rate=factor * RATE, workers=WORKERS),
    }
    return makers[name]


def reached(run: Run, reward: float = REWARD) -> float:
    """Virtual seconds until the last 3 blocks had a mean reward of ``reward`` or more; infinite if never."""
    table = np.array(run.blocks)
    if len(table) < _MOVING:
        return float("inf")
    moving = np.convolve(table[:, 1], np.ones(_MOVING) / _MOVING, "valid")
    there = np.flatnonzero(moving >= reward)
    return float(table[there[0] + _MOVING - 1, 0]) if len(there) else float("inf")


def tuned(curves: Curves, name: str) -> tuple[list[float], list[Run]]:
    """By seed: the multiple with which the other seeds end highest, and that seed's run with it."""
    factors = GRID[name]
    ends = np.array([final(curves[name, factor]) for factor in factors])
    seeds = ends.shape[1]
    others = [np.arange(seeds) != seed if seeds > 1 else np.ones(1, bool) for seed in range(seeds)]
    chosen = [factors[int(ends[:, other].mean(axis=1).argmax())] for other in others]
    return chosen, [curves[name, factor][seed] for seed, factor in enumerate(chosen)]


def _run(twin: Lab, runs: Runs[Run], name: str, factor: float, updates: int, seed: int) -> Run:
    settings = {"workers": WORKERS, "updates": updates, "slowdowns": SLOWDOWNS, "step_seconds": STEP}
    pace = Pace(step=STEP, slowdowns=SLOWDOWNS)
    plan = Plan(updates, 1, pace, seed, policy(name, factor), control=False, waits=name == SYNCHRONOUS)
    curve = f"rate{list(GRID).index(name)}-{factor:g}"
    return runs.of(curve, seed, {**settings, "rate": factor * RATE}, partial(twin.train, IDEAL, plan))


def _settings(updates: int, seeds: int, rates: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    return {
        "workers": WORKERS,
        "updates": updates,
        "slowdowns": SLOWDOWNS,
        "step_seconds": STEP,
        "seeds": seeds,
        "rates": {name: [factor * RATE for factor in factors] for name, factors in rates.items()},
    }


def _figure(curves: Curves, updates: int, seeds: int) -> Summary:
    chosen = {name: tuned(curves, name) for name in GRID}
    best = {name: found for name, (_, found) in chosen.items()}
    return Summary(
        f"{WORKERS} heterogeneous workers, each strategy at several rates",
        _settings(updates, seeds, GRID),
        HEADS,
        [_row(name, f"{factor:g}", found) for (name, factor), found in _ordered(curves)],
        dict(_statements(best)),
        COLUMNS,
        list(points({f"{name}, {factor:g} γ": found for (name, factor), found in curves.items()})),
        [
            Table(
                "Each strategy at the rate with which the other seeds end highest",
                HEADS,
                [
                    [str(cell) for cell in _row(name, _several(rates), found)]
                    for name, (rates, found) in chosen.items()
                ],
            )
        ],
    )


def _several(rates: Sequence[float]) -> str:
    return ", ".join(f"{rate:g}" for rate in sorted(set(rates)))


def _ordered(curves: Curves) -> Iterator[tuple[tuple[str, float], list[Run]]]:
    """As GRID orders the strategies, and rates from low to high."""
    for name, factors in GRID.items():
        for factor in sorted(factors):
            yield (name, factor), curves[name, factor]


def _row(name: str, rate: str, found: list[Run]) -> tuple[Any, ...]:
    times = np.array([reached(run) for run in found])
    known = np.array([time for time in times if np.isfinite(time)])
    time: Estimate | str = estimate(known) if len(known) else "–"
    return (
        name,
        rate,
        estimate(mean_reward(found)),
        estimate(final(found)),
        time,
        f"{len(known)} of {len(times)}",
    )


def _statements(found: Mapping[str, list[Run]]) -> Iterator[tuple[str, bool]]:
    """PLAIN against the strategies that average: its reward at the end, and its time to REWARD."""
    for other in (PERIODIC, SYNCHRONOUS):
        yield above(f"{PLAIN} ends above {other}", final(found[PLAIN]), final(found[other]))
        yield _sooner(f"{PLAIN} reaches {REWARD:g} sooner than {other}", found[PLAIN], found[other])


def _sooner(claim: str, ours: list[Run], theirs: list[Run]) -> tuple[str, bool]:
    """A claim with the difference in seconds, over the seeds in which both got there."""
    times = [(reached(mine), reached(other)) for mine, other in zip(ours, theirs, strict=True)]
    both = np.array([pair for pair in times if np.isfinite(pair).all()]).reshape(-1, 2)
    said = f"in {len(both)} of {len(times)} seeds"
    if len(both) < 2:
        return f"{claim}: both got there {said}", False
    text, holds = above(claim, both[:, 1], both[:, 0])
    return f"{text} s, {said}", holds
