"""What a parameter server does with an update: one small class for each way, each holding one segment.

The weights w belong to the policy; an update carries the *sum* of the gradients of ``count`` worker
updates, since the network may have merged them. Gradients ascend: w ← w + γ·g.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Callable

import numpy as np

from olaf.port import Address
from olaf.segments import Vector

RATE = 0.001
"""Default of γ (OLAF §2.1)."""

State = dict[str, Vector]
"""A policy's memory as arrays, for a checkpoint."""


@dataclass(frozen=True)
class Update:
    """One received frame; ``gradient`` is a view that lives only during the call."""

    gradient: Vector
    count: int
    reward: float
    member: Address
    """The newest contributor."""


class Outcome(Enum):
    """What became of an update."""

    APPLIED = "applied"
    """The weights moved."""
    COLLECTED = "collected"
    """It will move them with others; its sender is then told the new weights."""
    REFUSED = "refused"


class Policy(ABC):
    """One segment's weights and the rule that moves them."""

    def __init__(self, weights: Vector, rate: float = RATE) -> None:
        """``weights`` has shape (n,) and is copied; ``rate`` is γ."""
        self.weights: Vector = np.array(weights, dtype="<f4")
        self.rate = np.float32(rate)

    @abstractmethod
    def take(self, update: Update, now: float) -> Outcome:
        """An update arrived; ``now`` in seconds."""

    def due(self) -> float | None:
        """When ``tick`` has something to do, in seconds; None for not at all."""
        return None

    def tick(self, now: float) -> bool:
        """Time has passed; whether the weights moved."""
        return False

    def state(self) -> State:
        """What must outlive the process, without the weights."""
        return {}

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Take back what ``state`` returned; raises ValueError for the state of another policy."""
        if state:
            raise ValueError(f"{type(self).__name__} keeps no {', '.join(state)}")


PolicyMaker = Callable[[Vector], Policy]
"""Makes a segment's policy from its first weights."""


class Plain(Policy):
    """Every update moves the weights: w ← w + γ·sum, as if its constituents had come one by one."""

    def take(self, update: Update, now: float) -> Outcome:
        """Always applied."""
        self.weights += self.rate * update.gradient
        return Outcome.APPLIED


class RewardGated(Policy):
    """OLAF §2.1: an update counts when its reward beats the global one, and moves by a running average.

    r_i > r_g: g_a ← avg(g_a, g_i), w ← w + γ·g_a. Left open by the paper and fixed here:

    * r_g ← avg(r_g, r_i) after every update, refused ones too; a record that stayed would refuse all that
      follows. Until a finite reward is known, every update counts.
    * A frame of c merged updates counts as c equal ones, each its mean: with d = g_a - mean, w moves by
      γ·(c·mean + (1 - 2^-c)·d) and g_a becomes mean + 2^-c·d. With ``weigh=False`` it counts as one.
    * The first update is its own average.
    """

    def __init__(self, weights: Vector, rate: float = RATE, weigh: bool = True) -> None:
        super().__init__(weights, rate)
        self.reward = float("-inf")
        """r_g."""
        self._weigh = weigh
        self._average: Vector | None = None

    def take(self, update: Update, now: float) -> Outcome:
        """Applied or refused."""
        unknown = self.reward == float("-inf")
        passes = unknown or update.reward > self.reward
        times = update.count if self._weigh else 1
        left = 0.5**times
        if update.reward > float("-inf"):
            self.reward = update.reward if unknown else self.reward * left + update.reward * (1 - left)
        if not passes:
            return Outcome.REFUSED
        mean: Vector = update.gradient / np.float32(update.count)
        if self._average is None:
            self._average = mean
        away = self._average - mean
        self.weights += self.rate * (np.float32(times) * mean + np.float32(1 - left) * away)
        self._average = mean + np.float32(left) * away
        return Outcome.APPLIED

    def state(self) -> State:
        """r_g and g_a."""
        kept: State = {"reward": np.array([self.reward], np.float32)}
        if self._average is not None:
            kept["average"] = self._average
        return kept

    def restore(self, state: Mapping[str, Vector]) -> None:
        """As they were."""
        self.reward = float(state["reward"][0])
        self._average = state["average"].copy() if "average" in state else None


