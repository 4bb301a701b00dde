"""Policies that move the weights by an optimiser's steps, whose state lives here: for stateless learners."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Callable, Protocol, Union

import numpy as np

from olaf.policies.policy import RATE, Outcome, Policy, State, Update, change_kept
from olaf.transport.port import Address
from olaf.transport.segments import Segments, Vector, finite, stretches

Optimizer = Union[str, Callable[..., Any]]
"""``"adam"``, ``"sgd"`` or ``"rmsprop"`` of torch.optim, or what makes one from tensors and ``lr``."""


class Stepper(Protocol):
    """Turns mean gradients into moves of one model's weights."""

    def step(self, segments: range, mean: Vector, scale: float) -> list[int]:
        """Move neighbouring segments along ``mean`` (n,), by ``scale`` times a whole step.

        Returns those in which the weights or the optimiser's state overflowed: there all is as before.
        """

    def state(self) -> State:
        """Return what must outlive the process."""

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Take it back; raises ValueError for the state of another one."""


class Ascent:
    """Without an optimiser: w ← w + γ·scale·mean."""

    def __init__(self, weights: Vector, segments: Segments, rate: float) -> None:
        """``weights`` (n,) are moved in place."""
        self._weights, self._segments, self._rate = weights, segments, rate

    def step(self, segments: range, mean: Vector, scale: float) -> list[int]:
        """Step at once."""
        with np.errstate(over="ignore"):
            rate = np.float32(self._rate * scale)

        def move(place: slice, mean: Vector) -> None:
            self._weights[place] += rate * mean

        return change_kept(self._segments, segments, [self._weights], mean, move, float(rate))

    def state(self) -> State:
        """Return nothing: there is no state."""
        return {}

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Refuse any state. Raises ValueError."""
        if state:
            raise ValueError("it was written with an optimiser in the server, which has none now")


class Stepping(Policy):
    """A policy with an optimiser, or plain ascent, that steps by mean gradients."""

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        optimizer: Optimizer | None = None,
        deadline: float | None = None,
    ) -> None:
        """With an ``optimizer``, ``rate`` is its ``lr``. Raises ValueError for an unknown one, ImportError
        without torch."""
        super().__init__(weights, segments, rate, deadline)
        self._stepper: Stepper
        if optimizer is None:
            self._stepper = Ascent(self.weights, self.segments, rate)
        else:
            from olaf.policies.optimizing import TorchOptimizer

            self._stepper = TorchOptimizer(self.weights, self.segments, rate, optimizer)

    def state(self) -> State:
        """Return the optimiser's state."""
        return self._stepper.state()

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Restore the state."""
        self._stepper.restore(state)


DEADLINE = 1.0
"""Default of the seconds after which a group steps as it is."""


class Group:
    """The updates that wait in one segment."""

    __slots__ = ("count", "stale", "weight")

    def __init__(self) -> None:
        self.count = 0
        """Worker updates."""
        self.stale = 0.0
        """The sum of their staleness."""
        self.weight = 0.0
        """The sum of their weights."""


class Waiting(Stepping):
    """A group of H worker updates steps along its weighted mean, (1/H) Σ w_i·g_i.

    The weights' mean f scales the step, and the gradient is the mean divided by f: the same thing without an
    optimiser; with one that normalises gradients, as Adam does, a common factor of these would cancel.

    After ``deadline`` seconds since its first update a group steps as it is, so that none waits for ever.
    What waits when the server dies is lost, as a frame on its way is.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        deadline: float | None = DEADLINE,
        optimizer: Optimizer | None = None,
    ) -> None:
        """Raises ValueError for a deadline that is not above 0."""
        super().__init__(weights, segments, rate, optimizer, deadline)
        self._sum = np.zeros_like(self.weights)
        self._groups = [Group() for _ in range(self.segments.count)]

    @abstractmethod
    def weigh(self, lag: float) -> float:
        """Return the weight of an update that is ``lag`` versions stale."""

    def note_update(self, segment: int, lag: float, count: int) -> None:
        """Remember of ``count`` updates what ``admits`` needs beside the group; by default nothing."""

    @abstractmethod
    def admits(self, segment: int, group: Group) -> bool:
        """Return whether the group may step now."""

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Collect an update, or apply it with its group."""
        begin = self.segments.span(update.segments).start
        outcomes = []
        for lag, part in update.stretches():
            weight, place = self.weigh(lag), self.segments.span(part)
            gradient = update.gradient[place.start - begin : place.stop - begin]
            add = partial(self._add_weighted, weight)
            overflowed = self._drop(change_kept(self.segments, part, [self._sum], gradient, add))
            for segment in part:
                if segment in overflowed:
                    outcomes.append(Outcome.REFUSED)
                    continue
                self.note_update(segment, lag, update.count)
                group = self._groups[segment]
                group.count += update.count
                group.stale += update.count * lag
                group.weight += update.count * weight
                admitted = self.admits(segment, group)
                if not admitted:
                    self._deadlines.begin(segment, now)
                outcomes.append(Outcome.APPLIED if admitted else Outcome.COLLECTED)
        found = []
        for outcome, part in stretches(outcomes, update.segments.start):
            if outcome is Outcome.APPLIED:
                found += self._tell_applied(part, self._advance_segments(part))
            else:
                found.append((outcome, part))
        return found

    def _add_weighted(self, weight: float, place: slice, gradient: Vector) -> None:
        self._sum[place] += gradient if weight == 1 else np.float32(weight) * gradient

    def _advance_segments(self, segments: range) -> Sequence[int]:
        """Make one step of each segment's group; equal ones together."""
        groups = self._groups[segments.start : segments.stop]
        overflowed = []
        for (weight, count), alike in stretches([(g.weight, g.count) for g in groups], segments.start):
            place = self.segments.span(alike)
            with np.errstate(over="ignore"):
                mean = self._sum[place] if weight == 1 else self._sum[place] / np.float32(weight)
            overflowed += self._stepper.step(alike, mean, weight / count)
            self._sum[place] = 0
        for segment in segments:
            self._groups[segment] = Group()
            self._deadlines.end(segment)
        return self._drop(overflowed)


