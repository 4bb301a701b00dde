"""Figures of :mod:`olaflab.artos.overlap` over seeds: what is saved, and whether as much is learnt."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import torch

from olaflab.artos.overlap import Algorithm, Run, bound, run
from olaflab.artos.ppo import ProximalPolicy
from olaflab.artos.sac import SoftActorCritic
from olaflab.training.figures.report import Estimate, estimate

RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Playing to learning."""
ALGORITHMS: dict[str, tuple[Callable[[int], Algorithm], int]] = {
    "SAC": (SoftActorCritic, 120),
    "PPO": (ProximalPolicy, 150),
}
"""How each is made of a seed, and how many rounds it has."""
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
    """Of the returns, seed by seed."""
    lag: int


def compare(name: str, seeds: int, log: Callable[[str], None]) -> Iterator[Comparison]:
    """Of all ratios.

    A training is what is played and learnt in which order; one whose order is known is not made again.
    """
    torch.set_num_threads(1)  # sums in one order, and networks too small for more
    make, rounds = ALGORITHMS[name]
    ways = [(ratio, way) for ratio in RATIOS for way in (False, True)]
    found: dict[tuple[float, bool], list[Run]] = {each: [] for each in ways}
    for seed in range(seeds):
        scores: dict[tuple[object, ...], float] = {}
        for ratio, way in found:
            order = _Order()
            run(order, rounds, ratio, 1.0, JITTER, seed, beside=way)
            key = tuple(order.events)
            known = scores.get(key)
            kind = make(seed) if known is None else _Order(known)
            made = run(kind, rounds, ratio, 1.0, JITTER, seed, beside=way)
            scores[key] = made.score
            found[ratio, way].append(made)
            which = "beside" if way else "apart"
            log(f"{name}, seed {seed}, {which}, ratio {ratio}: return {made.score:.1f}")
    for ratio in RATIOS:
        apart, beside = found[ratio, False], found[ratio, True]
        differences = np.array([b.score - a.score for a, b in zip(apart, beside, strict=True)])
        yield Comparison(
            name, ratio, 1 - sum(each.seconds for each in beside) / sum(each.seconds for each in apart),
            bound(ratio, 1.0), fmean(each.score for each in apart), fmean(each.score for each in beside),
            estimate(differences), max(each.lag for each in beside),
        )  # fmt: skip


class _Order:
    """Plays and learns nothing, and remembers in which order."""

    def __init__(self, score: float = 0.0) -> None:
        self.events: list[object] = []
        self._score = score

    def weights(self) -> None:
        self.events.append("weights")

    def play(self, weights: None, version: int) -> None:
        self.events.append(version)

    def learn(self) -> None:
        self.events.append("learn")

    def publish(self) -> None:
        self.events.append("publish")

    def score(self) -> float:
        return self._score
