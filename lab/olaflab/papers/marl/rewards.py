"""MARL's figures 10 and 11: what each way to draw a mini-batch does to rewards, and what its draws are worth.

Runs of neighbours make a batch of 1024 rows worth fewer independent ones, so uniform batches of as few rows
are the controls: where rewards hold with these too, they prove nothing about runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from olaf.experience import effective_rows, sample

from olaflab.papers.marl.examples import load_example
from olaflab.papers.runs import Runs
from olaflab.papers.summary import estimate_mean

PAPER = 60_000
"""Episodes of the paper's trainings."""
BATCH = 1024
WAYS: dict[str, tuple[str, int]] = {
    "uniform": ("uniform", BATCH),
    "n=16, ref=64": ("runs:16", BATCH),
    "n=64, ref=16": ("runs:64", BATCH),
    "PER": ("priority", BATCH),
    "IP": ("priority-runs", BATCH),
    "uniform, 85 rows": ("uniform", 85),
    "uniform, 48 rows": ("uniform", 48),
}
"""Sampler and rows of a batch. 85 and 48 are what runs of 16 and 64 are worth in long random play."""
IN_RUNS = ("uniform", "n=16, ref=64", "n=64, ref=16", "uniform, 85 rows", "uniform, 48 rows")
"""Figure 10's, with their controls."""
BY_PRIORITY = ("uniform", "PER", "IP")
"""Figure 11's."""
_SHARE = 0.25
"""Share of the episodes, the last, whose mean return is a training's reward."""
PARTS = 60
"""Means of which a training's curve is made."""
_WORLDS, _DRAWS, _BOOTSTRAP = 4, 20, 2000
Curves = NDArray[np.float64]
"""(seeds, parts)"""


@dataclass(frozen=True)
class RewardCase:
    """A game, its predators or navigators, and the length of its trainings."""

    game: str
    """``hunt``, ``tag`` (prey learn, too) or ``spread`` of the SDK's example."""
    agents: int
    episodes: int


@dataclass(frozen=True)
class Reward:
    """One training."""

    game: str
    agents: int
    episodes: int
    way: str
    seed: int
    first: float
    """Mean return of the first quarter of episodes, of predators or navigators."""
    last: float
    """Mean return of the last quarter."""
    effective: float
    """Independent rows that a batch is worth, by what is observed, at the end; the mean over draws."""
    curve: Sequence[float] = field(default=())
    """Mean return of each of ``PARTS`` equal parts of the episodes; none in points of older trainings."""


def train_ways(case: RewardCase, ways: Sequence[str], seeds: int, runs: Runs[Reward]) -> Iterator[Reward]:
    """Seed by seed, all ways in turn, so that an early end leaves whole comparisons."""
    for seed in range(1, seeds + 1):
        for way in ways:
            curve = f"{case.game}-{case.agents}-{way}"
            settings = {**vars(case), "way": way}
            yield runs.run_of(curve, seed, settings, partial(train_once, case, way, seed))


def train_once(case: RewardCase, way: str, seed: int) -> Reward:
    """Train once. Values have two digits after the point."""
    maddpg, particles = load_example("maddpg"), load_example("particles")
    maddpg.torch.set_num_threads(1)
    kinds = {"hunt": particles.Hunt, "tag": particles.Tag, "spread": particles.Spread}
    sampler, batch = WAYS[way]
    rows = 40 * min(case.episodes, 25_000)
    settings = maddpg.Settings(sampler=sampler, batch=batch, rows=rows, warm_up=BATCH)
    team = maddpg.Team(kinds[case.game](case.agents, _WORLDS, np.random.default_rng(seed)), settings, seed)
    returns = np.array([each[: case.agents].mean() for each in maddpg.train(team, case.episodes)])
    part = max(int(len(returns) * _SHARE), 1)
    worth = []
    for _ in range(_DRAWS):
        batch_rows, draw = sample(team.ring, team.samplers[0], batch)
        worth.append(effective_rows(batch_rows["obs"], draw.runs, draw.weights()))
    means = returns[:part].mean(), returns[-part:].mean(), np.mean(worth)
    first, last, effective = (round(float(each), 2) for each in means)
    curve = [round(float(each.mean()), 2) for each in np.array_split(returns, PARTS) if len(each)]
    return Reward(case.game, case.agents, case.episodes, way, seed, first, last, effective, curve)


