"""Figures of :mod:`olaflab.papers.artos.overlap` over seeds: what is saved, and whether as much is learnt."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import fmean

import numpy as np
import torch

from olaflab.papers.artos.overlap import Algorithm, OverlapRun, run_training, saving_bound
from olaflab.papers.artos.ppo import LanderPolicy
from olaflab.papers.artos.sac import SoftActorCritic
from olaflab.papers.runs import Runs
from olaflab.papers.summary import Estimate, estimate_mean

RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Playing to learning."""
ALGORITHMS: dict[str, tuple[Callable[[int], Algorithm], int, int]] = {
    "SAC": (SoftActorCritic, 120, 40),
    "PPO": (LanderPolicy, 150, 20),
}
"""How each is made of a seed, how many rounds it has, and its usual number of seeds."""
JITTER = 0.1


@dataclass(frozen=True)
class OrderComparison:
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


def compare_orders(
    name: str, seeds: int | None, folder: Path, log: Callable[[str], None]
) -> Iterator[OrderComparison]:
    """Compare the orders of all ratios.

    A training is what is played and learnt in which order: one whose order is known is not made again, nor
    is one that ``folder`` holds. Raises OlafError where that cannot be written.
    """
    torch.set_num_threads(1)  # sums in one order, and networks too small for more
    make, rounds, usual = ALGORITHMS[name]
    runs = Runs(OverlapRun, folder, log)
    found: dict[tuple[float, bool], list[OverlapRun]] = {
        (r, way): [] for r in RATIOS for way in (False, True)
    }
    for seed in range(usual if seeds is None else seeds):
        for (ratio, way), made in found.items():
            train = partial(
                run_training, rounds=rounds, play=ratio, learn=1.0, jitter=JITTER, seed=seed, beside=way
            )
            order = _Order()
            timed = train(order)
            digest = sha256(repr(order.events).encode()).hexdigest()[:8]
            curve, settings = f"{name.lower()}-{digest}", {"rounds": rounds}
            kept = runs.run_of(curve, seed, settings, partial(_train_algorithm, make, seed, train))
            made.append(replace(timed, score=kept.score))
    for ratio in RATIOS:
        apart, beside = found[ratio, False], found[ratio, True]
        differences = np.array([b.score - a.score for a, b in zip(apart, beside, strict=True)])
        yield OrderComparison(
            name,
            ratio,
            1 - sum(each.seconds for each in beside) / sum(each.seconds for each in apart),
            saving_bound(ratio, 1.0),
            fmean(each.score for each in apart),
            fmean(each.score for each in beside),
            estimate_mean(differences),
            max(each.lag for each in beside),
        )


def _train_algorithm(
    make: Callable[[int], Algorithm], seed: int, train: Callable[[Algorithm], OverlapRun]
) -> OverlapRun:
    return train(make(seed))


class _Order:
    """Plays and learns nothing, and remembers in which order, with weights of which version."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def weights(self) -> None:
        """Do nothing: a version tells which weights these are."""

    def play(self, weights: None, version: int) -> None:
        self.events.append(version)

    def learn(self) -> None:
        self.events.append("learn")

    def publish(self) -> None:
        """Publish nothing; the next version counts from now on."""

    def score(self) -> float:
        return float("nan")
