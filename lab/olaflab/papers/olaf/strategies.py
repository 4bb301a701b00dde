"""Figures 2 and 3 of OLAF: how fast and how far LunarLander is learnt, by strategy, rate and workers.

Periodic and synchronous training move the weights by the mean of eight updates, asynchronous training by
each of them. At one rate they step an eighth as far; at eight times the rate as far in all. And each strategy
has a rate that suits it: that of a grid with which the other seeds end highest, so no seed chooses its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from olaf.policies import RATE, Periodic, Plain, PolicyMaker, RewardGated, Synchronous

from olafctl.targets.interface import Progress
from olafctl.wire.modes import Mode
from olaflab.papers.curves import COLUMNS, list_points
from olaflab.papers.figure import NOT_SHOWN, FigureTable
from olaflab.papers.olaf.lab import Queue, TwinRun, run_lab_twin
from olaflab.papers.runs import Runs, final_reward, mean_reward
from olaflab.papers.summary import Estimate, Summary, compare_seeds, estimate_mean
from olaflab.training.plan import Pace, TrainingPlan
from olaflab.training.record import SLOWDOWNS

STEP = 0.001
"""Seconds of virtual time for an environment step on the fastest hardware."""
WORKERS, NUMBERS = 8, (1, 2, 4, 8, 16)
IDEAL = Queue(Mode.FIFO)
"""A queue in which nothing waits, so nothing is merged or lost."""
GATE, PLAIN = "async, reward gate (Olaf)", "async, every update"
PERIODIC, SYNCHRONOUS = "periodic (iSwitch)", "synchronous (SwitchML)"
STRATEGIES: Mapping[str, Callable[[float], PolicyMaker]] = {
    GATE: lambda rate: partial(RewardGated, rate=rate),
    PLAIN: lambda rate: partial(Plain, rate=rate),
    PERIODIC: lambda rate: partial(Periodic, rate=rate, updates=WORKERS),
    SYNCHRONOUS: lambda rate: partial(Synchronous, rate=rate, workers=WORKERS),
}
"""The parameter server's policy by strategy; synchronous workers wait for it."""
GRID: Mapping[str, tuple[float, ...]] = {PLAIN: (1, 0.5, 2), SYNCHRONOUS: (8, 4, 16), PERIODIC: (8, 4, 2)}
"""Multiples of γ that each strategy is tried with; with the first one all step as far in all as PLAIN."""
HEADS = ("strategy", "rate, γ", "mean reward", "end reward", "s until reward 0", "reached it")
REWARD = 0.0
"""The reward whose time is compared: between the untrained policy's -200 and a landing's 200."""
_MOVING = 3
"""Blocks over which the reward over time is averaged."""
Case = tuple[str, float, int]
"""A strategy, a multiple of γ, and a number of workers."""


