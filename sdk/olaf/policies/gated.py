"""OLAF's gate: an update counts when its reward beats the global one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from olaf.policies.policy import BLOCK, RATE, Outcome, Policy, State, Update
from olaf.transport.segments import Segments, Vector, stretches


class RewardGated(Policy):
    """OLAF §2.1: an update counts when its reward beats the global one, and moves by a running average.

    r_i > r_g: g_a ← avg(g_a, g_i), w ← w + γ·g_a. Left open by the paper and fixed here:

    * r_g ← avg(r_g, r_i) after every update, refused ones too; a record that stayed would refuse all that
      follows. Until a finite reward is known, every update counts.
    * A frame of c merged updates counts as c equal ones, each its mean: with d = g_a - mean, w moves by
      γ·(c·mean + (1 - 2^-c)·d) and g_a becomes mean + 2^-c·d. With ``weigh=False`` it counts as one.
    * The first update is its own average.
    """

    def __init__(
        self, weights: Vector, segments: Segments | None = None, rate: float = RATE, weigh: bool = True
    ) -> None:
        super().__init__(weights, segments, rate)
        self.reward = [float("-inf")] * self.segments.count
        """r_g of each segment."""
        self._weigh = weigh
        self._average = np.zeros_like(self.weights)
        self._averaged = [False] * self.segments.count
        """Whether a segment has an average yet."""

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Applied or refused."""
        span = slice(update.segments.start, update.segments.stop)
        known = self.reward[span]
        passes = [reward == float("-inf") or update.reward > reward for reward in known]
        times = update.count if self._weigh else 1
        left = 0.5**times
        if update.reward > float("-inf"):
            self.reward[span] = [
                update.reward if reward == float("-inf") else reward * left + update.reward * (1 - left)
                for reward in known
            ]
        begin = self.segments.span(update.segments).start
        outcomes = []
        for (passing, averaged), alike in stretches(list(zip(passes, self._averaged[span])), span.start):
            if passing:
                place = self.segments.span(alike)
                for start in range(place.start, place.stop, BLOCK):
                    block = slice(start, min(start + BLOCK, place.stop))
                    gradient = update.gradient[block.start - begin : block.stop - begin]
                    self._move(block, gradient / np.float32(update.count), times, averaged)
                self._averaged[alike.start : alike.stop] = [True] * len(alike)
            outcomes.append((Outcome.APPLIED if passing else Outcome.REFUSED, alike))
        return outcomes

    def state(self) -> State:
        """r_g and g_a, and where there is one."""
        return {
            "reward": np.array(self.reward, np.float32),
            "average": self._average,
            "averaged": np.array(self._averaged, np.float32),
        }

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Restore the averages."""
        self.reward = [float(reward) for reward in state["reward"]]
        self._average = state["average"].copy()
        self._averaged = [bool(averaged) for averaged in state["averaged"]]

    def _move(self, place: slice, mean: Vector, times: int, averaged: bool) -> None:
        if not averaged:
            self._average[place] = mean
        away = self._average[place] - mean
        left = 0.5**times
        self.weights[place] += self.rate * (np.float32(times) * mean + np.float32(1 - left) * away)
        self._average[place] = mean + np.float32(left) * away