class Periodic(Policy):
    """iSwitch: updates are collected and move the weights together, every ``updates`` or ``seconds``.

    w ← w + γ·(sum of all)/(worker updates in it). At least one of the two limits must be given.
    """

    def __init__(
        self, weights: Vector, rate: float = RATE, updates: int | None = None, seconds: float | None = None
    ) -> None:
        """Raises ValueError when there is no limit, or one that is not above 0."""
        super().__init__(weights, rate)
        limits = [limit for limit in (updates, seconds) if limit is not None]
        if not limits or min(limits) <= 0:
            raise ValueError(f"a period of {updates} updates or {seconds} s never ends; give one above 0")
        self._updates, self._seconds = updates, seconds
        self._sum = np.zeros_like(self.weights)
        self._count = 0
        self._due: float | None = None

    def take(self, update: Update, now: float) -> Outcome:
        """Collected, or applied with all others."""
        self._sum += update.gradient
        self._count += update.count
        if self._due is None and self._seconds is not None:
            self._due = now + self._seconds
        if self._updates is not None and self._count >= self._updates:
            self._move()
            return Outcome.APPLIED
        return Outcome.COLLECTED

    def due(self) -> float | None:
        """The period's end."""
        return self._due

    def tick(self, now: float) -> bool:
        """Moves at the period's end."""
        if self._due is None or now < self._due:
            return False
        self._move()
        return True

    def _move(self) -> None:
        self.weights += self.rate * (self._sum / np.float32(self._count))
        self._sum[:] = 0
        self._count, self._due = 0, None


class Synchronous(Policy):
    """SwitchML: the weights move when all ``workers`` have contributed, by the mean of their gradients.

    A member that sends again within a round replaces what it sent; a merged frame counts for all in it.
    After ``deadline`` seconds since the first contribution the round ends with those that are there.
    """

    def __init__(
        self, weights: Vector, rate: float = RATE, workers: int = 1, deadline: float | None = None
    ) -> None:
        """Raises ValueError for no workers or a deadline not above 0."""
        super().__init__(weights, rate)
        if workers < 1 or (deadline is not None and deadline <= 0):
            raise ValueError(f"a round of {workers} workers within {deadline} s is impossible")
        self._workers, self._deadline = workers, deadline
        self._merged = np.zeros_like(self.weights)
        self._merged_count = 0
        self._single: dict[Address, Vector] = {}
        self._due: float | None = None

    def take(self, update: Update, now: float) -> Outcome:
        """Collected, or applied with the round."""
        if update.count == 1:
            self._single[update.member] = update.gradient.copy()
        else:
            self._merged += update.gradient
            self._merged_count += update.count
        if self._merged_count + len(self._single) >= self._workers:
            self._move()
            return Outcome.APPLIED
        if self._due is None and self._deadline is not None:
            self._due = now + self._deadline
        return Outcome.COLLECTED

    def due(self) -> float | None:
        """The round's deadline."""
        return self._due

    def tick(self, now: float) -> bool:
        """Ends the round at its deadline."""
        if self._due is None or now < self._due:
            return False
        self._move()
        return True

    def _move(self) -> None:
        total = self._merged
        for gradient in self._single.values():
            total = total + gradient
        self.weights += self.rate * (total / np.float32(self._merged_count + len(self._single)))
        self._merged[:] = 0
        self._merged_count, self._due = 0, None
        self._single.clear()


POLICIES: dict[str, type[Policy]] = {
    "olaf": RewardGated,
    "synchronous": Synchronous,
    "periodic": Periodic,
    "plain": Plain,
}
"""By the name that a configuration gives."""
