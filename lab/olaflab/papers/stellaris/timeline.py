"""Learners in virtual time: with which weights they compute, how stale that is, what it takes and costs.

Each learner takes the newest weights, computes for a log-normal time, and gives its gradient to the server's
policy. None of that depends on what is learnt, so a run without learning has the same times as one with it.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from olaf.elastic import Ledger
from olaf.elastic.lease import Report
from olaf.policies import Outcome, Policy, Update
from olaf.server.model import Staleness
from olaf.transport.segments import Vector

from olaflab.papers.stellaris.rules import Rule, Scale

COLD = 2.0
"""Seconds of a learner's start."""
PRICE = 3.06 / 3600 / 4
"""$ of a learner's second: four on a GPU's machine (Stellaris §VIII-A)."""

Gradient = Callable[[Any, Vector, Sequence[Vector]], Vector]
"""A gradient of these numbers of rows, at these weights, while other learners compute with those."""


class Timeline:
    """One server, its learners, and their time."""

    def __init__(self, rule: Rule, seed: int, scale: Scale, policy: Policy) -> None:
        self.policy, self.scale = policy, scale
        self.version, self.now = 0, 0.0
        self.staleness, self.lags = Staleness(), list[int]()
        self._rule = rule
        self._random = np.random.default_rng(seed)
        self._ledger = Ledger(PRICE, rule.learners)
        self._ledger.started(COLD * rule.learners)

    def play_round(self) -> None:
        """Let actors play a round's rows, and keep learners for them."""
        seconds = self.scale.steps * self.scale.act
        self.now += seconds
        self._ledger.kept(seconds * self._rule.learners)

    def learn_round(self, gradient: Gradient, most: int | None = None) -> None:
        """Make a round's gradients, at most ``most``: a learner takes the next part as soon as it is free."""
        parts = islice(self._iterate_parts(), most)
        busy: list[tuple[float, int, int, Vector, Any]] = []
        invocations = [self._ledger.begin(slot, self.now) for slot in range(self._rule.learners)]
        for slot in range(self._rule.learners):
            self._begin_part(busy, slot, next(parts, None))
        while busy:
            self._tick_policy(busy[0][0])
            self.now, slot, version, weights, part = heapq.heappop(busy)
            found = gradient(part, weights, [each for _, _, _, each, _ in busy])
            lag = self.version - version
            self.lags.append(lag)
            self.staleness.add([lag], 1)
            update = Update(found, 1, 0.0, (f"10.0.0.{slot + 1}", 1), range(1), [lag])
            [(outcome, _)] = self.policy.take(update, self.now)
            self.version += outcome is Outcome.APPLIED
            invocations[slot].batches += 1
            following = next(parts, None)
            self._begin_part(busy, slot, following)
            if following is None:
                invocations[slot].end = self.now
        for invocation in invocations:
            self._ledger.kept(self.now - (invocation.end or self.now))
        self._tick_policy(float("inf"))  # a round's last group does not wait for the next one's rows

    def report(self) -> Report:
        """Return the costs of learners until now."""
        return self._ledger.report(self.now)

    def _iterate_parts(self) -> Iterator[Any]:
        replay = self._rule.replay
        for _ in range(self.scale.epochs // replay):
            order = self._random.permutation(self.scale.rows * replay)
            yield from np.array_split(order, (self._rule.parts or self.scale.parts) * replay)

    def _begin_part(self, busy: list[Any], slot: int, part: Any) -> None:
        if part is not None:
            seconds = self.scale.gradient_seconds(len(part)) * self._random.lognormal(0, self.scale.jitter)
            heapq.heappush(busy, (self.now + seconds, slot, self.version, self.policy.weights.copy(), part))

    def _tick_policy(self, until: float) -> None:
        due = self.policy.due()
        if due is not None and due <= until:
            self.version += len(self.policy.tick(due))


@dataclass(frozen=True)
class Timed:
    """A run without what is learnt."""

    steps: tuple[int, ...]
    """Steps of the optimiser, by round."""
    ends: tuple[float, ...]
    """Ends of rounds, in virtual seconds."""
    lags: tuple[int, ...]
    """Staleness of each gradient, in order."""
    report: Report


def time_rule(rule: Rule, seed: int, rounds: int, scale: Scale) -> Timed:
    """Return the times of a training, whatever it learns."""
    timeline = Timeline(rule, seed, scale, rule.make(np.zeros(1, np.float32)))
    steps, ends = [0], []
    for most in step_limits(rule, seed, rounds, scale):
        timeline.play_round()
        timeline.learn_round(_zero_gradient, most)
        steps.append(timeline.version)
        ends.append(timeline.now)
    each = np.diff(steps).tolist()
    return Timed(tuple(each), tuple(ends), tuple(timeline.lags), timeline.report())


def step_limits(rule: Rule, seed: int, rounds: int, scale: Scale) -> Sequence[int | None]:
    """Return the most optimiser steps of each round."""
    return [None] * rounds if rule.like is None else time_rule(rule.like, seed, rounds, scale).steps


def _zero_gradient(part: Any, weights: Vector, others: Sequence[Vector]) -> Vector:
    return np.zeros(1, np.float32)
