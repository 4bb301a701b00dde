"""Policies: one model's weights, and the rule by which updates move them.

The weights w belong to the policy; an update carries the *sum* of the gradients of ``count`` worker
updates, since the network may have merged them. Gradients ascend: w ← w + γ·g.

Each segment of a model is a small model of its own: what follows states of "the weights" or "the global
reward" holds for each. Segments that arrive together are one update of all of them, which has to do exactly
what they would one by one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Callable

import numpy as np

from olaf.transport.port import Address
from olaf.transport.segments import Segments, Vector, representable, stretches


class Deadlines:
    """One for each segment in which something waits: all wait equally long, so they pass as they began."""

    def __init__(self, wait: float | None) -> None:
        """``wait`` in seconds; with None nothing has a deadline."""
        self._wait = wait
        self._due: dict[int, float] = {}

    def begin(self, segment: int, now: float) -> None:
        """Note that an update waits there, from now on if none did before."""
        if self._wait is not None:
            self._due.setdefault(segment, now + self._wait)

    def end(self, segment: int) -> None:
        """Note that no update waits there any more."""
        self._due.pop(segment, None)

    def first(self) -> float | None:
        """The one that comes first, in seconds."""
        return next(iter(self._due.values()), None)

    def passed(self, now: float) -> list[int]:
        """The segments whose deadline is over, in order of time."""
        over = []
        for segment, due in self._due.items():
            if now < due:
                break
            over.append(segment)
        return over


RATE = 0.001
"""Default of γ (OLAF §2.1)."""

BLOCK = 1 << 15
"""Values computed with at a time, so that what is in between stays in the processor's cache."""

State = dict[str, Vector]
"""A policy's memory as arrays, for a checkpoint."""


@dataclass
class Update:
    """Received frames of neighbouring segments; ``gradient`` is a view that lives only during the call."""

    gradient: Vector
    """The gradient of these segments, (n,)."""
    count: int
    reward: float
    member: Address
    """The newest contributor."""
    segments: range = range(1)
    lags: Sequence[float] = ()
    """Staleness δ of each segment, in versions, at arrival; empty where all are fresh. Of a merged update it
    is the mean of its constituents', or if the frame does not carry that, the oldest's."""

    def stretches(self) -> list[tuple[float, range]]:
        """Neighbouring segments of equal staleness, with it."""
        if not self.lags:
            return [(0, self.segments)]
        return stretches(list(self.lags), self.segments.start)


class Outcome(Enum):
    """The result of a segment's update."""

    APPLIED = "applied"
    """The weights moved."""
    COLLECTED = "collected"
    """It will move them with others; its sender then receives the new weights."""
    REFUSED = "refused"


class Policy(ABC):
    """One model's weights and the rule that moves them."""

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        deadline: float | None = None,
    ) -> None:
        """``weights`` has shape (n,) and is copied; without ``segments`` it is one. ``rate`` is γ.

        What waits in a segment steps after ``deadline`` seconds in any case; ValueError for none above 0, or
        a rate that binary32 cannot hold.
        """
        if not representable(rate) or rate == -math.inf:
            raise ValueError(f"a rate of {rate}; give a finite number")
        if deadline is not None and not deadline > 0:
            raise ValueError(f"a deadline of {deadline} s; give a deadline above 0")
        self.weights: Vector = np.array(weights, dtype="<f4")
        self.segments = segments or Segments(len(weights), 1)
        self.rate = np.float32(rate)
        self._deadlines = Deadlines(deadline)

    @abstractmethod
    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """An update arrived; ``now`` in seconds. Returns what became of its segments, in order."""

    def due(self) -> float | None:
        """When ``tick`` has something to do, in seconds; None for not at all."""
        return self._deadlines.first()

    def tick(self, now: float) -> Sequence[int]:
        """Time has passed; which segments' weights moved."""
        over = self._deadlines.passed(now)
        for segment in over:
            self._advance_segments(range(segment, segment + 1))
            self._deadlines.end(segment)
        return over

    def _advance_segments(self, segments: range) -> None:
        """Step with what waits in these neighbouring segments; only where something does."""
        raise NotImplementedError

    def state(self) -> State:
        """Return what must outlive the process, without the weights."""
        return {}

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Take back what ``state`` returned; raises ValueError for the state of another policy."""
        if state:
            raise ValueError(f"{type(self).__name__} does not keep {', '.join(state)}")


PolicyMaker = Callable[[Vector, Segments], Policy]
"""Makes a model's policy from its first weights and its segments."""


