"""Ends of trainings under congestion, between their beginnings and their ends without it.

What was learnt is (R - R0)/(R_ideal - R0), R the mean reward of the last tenth of the updates. OLAF does not
normalise, so R0 is ours to choose, and two are given: what the untrained policy earns, that is the reward of
every worker's first update; and the mean of the first tenth of the ideal training's updates.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, isnan, nan

import numpy as np
from numpy.typing import NDArray

from olaflab.papers.figure import FigureTable, judge_interval

Rewards = NDArray[np.float64]
"""(seeds, updates)"""
IDEAL = "ideal"
WITHIN = 0.9
"""Share of ideal that is the target for Olaf."""
PAIRS = {
    "Olaf, 55 % less output": ("FIFO, 55 % lost", 0.82),
    "Olaf, 74 % less output": ("FIFO, 74 % lost", 0.865),
}
"""Olaf's queues: FIFO at the same output, and how far Olaf ends above it (OLAF §8.2, 40 and 20 Gb/s)."""
ORIGINS = UNTRAINED, TENTH = ("the untrained policy", "ideal's first tenth")
_DRAWS = 10_000
_TENTHS = range(6, 11)
"""Tenths of a training after which its ends are compared; before, the ideal one has learnt nothing either."""


@dataclass(frozen=True)
class Ratio:
    """A quotient of means over seeds, and its 95 % interval when the seeds are drawn again (bootstrap).

    Infinite when what is divided by is not above 0; one seed has no interval.
    """

    value: float
    low: float
    high: float

    def judge(self, target: float) -> str:
        """Return the verdict on "at least ``target``"."""
        return judge_interval(self.low, self.high, target)

    def __str__(self) -> str:
        interval = "" if isnan(self.low) else f" ({_format_short(self.low)} … {_format_short(self.high)})"
        return _format_short(self.value) + interval


class Ends:
    """Ends of the trainings behind each queue, which have their seeds in common."""

    def __init__(self, rewards: Mapping[str, Rewards], origin: str = UNTRAINED) -> None:
        """``rewards`` of every queue, IDEAL and those of PAIRS among them; ``origin`` is R0's name."""
        self._rewards = rewards
        self._ideal = rewards[IDEAL]
        self._origin = origin
        seeds = len(self._ideal)
        self._draws = np.random.default_rng(0).integers(seeds, size=(_DRAWS, seeds))

    def end_reward(self, queue: str) -> Rewards:
        """Return (seeds,) the mean reward of the last tenth of the updates."""
        return _last_tenth(self._rewards[queue])

    def start_reward(self) -> Rewards:
        """Return (seeds,) R0."""
        tenth = max(1, self._ideal.shape[1] // 10)
        return np.asarray(self._ideal[:, : 1 if self._origin == UNTRAINED else tenth].mean(axis=1))

    def learnt_share(self, queue: str) -> Ratio:
        """Return how much is learnt, as a share of the ideal training."""
        return self._bootstrap_ratio(
            self.end_reward(queue) - self.start_reward(), self.end_reward(IDEAL) - self.start_reward()
        )

    def gain_over(self, queue: str, fifo: str) -> Ratio:
        """Return how much more is learnt than with FIFO, as a share of FIFO's."""
        return self._bootstrap_ratio(
            self.end_reward(queue) - self.end_reward(fifo), self.end_reward(fifo) - self.start_reward()
        )

    def literal_gain(self, queue: str, fifo: str) -> Ratio:
        """Return how much higher the reward ends than with FIFO, as a share of the size of FIFO's."""
        return self._bootstrap_ratio(
            self.end_reward(queue) - self.end_reward(fifo), self.end_reward(fifo), absolute=True
        )

    def ideal_after(self, part: float) -> float:
        """Return how much the ideal training has learnt after ``part`` of its updates."""
        updates = max(1, round(part * self._ideal.shape[1]))
        begun = float(self.start_reward().mean())
        then = float(_last_tenth(self._ideal[:, :updates]).mean())
        return (then - begun) / (float(self.end_reward(IDEAL).mean()) - begun)

    def judge_targets(self) -> Iterator[tuple[str, str]]:
        """Judge each target of OLAF's figure 8 by its interval."""
        for olaf, (fifo, paper) in PAIRS.items():
            learnt, gain = self.learnt_share(olaf), self.gain_over(olaf, fifo)
            yield f"{olaf}, R0 {self._origin}: at least {WITHIN} of ideal: {learnt}", learnt.judge(WITHIN)
            text = f"{olaf}, R0 {self._origin}: at least {paper} above FIFO: {gain}"
            yield text, gain.judge(paper)

    def literal_targets(self) -> Iterator[tuple[str, str]]:
        """Judge the paper's gain read as a share of FIFO's reward itself, whose sign is ignored."""
        for olaf, (fifo, paper) in PAIRS.items():
            gain = self.literal_gain(olaf, fifo)
            yield f"{olaf}, end reward alone: at least {paper} above FIFO: {gain}", gain.judge(paper)

    def _bootstrap_ratio(self, above: Rewards, below: Rewards, absolute: bool = False) -> Ratio:
        size = np.abs if absolute else np.asarray
        drawn = _divide_or_inf(above[self._draws].mean(axis=1), size(below[self._draws].mean(axis=1)))
        (value,) = _divide_or_inf(above.mean(keepdims=True), size(below.mean(keepdims=True)))
        if len(self._ideal) == 1:
            return Ratio(float(value), nan, nan)
        # Sorted, not interpolated: a drawn quotient may be infinite.
        low, high = np.sort(drawn)[[round(0.025 * _DRAWS), round(0.975 * _DRAWS)]]
        return Ratio(float(value), float(low), float(high))


def compare_earlier_ends(rewards: Mapping[str, Rewards], origin: str) -> FigureTable:
    """Compare what the targets compare, if the training had ended earlier."""
    updates = rewards[IDEAL].shape[1]
    heads = ["updates", "ideal's end reward"]
    for olaf, (fifo, _) in PAIRS.items():
        heads += [fifo, olaf, "gain", "ideal's gain"]
    rows = []
    for tenths in _TENTHS:
        end = max(1, updates * tenths // 10)
        ends = Ends({queue: table[:, :end] for queue, table in rewards.items()}, origin)
        row = [str(end), f"{ends.end_reward(IDEAL).mean():.0f}"]
        for olaf, (fifo, _) in PAIRS.items():
            quotients = (
                ends.learnt_share(fifo),
                ends.learnt_share(olaf),
                ends.gain_over(olaf, fifo),
                ends.gain_over(IDEAL, fifo),
            )
            row += [_format_short(quotient.value) for quotient in quotients]
        rows.append(row)
    return FigureTable(f"Learnt if the training had ended earlier; R0 is that of {origin}", heads, rows)


def _last_tenth(rewards: Rewards) -> Rewards:
    return np.asarray(rewards[:, -max(1, rewards.shape[1] // 10) :].mean(axis=1))


def _divide_or_inf(above: Rewards, below: Rewards) -> Rewards:
    positive = below > 0
    return np.where(positive, above / np.where(positive, below, 1), inf)


def _format_short(value: float) -> str:
    return "∞" if value == inf else f"{value:.2f}"
