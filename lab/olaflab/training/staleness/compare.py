"""The rules side by side: the same rows and optimiser steps, learners in virtual time, a ledger of costs.

A round plays ``ACTORS`` × ``STEPS`` rows, and learners make ``GRADIENTS`` gradients of them (Stellaris
§VIII-A at the scale of its public demonstration). Each learner takes the newest weights, computes for a
log-normal time, and gives its gradient to the server's policy. So a run repeats exactly, whatever the
machine does meanwhile.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from olaf import flat
from olaf.elastic import Ledger
from olaf.importance import clipped, truncated
from olaf.policies import Asynchronous, Outcome, Policy, SoftSync, StaleSynchronous, Stellaris, Update
from olaf.staleness import Staleness

from olaflab.training.staleness.play import Actors, Agent, Rows, weights_of

ACTORS, STEPS = 16, 256
EPOCHS, PARTS = 10, 4
GRADIENTS = EPOCHS * PARTS
RATE = 3e-4
FLOOR = 0.13
"""δ_max·d^K ends here, whatever K: 0.96^50."""
_STEP, _GRADIENT, _JITTER, _COLD = 1e-3, 21e-3, 0.3, 2.0
"""Seconds: an actor's step, a gradient, its deviation as a share, a learner's start."""
_PRICE = 3.06 / 3600 / 4
_LAST = 3
"""Rounds over which the final reward is a mean."""


@dataclass(frozen=True)
class Rule:
    """A way to train."""

    name: str
    make: Callable[..., Policy]
    learners: int
    truncated: bool = False


def rules(learners: int, rounds: int) -> tuple[Rule, ...]:
    """Those that the paper compares (figure 11), and synchrony with as many optimiser steps."""
    stellaris = partial(
        Stellaris, decay=FLOOR ** (1 / max(rounds, 1)), root=3, round=GRADIENTS, workers=learners
    )
    return (
        Rule("synchronous", Asynchronous, 1),
        Rule("async", Asynchronous, learners),
        Rule("ssp", partial(StaleSynchronous, slack=1), learners),
        Rule("softsync", partial(SoftSync, updates=max(learners // 2, 1)), learners),
        Rule("stellaris", stellaris, learners, truncated=True),
        Rule("stellaris, not truncated", stellaris, learners),
    )


@dataclass(frozen=True)
class Run:
    """What one training gave."""

    rule: str
    seed: int
    rewards: tuple[float, ...]
    """Mean return of each round's episodes; of the round before where none ended."""
    steps: int
    staleness: float
    small: float
    """Share of rows whose importance weight was below 0.1."""
    seconds: float
    """Virtual."""
    reserved: float
    invoked: float
    whole: float
    """$: all learners reserved; invocations alone; with cold starts and keep-alive."""

    @property
    def final(self) -> float:
        """The mean reward of the last rounds."""
        return float(np.mean(self.rewards[-_LAST:]))


