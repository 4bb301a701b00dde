"""MARL's figures 10 and 11: what each way to draw a mini-batch does to rewards, and what its draws are worth.

Runs of neighbours make a batch of 1024 rows worth fewer independent ones, so uniform batches of as few rows
are the controls: where rewards hold with these too, they prove nothing about runs.
"""

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from olaf.experience import effective_rows, sample

from olaflab.papers.marl.examples import example
from olaflab.papers.summary import estimate
from olafswitch.errors import BadInput, Problem

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
    episodes: int
    way: str
    seed: int
    first: float
    """Mean return of the first quarter of episodes, of predators or navigators."""
    last: float
    """Of the last quarter."""
    effective: float
    """Independent rows that a batch is worth, by what is observed, at the end; the mean over draws."""


def rewards(
    games: Sequence[str],
    agents: int,
    episodes: int,
    seeds: int,
    ways: Sequence[str],
    progress: Callable[[str], None],
    made: Collection[Reward] = (),
) -> Iterator[Reward]:
    """Seed by seed, games and ways in turn, so that an early end leaves whole comparisons.

    What is in ``made`` is not trained again. Values have two digits after the point, as in the file.
    """
    maddpg, particles = example("maddpg"), example("particles")
    maddpg.torch.set_num_threads(1)
    kinds = {"tag": particles.Tag, "spread": particles.Spread}
    there = {(each.game, each.episodes, each.way, each.seed) for each in made}
    for seed in range(1, seeds + 1):
        for game in games:
            for way in ways:
                if (game, episodes, way, seed) in there:
                    continue
                progress(f"{game}, seed {seed}: {way}")
                sampler, batch = WAYS[way]
                settings = maddpg.Settings(sampler=sampler, batch=batch, rows=40 * episodes, warm_up=BATCH)
                team = maddpg.Team(kinds[game](agents, _WORLDS, np.random.default_rng(seed)), settings, seed)
                returns = np.array([each[:agents].mean() for each in maddpg.train(team, episodes)])
                part = max(int(len(returns) * _SHARE), 1)
                worth = []
                for _ in range(_DRAWS):
                    rows, draw = sample(team.ring, team.samplers[0], batch)
                    worth.append(effective_rows(rows["obs"], draw.runs, draw.weights()))
                values = returns[:part].mean(), returns[-part:].mean(), np.mean(worth)
                yield Reward(game, episodes, way, seed, *(round(float(value), 2) for value in values))


def summary(made: Sequence[Reward]) -> list[tuple[str, int, str, str, str, str]]:
    """Of one game, by way: rows of a batch, what they are worth, end return, difference from uniform's.

    Differences are taken seed by seed. The last shows where the mean lies: within
    uniform's 95 % interval, above it or below.
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
        beyond = "above" if ends.mean > base.mean else "below"
        place = "within" if abs(ends.mean - base.mean) <= base.interval else beyond
        lines.append((way, WAYS[way][1], f"{worth:.0f}", str(ends), str(away), place))
    return lines


def append(path: Path, training: Reward) -> None:
    """Add its line; the file's first line names the columns."""
    begins = not path.exists()
    with path.open("a", newline="") as file:
        names = [each.name for each in fields(Reward)]
        lines = csv.DictWriter(file, names, lineterminator="\n")
        if begins:
            lines.writeheader()
        lines.writerow(asdict(training))


def read(path: Path) -> list[Reward]:
    """What :func:`append` wrote; empty without a file. Raises BadInput for another file."""
    if not path.exists():
        return []
    kinds = {"int": int, "float": float, "str": str}
    columns = {each.name: kinds[str(getattr(each.type, "__name__", each.type))] for each in fields(Reward)}
    with path.open(newline="") as file:
        lines = csv.DictReader(file)
        try:
            return [Reward(**{name: columns[name](value) for name, value in line.items()}) for line in lines]
        except (KeyError, TypeError, ValueError) as error:
            where = f"{path}:{lines.line_num}"
            remedy = "name a file that this command wrote, or a new one"
            raise BadInput(Problem("not a line of rewards", where, remedy)) from error
