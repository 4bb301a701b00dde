"""Figures of :mod:`olaflab.artos.overlap` over seeds: what is saved, and whether as much is learnt."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from olaflab.artos.overlap import Algorithm, Run, bound, run
from olaflab.artos.ppo import ProximalPolicy
from olaflab.artos.sac import SoftActorCritic
from olaflab.paper.statistics import T95

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
    difference: tuple[float, float]
    """95 % interval of the mean difference, seed by seed."""
    lag: int


def compare(name: str, seeds: int, log: Callable[[str], None]) -> Iterator[Comparison]:
    """Of all ratios."""
    make, rounds = ALGORITHMS[name]
    apart: dict[float, list[Run]] = {ratio: [] for ratio in RATIOS}
    beside: dict[float, list[Run]] = {ratio: [] for ratio in RATIOS}
    for seed in range(seeds):
        one: Run | None = None
        for ratio in RATIOS:
            beside[ratio].append(run(make(seed), rounds, ratio, 1.0, JITTER, seed, beside=True))
            # One after the other, the times change nothing of what is learnt.
            kind = make(seed) if one is None else _Nothing(one.score)
            one = run(kind, rounds, ratio, 1.0, JITTER, seed, beside=False)
            apart[ratio].append(one)
            log(f"{name}, seed {seed}, ratio {ratio}: return {beside[ratio][-1].score:.1f} and {one.score:.1f}")
    for ratio in RATIOS:
        first, second = apart[ratio], beside[ratio]
        yield Comparison(
            name, ratio, 1 - sum(each.seconds for each in second) / sum(each.seconds for each in first),
            bound(ratio, 1.0), fmean(each.score for each in first), fmean(each.score for each in second),
            interval([b.score - a.score for a, b in zip(first, second, strict=True)]),
            max(each.lag for each in second),
        )  # fmt: skip


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 %, by Student's t; of one value it is all there is."""
    mean = fmean(values)
    if len(values) < 2:
        return mean, mean
    half = T95[len(values) - 2] * stdev(values) / sqrt(len(values))
    return mean - half, mean + half


class _Nothing:
    """An algorithm whose score is known."""

    def __init__(self, score: float) -> None:
        self._score = score

    def weights(self) -> None: ...

    def play(self, weights: None, version: int) -> None: ...

    def learn(self) -> None: ...

    def publish(self) -> None: ...

    def score(self) -> float:
        return self._score