def run(rule: Rule, seed: int, rounds: int, environment: str) -> Run:
    """Train once."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    actors = Actors(environment, ACTORS, seed)
    try:
        return _Training(rule, seed, actors).run(rounds)
    finally:
        actors.close()


class _Training:
    """One server, its learners, and their time."""

    def __init__(self, rule: Rule, seed: int, actors: Actors) -> None:
        self._rule, self._seed, self._actors = rule, seed, actors
        self._random = np.random.default_rng(seed)
        self._agent = Agent(*actors.sizes)
        self._parameters = list(self._agent.parameters())
        self._policy = rule.make(weights_of(self._agent), rate=RATE, optimizer="adam")
        self._ledger = Ledger(_PRICE, rule.learners)
        self._ledger.started(_COLD * rule.learners)
        self._staleness = Staleness()
        self._version, self._time = 0, 0.0
        self._small: list[float] = []

    def run(self, rounds: int) -> Run:
        rewards = [float("nan")]
        for _ in range(rounds):
            flat.write(self._parameters, self._policy.weights)
            rows, ended = self._actors.play(self._agent, STEPS)
            self._time += STEPS * _STEP
            self._ledger.kept(STEPS * _STEP * self._rule.learners)
            self._learn(rows)
            rewards.append(float(np.mean(ended)) if ended else rewards[-1])
        report = self._ledger.report(self._time)
        mean = self._staleness.mean or 0.0
        small = float(np.mean(self._small)) if self._small else 0.0
        return Run(self._rule.name, self._seed, tuple(rewards[1:]), self._version, mean, small, self._time,
                   report.reserved, report.invoked, report.whole)  # fmt: skip

    def _learn(self, rows: Rows) -> None:
        """All gradients of a round: a learner takes the next part as soon as it is free."""
        parts = self._parts(len(rows.actions))
        busy: list[tuple[float, int, int, Any, Any]] = []
        invocations = [self._ledger.begin(slot, self._time) for slot in range(self._rule.learners)]
        for slot in range(self._rule.learners):
            self._begin(busy, slot, next(parts, None))
        while busy:
            self._tick(busy[0][0])
            self._time, slot, version, weights, part = heapq.heappop(busy)
            others = [each for _, _, _, each, _ in busy] if self._rule.truncated else []
            gradient = self._gradient(rows.part(part), weights, others)
            lag = self._version - version
            self._staleness.add([lag], 1)
            update = Update(gradient, 1, 0.0, (f"10.0.0.{slot + 1}", 1), range(1), [lag])
            [(outcome, _)] = self._policy.take(update, self._time)
            self._version += outcome is Outcome.APPLIED
            invocations[slot].batches += 1
            following = next(parts, None)
            self._begin(busy, slot, following)
            if following is None:
                invocations[slot].end = self._time
        for invocation in invocations:
            self._ledger.kept(self._time - (invocation.end or self._time))
        self._tick(float("inf"))  # a round's last group does not wait for the next one's rows

    def _parts(self, count: int) -> Iterator[Any]:
        for _ in range(EPOCHS):
            order = self._random.permutation(count)
            yield from (torch.from_numpy(part) for part in np.array_split(order, PARTS))

    def _begin(self, busy: list[Any], slot: int, part: Any) -> None:
        if part is not None:
            seconds = _GRADIENT * self._random.lognormal(0, _JITTER)
            heapq.heappush(
                busy, (self._time + seconds, slot, self._version, self._policy.weights.copy(), part)
            )

    def _tick(self, until: float) -> None:
        due = self._policy.due()
        if due is not None and due <= until:
            self._version += len(self._policy.tick(due))

    def _gradient(self, rows: Rows, weights: Any, others: Sequence[Any]) -> Any:
        """Ascending, of PPO's loss at these weights; ``others`` are what other learners compute with."""
        logs = []
        for each in others:
            flat.write(self._parameters, each)
            with torch.no_grad():
                logs.append(self._agent.log_prob(rows))
        flat.write(self._parameters, weights)
        own = self._agent.log_prob(rows)
        rho = 1.0 if self._rule.truncated else float("inf")
        ratio = truncated(own, rows.behaviour, logs, rho)
        if self._rule.truncated:
            self._small.append(float((ratio.detach() < 0.1).float().mean()))
        advantages = (rows.advantages - rows.advantages.mean()) / (rows.advantages.std() + 1e-8)
        error = (self._agent.values(rows.observations) - rows.returns).square().mean()
        self._agent.zero_grad()
        (clipped(ratio, advantages) + 0.5 * error).backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, 0.5)
        return -flat.read([parameter.grad for parameter in self._parameters])


def interval(values: Sequence[float], seed: int = 1) -> tuple[float, float, float]:
    """The mean, and its 95 % interval when the runs are drawn again (bootstrap)."""
    drawn = np.random.default_rng(seed).choice(np.array(values), (2000, len(values))).mean(1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(np.mean(values)), float(low), float(high)