class SoftSync(Waiting):
    """A group of ``updates`` worker updates steps along its plain mean; with 1 it is pure asynchrony."""

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        updates: float = 2,
        deadline: float | None = DEADLINE,
        optimizer: Optimizer | None = None,
    ) -> None:
        """Raises ValueError for a group of none, or a deadline that is not above 0."""
        super().__init__(weights, segments, rate, deadline, optimizer)
        if updates < 1:
            raise ValueError(f"a group of {updates} updates is impossible")
        self._updates = updates

    def weigh(self, lag: float) -> float:
        """Weigh all updates equally."""
        return 1.0

    def admits(self, segment: int, group: Group) -> bool:
        """Return whether the group is complete."""
        return group.count >= self._updates


class Periodic(SoftSync):
    """iSwitch: updates are collected and move the weights together, every ``updates`` or ``seconds``.

    w ← w + γ·(sum of all)/(worker updates in it). At least one of the two limits must be given.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        updates: int | None = None,
        seconds: float | None = None,
    ) -> None:
        """Raises ValueError without a limit, or for one that is not above 0."""
        limits = [limit for limit in (updates, seconds) if limit is not None]
        if not limits or min(limits) <= 0:
            raise ValueError(f"a period of {updates} updates or {seconds} s never ends; give one above 0")
        super().__init__(weights, segments, rate, math.inf if updates is None else updates, seconds)


class Asynchronous(Stepping):
    """Every update is a step. A frame of c merged ones is one of c times the length, along their mean.

    n learners that are always busy are then n - 1 versions stale in the mean.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        optimizer: Optimizer | None = None,
    ) -> None:
        """Like any policy that steps; without a deadline, since nothing waits."""
        super().__init__(weights, segments, rate, optimizer)

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Apply an update, unless it overflows."""
        count = update.count
        mean = update.gradient if count == 1 else update.gradient / np.float32(count)
        overflowed = self._drop(self._stepper.step(update.segments, mean, count))
        return self._tell_applied(update.segments, overflowed)


class _Clock:
    """One member's updates of one segment."""

    __slots__ = ("heard", "held", "holds", "ticks")

    def __init__(self, ticks: int) -> None:
        self.ticks = ticks
        """Its updates, from those of the slowest on when it came."""
        self.heard = 0.0
        self.held: Vector | None = None
        """The sum of those that wait."""
        self.holds = 0