class Plain(Policy):
    """Every update moves the weights: w ← w + γ·sum, as if its constituents had come one by one.

    So n workers move them n times as far as one does in the same time: the effective rate of learning grows
    with their number. With ``workers`` = n each moves them by an n-th, and together by the mean.
    """

    def __init__(
        self, weights: Vector, segments: Segments | None = None, rate: float = RATE, workers: int = 1
    ) -> None:
        """Raises ValueError for no workers."""
        if workers < 1:
            raise ValueError(f"a mean over {workers} workers is impossible")
        super().__init__(weights, segments, rate)
        self._step = np.float32(rate / workers)

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Always applied."""
        weights = self.weights[self.segments.span(update.segments)]
        for start in range(0, len(weights), BLOCK):
            block = slice(start, start + BLOCK)
            weights[block] += self._step * update.gradient[block]
        return [(Outcome.APPLIED, update.segments)]


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
                    self._move_weights(block, gradient / np.float32(update.count), times, averaged)
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

    def _move_weights(self, place: slice, mean: Vector, times: int, averaged: bool) -> None:
        if not averaged:
            self._average[place] = mean
        away = self._average[place] - mean
        left = 0.5**times
        self.weights[place] += self.rate * (np.float32(times) * mean + np.float32(1 - left) * away)
        self._average[place] = mean + np.float32(left) * away


class Synchronous(Policy):
    """SwitchML: the weights move when all ``workers`` have contributed, by the mean of their gradients.

    A member that sends again within a round replaces what it sent; a merged frame counts for all in it.
    After ``deadline`` seconds since the first contribution the round ends with those that are there.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        workers: int = 1,
        deadline: float | None = None,
    ) -> None:
        """Raises ValueError for no workers or a deadline not above 0."""
        if workers < 1 or (deadline is not None and deadline <= 0):
            raise ValueError(f"a round of {workers} workers within {deadline} s is impossible")
        super().__init__(weights, segments, rate, deadline)
        self._workers = workers
        self._merged = np.zeros_like(self.weights)
        self._merged_counts = [0] * self.segments.count
        self._single: list[dict[Address, Vector]] = [{} for _ in range(self.segments.count)]

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Collected, or applied with the round."""
        begin = self.segments.span(update.segments).start
        outcomes = []
        for segment in update.segments:
            place = self.segments.slice(segment)
            gradient = update.gradient[place.start - begin : place.stop - begin]
            if update.count == 1:
                self._single[segment][update.member] = gradient.copy()
            else:
                self._merged[place] += gradient
                self._merged_counts[segment] += update.count
            outcomes.append(self._count_contribution(segment, now))
        return stretches(outcomes, update.segments.start)

    def _count_contribution(self, segment: int, now: float) -> Outcome:
        if self._merged_counts[segment] + len(self._single[segment]) >= self._workers:
            self._advance_segments(range(segment, segment + 1))
            self._deadlines.end(segment)
            return Outcome.APPLIED
        self._deadlines.begin(segment, now)
        return Outcome.COLLECTED

    def _advance_segments(self, segments: range) -> None:
        for segment in segments:
            place, single = self.segments.slice(segment), self._single[segment]
            total = self._merged[place]
            for gradient in single.values():
                total = total + gradient
            count = np.float32(self._merged_counts[segment] + len(single))
            self.weights[place] += self.rate * (total / count)
            self._merged[place] = 0
            self._merged_counts[segment] = 0
            single.clear()
