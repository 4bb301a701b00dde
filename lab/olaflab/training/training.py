"""One cluster's asynchronous training: workers, each on a machine of its own, and their parameter server.

Every worker has its own clock. An update takes the CPU time that playing its episodes and computing its
gradient really took here, times the machine's slowdown; the worker that finishes first on its own clock is
served first. So the order, the staleness and the times are those of as many machines as there are workers,
whatever this machine is doing meanwhile. The network is ideal: no delay, no loss.
"""

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from olaf.policies import Outcome, RewardGated
from olaf.policies import Update as Received

from olaflab.training import experience, network, ppo


@dataclass(frozen=True)
class Speed:
    """What makes clusters heterogeneous (OLAF §8.2): their hardware and their experience per update."""

    slowdown: int
    episodes: int


@dataclass(frozen=True)
class TracedUpdate:
    """What one worker sent, and what became of it."""

    worker: int
    number: int
    """Number of its worker, from 0."""
    seconds: float
    """Since the training began."""
    gradient: network.Vector
    reward: float
    """Mean over its episodes."""
    steps: int
    """Environment steps behind it."""
    accepted: bool
    """Whether it moved the global weights."""


_Result = tuple[network.Vector, float, int]
"""Gradient, mean reward, environment steps."""

_Pending = tuple[float, int, _Result]
"""When on its own clock, which worker, and what it then sends."""


@dataclass
class _Worker:
    speed: Speed
    environment: Any
    random: np.random.Generator
    learner: ppo.PpoLearner
    seconds: float = 0.0

    def make_update(self, weights: network.Vector) -> _Result:
        """Make one update with these weights, and advance the worker's clock."""
        begin = time.thread_time()
        played = experience.collect_episodes(self.environment, weights, self.speed.episodes, self.random)
        gradient = self.learner.gradient(weights, played)
        self.seconds += (time.thread_time() - begin) * self.speed.slowdown
        return gradient, played.mean_reward, len(played.actions)


def train_cluster(
    workers: int, speed: Speed, updates: int, random: np.random.Generator, hidden: int = network.HIDDEN
) -> Iterator[TracedUpdate]:
    """Train until every worker has sent ``updates`` updates; yields each when the server has it."""
    team = [_make_worker(speed, random, hidden) for _ in range(workers)]
    weights = network.initial_parameters(random, hidden)
    server = RewardGated(weights, rate=ppo.LEARNING_RATE)
    sent = [0] * workers
    pending: list[_Pending] = []
    for index, worker in enumerate(team):
        result = worker.make_update(weights)
        heapq.heappush(pending, (worker.seconds, index, result))
    while pending:
        seconds, index, (gradient, reward, steps) = heapq.heappop(pending)
        ((outcome, _),) = server.take(Received(gradient, 1, reward, ("worker", index)), seconds)
        yield TracedUpdate(index, sent[index], seconds, gradient, reward, steps, outcome is Outcome.APPLIED)
        sent[index] += 1
        if sent[index] < updates:
            result = team[index].make_update(server.weights)
            heapq.heappush(pending, (team[index].seconds, index, result))


def warm_up(hidden: int = network.HIDDEN) -> None:
    """Load and allocate what first calls do, which no worker's first update should pay for."""
    random = np.random.default_rng(0)
    _make_worker(Speed(1, 1), random, hidden).make_update(network.initial_parameters(random, hidden))


def _make_worker(speed: Speed, random: np.random.Generator, hidden: int) -> _Worker:
    return _Worker(
        speed=speed,
        environment=gymnasium.make(
            experience.ENVIRONMENT, max_episode_steps=experience.EPISODE_STEPS, disable_env_checker=True
        ),
        random=np.random.default_rng(random.integers(1 << 63)),
        learner=ppo.PpoLearner(int(random.integers(1 << 31)), network.count_parameters(hidden)),
    )