class StaleSynchronous(Stepping):
    """Stale-synchronous: the update of a member more than ``slack`` updates ahead of the slowest waits.

    It is applied once the slowest has caught up. Workers never wait in Olaf, so what waits is their updates:
    the weights do not run ahead of the slowest. A member that is silent for ``deadline`` seconds is the
    slowest no longer, and after as long a wait updates are applied in any case. A merged frame is one update
    of its newest contributor; its other contributors are unknown.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        slack: int = 1,
        deadline: float = DEADLINE,
        optimizer: Optimizer | None = None,
    ) -> None:
        """Raises ValueError for a slack below 0, or a deadline that is not above 0."""
        super().__init__(weights, segments, rate, optimizer, deadline)
        if slack < 0:
            raise ValueError(f"a slack of {slack} updates; give 0 or more")
        self._slack, self._deadline = slack, deadline
        self._clocks: list[dict[Address, _Clock]] = [{} for _ in range(self.segments.count)]

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Apply an update, or collect it until the slowest worker has caught up."""
        begin = self.segments.span(update.segments).start
        outcomes = []
        for segment in update.segments:
            place = self.segments.slice(segment)
            gradient = update.gradient[place.start - begin : place.stop - begin]
            clocks = self._clocks[segment]
            clock = clocks.get(update.member)
            if clock is None:
                clock = clocks[update.member] = _Clock(min((c.ticks for c in clocks.values()), default=1) - 1)
            clock.ticks += 1
            clock.heard = now
            usable = True
            if clock.held is None:
                clock.held = gradient.copy()
            else:
                with np.errstate(over="ignore"):
                    held = clock.held + gradient
                usable = finite(held)
                clock.held = held if usable else clock.held
            clock.holds += update.count if usable else 0
            self._drop([] if usable else [segment])
            released = self._release_waiting(segment, now)
            if clock.held is not None:
                self._deadlines.begin(segment, now)
            outcomes.append(released if usable or released is Outcome.APPLIED else Outcome.REFUSED)
        return stretches(outcomes, update.segments.start)

    def _release_waiting(self, segment: int, now: float) -> Outcome:
        """Apply what need not wait any more: refused if that overflowed, collected if there was nothing."""
        clocks = self._clocks[segment]
        for member in [m for m, clock in clocks.items() if now - clock.heard > self._deadline]:
            if clocks[member].held is None:
                del clocks[member]
        slowest = min(clock.ticks for clock in clocks.values())
        free = [
            clock
            for clock in clocks.values()
            if clock.held is not None and clock.ticks - slowest <= self._slack
        ]
        overflowed = self._apply_clocks(segment, free)
        if all(clock.held is None for clock in clocks.values()):
            self._deadlines.end(segment)
        if not free:
            return Outcome.COLLECTED
        return Outcome.REFUSED if overflowed else Outcome.APPLIED

    def _advance_segments(self, segments: range) -> Sequence[int]:
        return [
            overflowed
            for segment in segments
            for overflowed in self._apply_clocks(segment, list(self._clocks[segment].values()))
        ]

    def _apply_clocks(self, segment: int, clocks: list[_Clock]) -> list[int]:
        """Make as many steps as updates, along their mean; the segment if that overflowed."""
        waiting = [(clock, clock.held) for clock in clocks if clock.held is not None]
        count = sum(clock.holds for clock, _ in waiting)
        if not count:
            return []
        total = np.zeros(self.segments.length(segment), np.float32)
        with np.errstate(all="ignore"):
            for clock, held in waiting:
                total += held
                clock.held, clock.holds = None, 0
            total /= np.float32(count)
        return self._drop(self._stepper.step(range(segment, segment + 1), total, count))