def compare_strategies(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Train eight heterogeneous workers under each strategy, without congestion (figure 2)."""
    curves = _train_cases([(name, 1, WORKERS) for name in STRATEGIES], updates, seeds, folder, progress)
    found = {name: runs for (name, _, _), runs in curves.items()}
    ends = {name: final_reward(runs) for name, runs in found.items()}
    rows = []
    for name, runs in found.items():
        seconds = round(float(np.mean([run.seconds[-1] for run in runs])), 1)
        refused = sum(run.refused for run in runs) / sum(run.received for run in runs)
        rows.append(
            (name, estimate_mean(mean_reward(runs)), estimate_mean(ends[name]), seconds, f"{refused:.0%}")
        )
    return Summary(
        f"{WORKERS} heterogeneous workers",
        {**_make_settings(updates, WORKERS), "seeds": seeds},
        ("strategy", "mean reward", "end reward", "seconds", "refused"),
        rows,
        dict(
            compare_seeds(f"{first} ends above {other}", ends[first], ends[other])
            for first in (GATE, PLAIN)
            for other in (PERIODIC, SYNCHRONOUS)
        ),
        COLUMNS,
        list(list_points(found)),
    )


def compare_numbers(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Train one cluster of ever more workers, each update applied at once, without congestion (figure 3)."""
    curves = _train_cases([(PLAIN, 1, number) for number in NUMBERS], updates, seeds, folder, progress)
    found = {f"N = {number}": runs for (_, _, number), runs in curves.items()}
    areas = {name: mean_reward(runs) for name, runs in found.items()}
    return Summary(
        "more workers",
        {**_make_settings(updates, NUMBERS), "seeds": seeds},
        ("workers", "mean reward", "end reward", "updates to reward 0"),
        [
            (n, estimate_mean(areas[n]), estimate_mean(final_reward(runs)), _updates_to(runs, 0.0))
            for n, runs in found.items()
        ],
        dict(
            compare_seeds(f"{more} learns faster than {less}", areas[more], areas[less])
            for less, more in pairwise(areas)
        ),
        COLUMNS,
        list(list_points(found)),
    )


def compare_equal_steps(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Train strategies that move the weights as far in all (figure 2 at other rates)."""
    cases = [(name, GRID[name][0], WORKERS) for name in GRID]
    found = {
        name: runs for (name, _, _), runs in _train_cases(cases, updates, seeds, folder, progress).items()
    }
    return Summary(
        f"{WORKERS} heterogeneous workers that move the weights as far in all",
        _rate_settings(updates, seeds, {name: GRID[name][:1] for name in GRID}),
        HEADS,
        [_make_row(name, f"{GRID[name][0]:g}", runs) for name, runs in found.items()],
        dict(_judge_statements(found)),
        COLUMNS,
        list(list_points(found)),
    )


def compare_rates(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Train each strategy at every rate of GRID; runs are shared with :func:`compare_equal_steps`."""
    cases = [(name, factor, WORKERS) for name, factors in GRID.items() for factor in factors]
    curves = _train_cases(cases, updates, seeds, folder, progress)
    chosen = {name: choose_rates(curves, name) for name in GRID}
    best = [
        [str(cell) for cell in _make_row(name, ", ".join(f"{rate:g}" for rate in sorted(set(rates))), runs)]
        for name, (rates, runs) in chosen.items()
    ]
    return Summary(
        f"{WORKERS} heterogeneous workers, each strategy at several rates",
        _rate_settings(updates, seeds, GRID),
        HEADS,
        [
            _make_row(name, f"{factor:g}", curves[name, factor, WORKERS])
            for name, factors in GRID.items()
            for factor in sorted(factors)
        ],
        dict(_judge_statements({name: runs for name, (_, runs) in chosen.items()})),
        COLUMNS,
        list(list_points({f"{name}, {factor:g} γ": runs for (name, factor, _), runs in curves.items()})),
        [FigureTable("Each strategy at the rate with which the other seeds end highest", HEADS, best)],
    )


def _train_cases(
    cases: Sequence[Case], updates: int, seeds: int, folder: Path, progress: Progress
) -> dict[Case, list[TwinRun]]:
    """Train seed by seed, so that an interrupted figure has whole seeds."""
    runs = Runs(TwinRun, folder, progress)
    found: dict[Case, list[TwinRun]] = {case: [] for case in cases}
    pace = Pace(step=STEP, slowdowns=SLOWDOWNS)
    for workers in dict.fromkeys(workers for _, _, workers in cases):
        with run_lab_twin(f"learning-{workers}", 1, workers, max(NUMBERS), progress) as twin:
            for seed in range(1, seeds + 1):
                for case in (case for case in cases if case[2] == workers):
                    name, factor, _ = case
                    policy, waits = STRATEGIES[name](factor * RATE), name == SYNCHRONOUS
                    plan = TrainingPlan(updates, 1, pace, seed, policy, control=False, waits=waits)
                    curve = f"strategy{list(STRATEGIES).index(name)}-{factor:g}-{workers}"
                    settings = {**_make_settings(updates, workers), "rate": factor * RATE}
                    make = partial(twin.train_queue, IDEAL, plan)
                    found[case].append(runs.run_of(curve, seed, settings, make))
    return found


def _make_settings(updates: int, workers: int | Sequence[int]) -> dict[str, Any]:
    return {"workers": workers, "updates": updates, "slowdowns": SLOWDOWNS, "step_seconds": STEP}


def _rate_settings(updates: int, seeds: int, grid: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    rates = {name: [factor * RATE for factor in factors] for name, factors in grid.items()}
    return {**_make_settings(updates, WORKERS), "seeds": seeds, "rates": rates}


def choose_rates(curves: Mapping[Case, list[TwinRun]], name: str) -> tuple[list[float], list[TwinRun]]:
    """Return by seed the multiple with which the other seeds end highest, and that seed's run with it."""
    factors = GRID[name]
    ends = np.array([final_reward(curves[name, factor, WORKERS]) for factor in factors])
    seeds = ends.shape[1]
    others = [np.arange(seeds) != seed if seeds > 1 else np.ones(1, bool) for seed in range(seeds)]
    chosen = [factors[int(ends[:, other].mean(axis=1).argmax())] for other in others]
    return chosen, [curves[name, factor, WORKERS][seed] for seed, factor in enumerate(chosen)]


def seconds_to(run: TwinRun, reward: float = REWARD) -> float:
    """Return virtual seconds until the last 3 blocks had this mean reward; infinite if they never had."""
    table = np.array(run.blocks)
    if len(table) < _MOVING:
        return float("inf")
    moving = np.convolve(table[:, 1], np.ones(_MOVING) / _MOVING, "valid")
    there = np.flatnonzero(moving >= reward)
    return float(table[there[0] + _MOVING - 1, 0]) if len(there) else float("inf")


def _updates_to(runs: list[TwinRun], reward: float) -> str:
    """Return the updates until the mean of the ten last rewards, over all seeds, reached ``reward``."""
    mean = np.convolve(np.mean([run.rewards for run in runs], axis=0), np.ones(10) / 10, "valid")
    there = np.flatnonzero(mean >= reward)
    return str(int(there[0]) + 10) if len(there) else "not reached"


def _make_row(name: str, rate: str, runs: list[TwinRun]) -> tuple[Any, ...]:
    times = np.array([seconds_to(run) for run in runs])
    known = times[np.isfinite(times)]
    time: Estimate | str = estimate_mean(known) if len(known) else "–"
    ends = (estimate_mean(mean_reward(runs)), estimate_mean(final_reward(runs)))
    return (name, rate, *ends, time, f"{len(known)} of {len(times)}")


def _judge_statements(found: Mapping[str, list[TwinRun]]) -> Iterator[tuple[str, str]]:
    """Compare PLAIN with the strategies that average: its reward at the end, and its time to REWARD."""
    for other in (PERIODIC, SYNCHRONOUS):
        yield compare_seeds(
            f"{PLAIN} ends above {other}", final_reward(found[PLAIN]), final_reward(found[other])
        )
        claim = f"{PLAIN} reaches {REWARD:g} sooner than {other}"
        pairs = zip(found[PLAIN], found[other], strict=True)
        times = np.array([(seconds_to(mine), seconds_to(its)) for mine, its in pairs])
        both = times[np.isfinite(times).all(axis=1)]
        in_seeds = f"in {len(both)} of {len(times)} seeds"
        if len(both) < 2:
            yield f"{claim}: both got there {in_seeds}", NOT_SHOWN
        else:
            text, verdict = compare_seeds(claim, both[:, 1], both[:, 0], " s")
            yield f"{text}, {in_seeds}", verdict
