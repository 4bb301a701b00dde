"""Recorded trainings, one a cluster: asynchronous workers, each on a machine of its own, and their server.

Clusters are tenants (OLAF §8.3): each trains a policy of its own, so none knows of another, and each is
recorded from its own beginning. Every worker has its own clock. An update takes the CPU time that
playing its episodes and computing its gradient really took here, times the worker's slowdown; the worker
that finishes first on its own clock is served first. So the order, the staleness and the times are those
of as many machines as there are workers, whatever this machine is doing meanwhile. The network is ideal:
no delay, no loss.
"""

import heapq
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import gymnasium
import numpy as np
import torch

from olafctl.errors import BadInput, Problem
from olafctl.replay.trace import MOST_KEPT, Trace, quantise
from olafctl.train import experience, network, ppo
from olafctl.train.server import RunningAverage

SLOWDOWNS = (1, 2, 4)
"""Three generations of hardware, each half as fast as the next."""
EPISODES = (1, 2, 3)
"""Experience behind an update, a choice of each training."""
POOL_STRIDE = 25
"""Every so many updates of a worker its gradient is kept whole."""

Progress = Callable[[int, int, int, float], None]
"""Told after each update: its cluster, updates so far, of how many, and its mean reward."""

_Result = tuple[network.Vector, float, int]
"""Gradient, mean reward, environment steps."""

_Pending = tuple[float, int, _Result]
"""When on its own clock, which worker, and what it then sends."""


@dataclass(frozen=True)
class Speed:
    """What makes clusters heterogeneous (OLAF §8.2): their hardware and their experience per update."""

    slowdown: int
    episodes: int


@dataclass
class _Worker:
    speed: Speed
    environment: Any
    random: np.random.Generator
    learner: ppo.Learner
    seconds: float = 0.0

    def work(self, weights: network.Vector) -> _Result:
        """One update with these weights; advances the worker's clock."""
        begin = time.thread_time()
        played = experience.collect(self.environment, weights, self.speed.episodes, self.random)
        gradient = self.learner.gradient(weights, played)
        self.seconds += (time.thread_time() - begin) * self.speed.slowdown
        return gradient, played.mean_reward, len(played.actions)


class _Tape:
    """The growing trace."""

    def __init__(self, workers: int, updates: int) -> None:
        shape = (workers, updates)
        self.updates = updates
        self.time = np.zeros(shape, dtype=np.int64)
        self.reward = np.zeros(shape, dtype=np.float32)
        self.norm = np.zeros(shape, dtype=np.float32)
        self.steps = np.zeros(shape, dtype=np.int32)
        self.accepted = np.zeros(shape, dtype=np.bool_)
        self.pool_index = np.zeros(shape, dtype=np.uint16)
        self.pool: list[Any] = []

    def write(self, at: tuple[int, int], seconds: float, gradient: network.Vector) -> None:
        worker, update = at
        if update % POOL_STRIDE == 0:
            self.pool.append(quantise(gradient))
            self.pool_index[worker, update:] = len(self.pool) - 1
        self.time[at] = round(seconds * 1e9)
        self.norm[at] = np.linalg.norm(gradient)


