"""Figures of :mod:`olaflab.papers.artos.overlap` over seeds: what is saved, and whether as much is learnt."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import fmean

import numpy as np
import torch

from olaflab.papers.artos.overlap import Algorithm, Run, bound, run
from olaflab.papers.artos.ppo import ProximalPolicy
from olaflab.papers.artos.sac import SoftActorCritic
from olaflab.papers.runs import Runs
from olaflab.papers.summary import Estimate, estimate

RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Playing to learning."""
ALGORITHMS: dict[str, tuple[Callable[[int], Algorithm], int, int]] = {
    "SAC": (SoftActorCritic, 120, 40),
    "PPO": (ProximalPolicy, 150, 20),
}
"""How each is made of a seed, how many rounds it has, and its usual number of seeds."""
JITTER = 0.1


@dataclass(frozen=True)
class Comparison:
    """Side by side against one after the other, with as many updates."""

    algorithm: str
    ratio: float
    saved: float
    """Share of the time."""
    bound: float
    apart: float
    """Mean return of the last quarter of episodes, one after the other."""
    beside: float
    difference: Estimate
    """Difference of the returns, seed by seed."""
    lag: int


def compare(name: str, seeds: int | None, folder: Path, log: Callable[[str], None]) -> Iterator[Comparison]:
    """Comparisons of all ratios.

    A training is what is played and learnt in which order: one whose order is known is not made again, nor
    is one that ``folder`` holds. Raises OlafError where that cannot be written.
    """
    torch.set_num_threads(1)  # sums in one order, and networks too small for more
    make, rounds, usual = ALGORITHMS[name]
    runs = Runs(Run, folder, log)
    found: dict[tuple[float, bool], list[Run]] = {(r, way): [] for r in RATIOS for way in (False, True)}
    for seed in range(usual if seeds is None else seeds):
        for (ratio, way), made in found.items():
            train = partial(run, rounds=rounds, play=ratio, learn=1.0, jitter=JITTER, seed=seed, beside=way)
            order = _Order()
            timed = train(order)
            digest = sha256(repr(order.events).encode()).hexdigest()[:8]
            curve, settings = f"{name.lower()}-{digest}", {"rounds": rounds}
            kept = runs.of(curve, seed, settings, partial(_made, make, seed, train))
            made.append(replace(timed, score=kept.score))
    for ratio in RATIOS:
        apart, beside = found[ratio, False], found[ratio, True]
        differences = np.array([b.score - a.score for a, b in zip(apart, beside, strict=True)])
        yield Comparison(
            name, ratio, 1 - sum(each.seconds for each in beside) / sum(each.seconds for each in apart),
            bound(ratio, 1.0), fmean(each.score for each in apart), fmean(each.score for each in beside),
            estimate(differences), max(each.lag for each in beside),
        )  # fmt: skip


def _made(make: Callable[[int], Algorithm], seed: int, train: Callable[[Algorithm], Run]) -> Run:
    return train(make(seed))


class _Order:
    """Plays and learns nothing, and remembers in which order, with weights of which version."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def weights(self) -> None:
        """A version tells which these are."""

    def play(self, weights: None, version: int) -> None:
        self.events.append(version)

    def learn(self) -> None:
        self.events.append("learn")

    def publish(self) -> None:
        """Publish nothing; the next version counts from now on."""

    def score(self) -> float:
        return float("nan")
