"""MARL's figures 10 and 11: what each way to draw a mini-batch does to rewards, and what its draws are worth.

Runs of neighbours make a batch of 1024 rows worth fewer independent ones, so uniform batches of as few rows
are the controls: where rewards hold with these too, they say nothing about runs.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from olaf.experience import effective_rows, sample

from olaflab.experience.examples import example
from olaflab.training.figures.report import estimate

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
_SHARE = 0.25
"""Of the episodes, the last: their mean return is a run's reward."""
_WORLDS, _DRAWS = 4, 20


@dataclass(frozen=True)
class Reward:
    """One training."""

    game: str
    way: str
    seed: int
    first: float
    """Mean return of the first quarter of episodes, of predators or navigators."""
    last: float
    """Of the last quarter."""
    effective: float
    """Independent rows that a batch is worth, by what is observed, at the end; the mean over draws."""


def rewards(
    game: str, agents: int, episodes: int, seeds: int, ways: tuple[str, ...], progress: Callable[[str], None]
) -> Iterator[Reward]:
    """Seed by seed, the ways in turn, so that an early end leaves whole comparisons."""
    maddpg, particles = example("maddpg"), example("particles")
    maddpg.torch.set_num_threads(1)
    kind = {"tag": particles.Tag, "spread": particles.Spread}[game]
    for seed in range(1, seeds + 1):
        for way in ways:
            progress(f"{game}, seed {seed}: {way}")
            sampler, batch = WAYS[way]
            settings = maddpg.Settings(sampler=sampler, batch=batch, rows=40 * episodes, warm_up=BATCH)
            team = maddpg.Team(kind(agents, _WORLDS, np.random.default_rng(seed)), settings, seed)
            returns = np.array([each[:agents].mean() for each in maddpg.train(team, episodes)])
            part = max(int(len(returns) * _SHARE), 1)
            worth = []
            for _ in range(_DRAWS):
                rows, draw = sample(team.ring, team.samplers[0], batch)
                worth.append(effective_rows(rows["obs"], draw.runs, draw.weights()))
            first, last = float(returns[:part].mean()), float(returns[-part:].mean())
            yield Reward(game, way, seed, first, last, float(np.mean(worth)))


def summary(made: Sequence[Reward]) -> list[tuple[str, int, str, str, str, str]]:
    """By way: rows of a batch, what they are worth, the end return, and how it differs from uniform's.

    Differences are taken seed by seed. The last says whether the mean lies in uniform's 95 % interval.
    """
    by_way = {way: {each.seed: each for each in made if each.way == way} for way in WAYS}
    uniform = by_way["uniform"]
    base = estimate(np.array([each.last for each in uniform.values()]))
    lines = []
    for way, runs in by_way.items():
        if not runs:
            continue
        ends = estimate(np.array([each.last for each in runs.values()]))
        common = sorted(runs.keys() & uniform.keys())
        away = estimate(np.array([runs[seed].last - uniform[seed].last for seed in common]))
        worth = np.mean([each.effective for each in runs.values()])
        within = "yes" if abs(ends.mean - base.mean) <= base.interval else "no"
        lines.append((way, WAYS[way][1], f"{worth:.0f}", str(ends), str(away), within))
    return lines


def write(path: Path, made: Sequence[Reward]) -> None:
    """A line for each training."""
    with path.open("w", newline="") as file:
        lines = csv.DictWriter(file, list(asdict(made[0])))
        lines.writeheader()
        lines.writerows({key: _short(value) for key, value in asdict(each).items()} for each in made)


def _short(value: object) -> object:
    return round(value, 2) if isinstance(value, float) else value