class Stellaris(Waiting):
    """Stellaris §V-C: a group steps when its mean staleness is at most β_k = δ_max·d^k.

    A round is ``round`` worker updates. The first has no threshold, and δ_max is the largest staleness in it;
    k counts the rounds after it, from 1. An update of staleness δ weighs δ^(-1/v), a fresh one 1. Left open
    by the paper and fixed here:

    * A threshold alone can stop for ever, with β = 0 at the latest: a group of ``workers`` updates steps too,
      and every group at its deadline.
    * An update that is one version stale weighs 1, by the formula.
    * A merged frame counts as all its updates, each as stale as their mean, which is what it tells; for the
      threshold that is exact.

    With ``published`` it is what the authors' public code does: δ_max is the mean of round 1, rounded down,
    plus 1, and β_k = δ_max·d^(k-1), rounded down, plus 1, at most δ_max: whole versions, never below 1.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        decay: float = 0.96,
        root: float = 3.0,
        round: int = 40,
        workers: int | None = None,
        deadline: float = DEADLINE,
        optimizer: Optimizer | None = None,
        published: bool = False,
    ) -> None:
        """``decay`` is d, ``root`` is v. Raises ValueError where d is outside of (0, 1], v below 1, or a
        round, ``workers`` or the deadline not above 0."""
        super().__init__(weights, segments, rate, deadline, optimizer)
        if not 0 < decay <= 1:
            raise ValueError(f"a decay of {decay}; give one above 0 and at most 1")
        if not 1 <= root < math.inf:
            raise ValueError(f"a root of {root}; give a finite one of at least 1")
        if round < 1 or (workers is not None and workers < 1):
            raise ValueError(f"a round of {round} updates of {workers} workers is impossible")
        self._decay, self._root, self._round, self._workers = decay, root, round, workers
        self._published = published
        count = self.segments.count
        self._seen = [0] * count
        """Worker updates of each segment so far."""
        self._largest = [0.0] * count
        """δ in round 1, of each segment: the largest."""
        self._total = [0] * count
        """The sum of δ over round 1's worker updates, of each segment."""
        self._first = [0] * count
        """How many these are."""

    def threshold(self, segment: int = 0) -> float:
        """Return β in the segment's present round, in versions; infinite in the first."""
        k = max(self._seen[segment] - 1, 0) // self._round
        if k == 0:
            return math.inf
        if not self._published:
            return float(self._largest[segment] * self._decay**k)
        largest = self._total[segment] // self._first[segment] + 1
        return min(int(largest * self._decay ** (k - 1)) + 1, largest)

    def note_update(self, segment: int, lag: float, count: int) -> None:
        """Count the round's updates, and in round 1 find the largest staleness."""
        if self._seen[segment] < self._round:
            self._largest[segment] = max(self._largest[segment], lag)
            self._total[segment] += round(lag * count)
            self._first[segment] += count
        self._seen[segment] += count

    def weigh(self, lag: float) -> float:
        """Return δ^(-1/v)."""
        return 1.0 if lag <= 1 else float(lag ** (-1 / self._root))

    def admits(self, segment: int, group: Group) -> bool:
        """Return whether a group is fresh enough, or of all workers."""
        if self._workers is not None and group.count >= self._workers:
            return True
        return group.stale <= group.count * self.threshold(segment)

    def state(self) -> State:
        """Return the round and δ_max of each segment, next to the optimiser's state."""
        rounds = np.array([self._seen, self._largest, self._total, self._first], np.float64)
        return {**super().state(), "rounds": rounds.reshape(-1).view("<f4")}

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Restore the groups."""
        super().restore({name: array for name, array in state.items() if name != "rounds"})
        rounds = np.ascontiguousarray(state["rounds"]).view(np.float64).reshape(4, -1)
        self._seen, _, self._total, self._first = rounds.astype(np.int64).tolist()
        self._largest = rounds[1].tolist()