def episodes_to_return(made: Sequence[Reward]) -> Iterator[list[str]]:
    """Yield episodes of uniform draws, their return then, and the episodes that each other way needs for it.

    Returns are means over seeds of one part. Beside the episodes stands how many times uniform's they are,
    with the 95 % interval that comes of drawing the seeds again (bootstrap).
    """
    size = made[0].episodes // PARTS
    curves = {way: np.array([each.curve for each in made if each.way == way]) for way in WAYS}
    uniform = curves.pop("uniform")
    seeds = len(uniform)
    drawn = np.random.default_rng(0).integers(seeds, size=(_BOOTSTRAP, seeds))
    for parts in (PARTS // 6, PARTS // 3, PARTS * 2 // 3):
        cells = []
        for other in (curve for curve in curves.values() if len(curve)):
            times = np.sort([_times_to_return(uniform[seed], other[seed], parts) for seed in drawn])
            low, high = times[[round(0.025 * _BOOTSTRAP), round(0.975 * _BOOTSTRAP)]]
            found = _times_to_return(uniform, other, parts)
            needs = "–" if found == np.inf else f"{size * round(found * parts)}"
            cells.append(f"{needs}, times {found:.2f} ({low:.2f} … {high:.2f})".replace("inf", "∞"))
        yield [f"{size * parts}", f"{uniform[:, parts - 1].mean():.1f}", *cells]


def _times_to_return(uniform: Curves, other: Curves, parts: int) -> float:
    """Return how many times ``parts`` a way needs for uniform's return after them; infinite if never."""
    there = np.flatnonzero(other.mean(axis=0) >= uniform[:, parts - 1].mean())
    return (int(there[0]) + 1) / parts if len(there) else float("inf")


def by_length(made: Sequence[Reward]) -> Iterator[list[str]]:
    """Yield episodes, uniform's return, and each way's difference from it, had the trainings ended then.

    As at their end, a return is the mean of the last quarter of the episodes until then, and differences are
    taken seed by seed.
    """
    curves = {way: np.array([each.curve for each in made if each.way == way]) for way in WAYS}
    for parts in (PARTS // 15, PARTS * 2 // 15, PARTS // 3, PARTS * 2 // 3, PARTS):
        last = slice(parts - round(parts * _SHARE), parts)
        ends = {way: curve[:, last].mean(axis=1) for way, curve in curves.items() if len(curve)}
        away = [str(estimate_mean(ends[way] - ends["uniform"])) for way in ends if way != "uniform"]
        yield [f"{made[0].episodes * parts // PARTS}", str(estimate_mean(ends["uniform"])), *away]


def summarise_ways(made: Sequence[Reward]) -> list[tuple[str, int, str, str, str, str]]:
    """Return a line for each way: rows of a batch, their worth, end return, and the difference.

    Differences from uniform draws are taken seed by seed; the last cell is their word.
    """
    by_way = {way: {each.seed: each for each in made if each.way == way} for way in WAYS}
    uniform = by_way["uniform"]
    lines = []
    for way, runs in by_way.items():
        if not runs:
            continue
        ends = estimate_mean(np.array([each.last for each in runs.values()]))
        common = sorted(runs.keys() & uniform.keys())
        away = estimate_mean(np.array([runs[seed].last - uniform[seed].last for seed in common]))
        worth = np.mean([each.effective for each in runs.values()])
        both = ("", "") if way == "uniform" else (str(away), away.word)
        lines.append((way, WAYS[way][1], f"{worth:.0f}", str(ends), *both))
    return lines