def record(clusters: int, cluster_size: int, updates: int, seed: int, progress: Progress) -> Trace:
    """Train each cluster until every worker has sent ``updates`` updates, and return all of them.

    Workers 0 … cluster_size-1 are the first cluster, and so on.

    The seed fixes speeds, initial weights and episodes; the times are measured, and with them the order
    in which updates meet, so two recordings are alike but not identical. Raises BadInput when a trace
    cannot hold so many.
    """
    workers = clusters * cluster_size
    kept = workers * -(-updates // POOL_STRIDE)
    if kept > MOST_KEPT:
        raise BadInput(
            Problem(f"{kept} gradients to keep, but a trace holds at most {MOST_KEPT}", remedy="record fewer")
        )
    torch.set_num_threads(1)
    random = np.random.default_rng(seed)
    speeds = _speeds(clusters, random)
    _warm(network.initial(random))
    tape = _Tape(workers, updates)
    for cluster, speed in enumerate(speeds):
        first = cluster * cluster_size

        def told(sent: int, reward: float, cluster: int = cluster, before: int = first * updates) -> None:
            progress(cluster, before + sent, workers * updates, reward)

        team = [_worker(speed, random) for _ in range(cluster_size)]
        _train(team, network.initial(random), tape, first, told)
    return Trace(
        header=_header(seed, cluster_size, speeds),
        time=tape.time,
        reward=tape.reward,
        norm=tape.norm,
        steps=tape.steps,
        accepted=tape.accepted,
        pool_index=tape.pool_index,
        pool=np.array(tape.pool, dtype=np.int8),
    )


def _train(
    team: list[_Worker], weights: network.Vector, tape: _Tape, first: int, told: Callable[[int, float], None]
) -> None:
    """One cluster's training, written to the tape's rows from ``first`` on until they are full."""
    server = RunningAverage(weights)
    sent = [0] * len(team)
    pending: list[_Pending] = []
    for index, worker in enumerate(team):
        result = worker.work(weights)
        heapq.heappush(pending, (worker.seconds, index, result))
    while pending:
        seconds, index, (gradient, reward, steps) = heapq.heappop(pending)
        at = (first + index, sent[index])
        tape.write(at, seconds, gradient)
        tape.reward[at], tape.steps[at] = reward, steps
        tape.accepted[at] = server.receive(gradient, reward)
        sent[index] += 1
        told(sum(sent), reward)
        if sent[index] < tape.updates:
            result = team[index].work(server.weights)
            heapq.heappush(pending, (team[index].seconds, index, result))


def _speeds(clusters: int, random: np.random.Generator) -> list[Speed]:
    """One of each cluster: of nine, every hardware with every experience once, dealt at random."""
    rounds = np.arange(clusters) // len(SLOWDOWNS)
    hardware = np.arange(clusters) % len(SLOWDOWNS)
    experience_of = (hardware + rounds) % len(EPISODES)
    return [
        Speed(SLOWDOWNS[hardware[cluster]], EPISODES[experience_of[cluster]])
        for cluster in random.permutation(clusters)
    ]


def _worker(speed: Speed, random: np.random.Generator) -> _Worker:
    return _Worker(
        speed=speed,
        environment=gymnasium.make(experience.ENVIRONMENT, max_episode_steps=experience.EPISODE_STEPS),
        random=np.random.default_rng(random.integers(1 << 63)),
        learner=ppo.Learner(int(random.integers(1 << 31))),
    )


def _warm(weights: network.Vector) -> None:
    """First calls load and allocate; no worker's first update should pay for that."""
    _worker(Speed(1, 1), np.random.default_rng(0)).work(weights)


def _header(seed: int, cluster_size: int, speeds: list[Speed]) -> dict[str, Any]:
    return {
        "recorded": datetime.now(UTC).date().isoformat(),
        "environment": experience.ENVIRONMENT,
        "episode_steps": experience.EPISODE_STEPS,
        "seed": seed,
        "algorithm": {
            "name": "asynchronous PPO, shared policy/value network",
            "server": "reward-gated running average (OLAF §2.1)",
            "gamma": ppo.LEARNING_RATE,
            "local_rate": ppo.LOCAL_RATE,
            "epochs": ppo.EPOCHS,
            "minibatch": ppo.MINIBATCH,
            "clip": ppo.CLIP,
            "discount": experience.DISCOUNT,
            "trace_decay": experience.TRACE_DECAY,
        },
        "parameters": network.PARAMETERS,
        "cluster_size": cluster_size,
        "clusters": [asdict(speed) for speed in speeds],
        "trainings": "one a cluster, each from its own beginning",
        "time": "CPU time of episodes and gradient × slowdown, ns; ideal network",
        "gradients": (
            f"direction: the worker's gradient of every {POOL_STRIDE}th update, int8, used until the next; "
            "norm: each update's own"
        ),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "torch", "gymnasium", "box2d")},
        },
    }
