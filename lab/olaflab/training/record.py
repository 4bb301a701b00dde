"""Recorded trainings: clusters are tenants (OLAF §8.3), and each trains a policy of its own.

None knows of another, so each is recorded from its own beginning.
"""

import platform
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from olaflab.training import experience, network, ppo
from olaflab.training.replay.trace import MOST_KEPT, Trace, quantise_gradient
from olaflab.training.training import Speed, TracedUpdate, train_cluster, warm_up
from olafswitch.errors import BadInput, Problem

SLOWDOWNS = (1, 2, 4)
"""Three generations of hardware, each half as fast as the next."""
EPISODES = (1, 2, 3)
"""Experience behind an update, a choice of each training."""
POOL_STRIDE = 25
"""Every so many updates of a worker its gradient is kept whole."""

Progress = Callable[[int, int, int, float], None]
"""Told after each update: its cluster, updates so far, of how many, and its mean reward."""


class _Tape:
    """The growing trace."""

    def __init__(self, workers: int, updates: int) -> None:
        shape = (workers, updates)
        self.time = np.zeros(shape, dtype=np.int64)
        self.reward = np.zeros(shape, dtype=np.float32)
        self.norm = np.zeros(shape, dtype=np.float32)
        self.steps = np.zeros(shape, dtype=np.int32)
        self.accepted = np.zeros(shape, dtype=np.bool_)
        self.pool_index = np.zeros(shape, dtype=np.uint16)
        self.pool: list[Any] = []

    def write_update(self, worker: int, update: TracedUpdate) -> None:
        at = worker, update.number
        if update.number % POOL_STRIDE == 0:
            self.pool.append(quantise_gradient(update.gradient))
            self.pool_index[worker, update.number :] = len(self.pool) - 1
        self.time[at] = round(update.seconds * 1e9)
        self.norm[at] = np.linalg.norm(update.gradient)
        self.reward[at], self.steps[at], self.accepted[at] = update.reward, update.steps, update.accepted


def record_training(
    clusters: int,
    cluster_size: int,
    updates: int,
    seed: int,
    progress: Progress,
    hidden: int = network.HIDDEN,
) -> Trace:
    """Train each cluster until every worker has sent ``updates`` updates, and return all of them.

    Networks have two layers of ``hidden`` units: 40 fit one jumbo frame, 538 are 1.2 MB in 134 segments.

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
    speeds = _deal_speeds(clusters, random)
    warm_up(hidden)
    tape, done = _Tape(workers, updates), 0
    for cluster, speed in enumerate(speeds):
        for update in train_cluster(cluster_size, speed, updates, random, hidden):
            tape.write_update(cluster * cluster_size + update.worker, update)
            done += 1
            progress(cluster, done, workers * updates, update.reward)
    return Trace(
        header=_make_header(seed, cluster_size, speeds, hidden),
        time=tape.time,
        reward=tape.reward,
        norm=tape.norm,
        steps=tape.steps,
        accepted=tape.accepted,
        pool_index=tape.pool_index,
        pool=np.array(tape.pool, dtype=np.int8),
    )


def _deal_speeds(clusters: int, random: np.random.Generator) -> list[Speed]:
    """Deal a speed to each cluster: of nine, every hardware with every experience once, at random."""
    rounds = np.arange(clusters) // len(SLOWDOWNS)
    hardware = np.arange(clusters) % len(SLOWDOWNS)
    experience_of = (hardware + rounds) % len(EPISODES)
    return [
        Speed(SLOWDOWNS[hardware[cluster]], EPISODES[experience_of[cluster]])
        for cluster in random.permutation(clusters)
    ]


def _make_header(seed: int, cluster_size: int, speeds: list[Speed], hidden: int) -> dict[str, Any]:
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
        "parameters": network.count_parameters(hidden),
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
