"""Policies: one model's weights, and the rule by which updates move them.

The weights w belong to the policy; an update carries the *sum* of the gradients of ``count`` worker
updates, since the network may have merged them. Gradients ascend: w ← w + γ·g.

Whatever a policy keeps is finite in binary32. An update whose sum with that overflows is refused in the
segments where it does, and a step that overflows drops its group; what was kept before stays.

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
from functools import partial
from typing import Callable

import numpy as np

from olaf.guards import Dropped
from olaf.transport.port import Address
from olaf.transport.segments import Segments, Vector, finite, representable, stretches


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
        """Return the first deadline, in seconds."""
        return next(iter(self._due.values()), None)

    def passed(self, now: float) -> list[int]:
        """List the segments whose deadline is over, in order of time."""
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

_STEEPEST = 2.0**40
"""The largest γ at which values whose squares binary32 holds make no overflow."""

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
        """List neighbouring segments of equal staleness, with their staleness."""
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


@np.errstate(all="ignore")
def change_kept(
    segments: Segments,
    several: range,
    kept: Sequence[Vector],
    given: Vector,
    change: Callable[[slice, Vector], None],
    steepest: float = 1.0,
) -> list[int]:
    """Change what is ``kept`` (values,) of neighbouring segments by what is ``given`` for them, (n,).

    ``change`` gets a place and what is given there, and scales it by at most ``steepest``. Returns the
    segments in which the change overflowed; there all that is kept is as it was.

    Where squares are finite, no sum of a few values overflows; a dot product finds that in one quick pass.
    """
    step, begin, overflowed = max(BLOCK // segments.size, 1), several.start * segments.size, list[int]()
    for start in range(several.start, several.stop, step):
        part = range(start, min(start + step, several.stop))
        place = segments.span(part)
        own = given[place.start - begin : place.stop - begin]
        squares = np.dot(own, own)
        for array in kept:
            squares += np.dot(array[place], array[place])
        if math.isfinite(squares) and abs(steepest) <= _STEEPEST:
            change(place, own)
        else:
            overflowed += [s for s in part if not _try_change(segments.slice(s), kept, given, begin, change)]
    return overflowed


def _try_change(
    place: slice,
    kept: Sequence[Vector],
    given: Vector,
    begin: int,
    change: Callable[[slice, Vector], None],
) -> bool:
    before = [array[place].copy() for array in kept]
    change(place, given[place.start - begin : place.stop - begin])
    if all(finite(array[place]) for array in kept):
        return True
    for array, old in zip(kept, before):
        array[place] = old
    return False


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
        self.overflows = Dropped("sums of updates and kept values")
        """Updates and groups of single segments that were dropped because they overflow."""
        self._deadlines = Deadlines(deadline)

    @abstractmethod
    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Take an update that arrived at ``now`` (s). Returns what became of its segments, in order."""

    def due(self) -> float | None:
        """Return when ``tick`` has something to do, in seconds; None for not at all."""
        return self._deadlines.first()

    def tick(self, now: float) -> Sequence[int]:
        """Time has passed; which segments' weights moved."""
        over = self._deadlines.passed(now)
        dropped = set[int]()
        for segment in over:
            dropped.update(self._advance_segments(range(segment, segment + 1)))
            self._deadlines.end(segment)
        return [segment for segment in over if segment not in dropped]

    def _advance_segments(self, segments: range) -> Sequence[int]:
        """Step with what waits in these neighbouring segments; only where something does.

        Returns the segments whose step overflowed, counted; what waited there is dropped.
        """
        raise NotImplementedError

    def _drop(self, overflowed: list[int]) -> list[int]:
        self.overflows.add(len(overflowed))
        return overflowed

    def _tell_applied(self, segments: range, overflowed: Sequence[int]) -> list[tuple[Outcome, range]]:
        """Return that the update was applied in all segments but those that overflowed."""
        if not overflowed:
            return [(Outcome.APPLIED, segments)]
        outcomes = [Outcome.REFUSED if segment in overflowed else Outcome.APPLIED for segment in segments]
        return stretches(outcomes, segments.start)

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
        """Apply an update, unless it overflows."""

        def move(place: slice, gradient: Vector) -> None:
            self.weights[place] += self._step * gradient

        segments, gradient = update.segments, update.gradient
        overflowed = change_kept(self.segments, segments, [self.weights], gradient, move, float(self._step))
        return self._tell_applied(segments, self._drop(overflowed))


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
        """Apply an update or refuse it."""
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
        outcomes: list[tuple[Outcome, range]] = []
        for (passing, averaged), alike in stretches(list(zip(passes, self._averaged[span])), span.start):
            if not passing:
                outcomes.append((Outcome.REFUSED, alike))
                continue
            place = self.segments.span(alike)
            overflowed = change_kept(
                self.segments,
                alike,
                [self.weights, self._average],
                update.gradient[place.start - begin : place.stop - begin],
                partial(self._move_weights, update.count, times, averaged),
                float(self.rate) * times,
            )
            found = self._tell_applied(alike, self._drop(overflowed))
            for outcome, part in found:
                if outcome is Outcome.APPLIED:
                    self._averaged[part.start : part.stop] = [True] * len(part)
            outcomes += found
        return outcomes

    def state(self) -> State:
        """Return r_g and g_a, and where there is one."""
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

    def _move_weights(self, count: int, times: int, averaged: bool, place: slice, gradient: Vector) -> None:
        mean = gradient / np.float32(count)
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
        """Collect an update, or apply it with its round."""
        begin = self.segments.span(update.segments).start
        outcomes = []
        for segment in update.segments:
            place = self.segments.slice(segment)
            gradient = update.gradient[place.start - begin : place.stop - begin]
            if update.count == 1:
                self._single[segment][update.member] = gradient.copy()
            elif self._drop(
                change_kept(
                    self.segments, range(segment, segment + 1), [self._merged], gradient, self._add_merged
                )
            ):
                outcomes.append(Outcome.REFUSED)
                continue
            else:
                self._merged_counts[segment] += update.count
            outcomes.append(self._count_contribution(segment, now))
        return stretches(outcomes, update.segments.start)

    def _add_merged(self, place: slice, gradient: Vector) -> None:
        self._merged[place] += gradient

    def _count_contribution(self, segment: int, now: float) -> Outcome:
        if self._merged_counts[segment] + len(self._single[segment]) >= self._workers:
            overflowed = self._advance_segments(range(segment, segment + 1))
            self._deadlines.end(segment)
            return Outcome.REFUSED if overflowed else Outcome.APPLIED
        self._deadlines.begin(segment, now)
        return Outcome.COLLECTED

    def _advance_segments(self, segments: range) -> Sequence[int]:
        overflowed = []
        for segment in segments:
            place, single = self.segments.slice(segment), self._single[segment]
            total = self._merged[place]
            with np.errstate(all="ignore"):
                for gradient in single.values():
                    total = total + gradient
            count = np.float32(self._merged_counts[segment] + len(single))

            def move(place: slice, total: Vector, count: np.float32 = count) -> None:
                self.weights[place] += self.rate * (total / count)

            alone = range(segment, segment + 1)
            overflowed += change_kept(self.segments, alone, [self.weights], total, move, float(self.rate))
            self._merged[place] = 0
            self._merged_counts[segment] = 0
            single.clear()
        return self._drop(overflowed)
