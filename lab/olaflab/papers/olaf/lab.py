"""A twin for training in virtual time: brought up once, and given another queue for each run."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from olafctl.queue.registers import DISPOSITIONS, rate_word
from olafctl.targets import testbeds
from olafctl.targets.interface import Progress, Running, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaflab.training import network
from olaflab.training.cosim.medium import EngineMedium
from olaflab.training.plan import ClusterFigures, TrainingPlan
from olaflab.training.virtual import train_virtual
from olaftest.deployment import deployed_testbed

BLOCK = 40
"""Updates of any workers, in order of time, of which a run keeps one mean reward."""

_TESTBED = """
name: {name}
engine: {{indices: 16, slots: {slots}, beats: 142, active_window: 8 s}}
ports:
  - {{number: 1, name: ps, transport: unix}}
  - {{number: 2, name: tor, transport: unix}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters: [{{count: {clusters}, workers: {workers}, name: lander, port: 2, ip: 10.0.1.1, values: {values}}}]
"""


@dataclass(frozen=True)
class Queue:
    """What the engine does in a run."""

    mode: Mode
    rate: int | None = None
    """Rate of its output in bit/s; None is no limit."""


@dataclass(frozen=True)
class TwinRun:
    """One training: its workers' rewards and times, and what became of their updates."""

    rewards: list[float]
    """Mean reward of all workers by update number."""
    seconds: list[float]
    """Time by update number: when it was ready, in virtual time, the mean over all workers."""
    sent: int
    received: int
    """Frames at the parameter server."""
    contained: int
    """Workers' updates in them."""
    refused: int
    """Frames that the policy refused."""
    lost: int
    """Updates that the engine dropped."""
    replaced: int
    age_of_model: float
    """Seconds, the mean over the clusters."""
    blocks: list[list[float]] = field(default_factory=list)
    """(blocks, 2) in order of time: when BLOCK updates of any workers were ready, their mean reward."""


class TrainingLab:
    """A running twin."""

    def __init__(self, running: Running, testbed: Testbed) -> None:
        self.running = running
        self.testbed = testbed

    def train_queue(self, queue: Queue, plan: TrainingPlan) -> TwinRun:
        """Train once from the beginning. Raises OlafError."""
        of_root(self.running.queues).write("mode", queue.mode.number)
        of_root(self.running.queues).write("rate", rate_word(queue.rate))
        of_root(self.running.queues).write("reward_enable", 0)
        with closing(self.running.virtual_time()) as engine:
            server = self.testbed.parameter_servers[0]
            medium = EngineMedium(engine, self.testbed)
            trained = train_virtual(medium, self.testbed, server, plan, lambda step, done, total: None)
        return _make_run(trained, of_root(self.running.queues).read_all(), plan.updates)


@contextmanager
def run_lab_twin(
    name: str,
    clusters: int,
    workers: int,
    slots: int,
    progress: Progress,
    values: int = network.count_parameters(network.HIDDEN),
) -> Iterator[TrainingLab]:
    """Run a twin for ``clusters`` of ``workers`` each that train ``values`` values, and a queue of ``slots``.

    Raises OlafError.
    """
    text = _TESTBED.format(name=name, clusters=clusters, workers=workers, slots=slots, values=values)
    testbed = testbeds.load_testbed(Path(f"{name}.yaml"), text)
    with deployed_testbed(testbed, progress) as running:
        yield TrainingLab(running, testbed)


def _make_run(trained: list[ClusterFigures], counters: dict[str, int], updates: int) -> TwinRun:
    rewards, seconds = _by_worker(trained, updates)
    ages = [cluster.age_of_model for cluster in trained if cluster.age_of_model is not None]
    dropped = [name for name in DISPOSITIONS if name.startswith("dropped_")]
    return TwinRun(
        rewards=rewards.mean(axis=0).tolist(),
        seconds=seconds.mean(axis=0).tolist(),
        sent=sum(cluster.sent for cluster in trained),
        received=sum(cluster.received for cluster in trained),
        contained=sum(cluster.contained for cluster in trained),
        refused=sum(cluster.refused for cluster in trained),
        lost=sum(counters[name] for name in dropped),
        replaced=counters["replaced_worker"] + counters["replaced_reward"],
        age_of_model=float(np.mean(ages)) if ages else float("nan"),
        blocks=_mean_blocks(trained),
    )


def _mean_blocks(trained: list[ClusterFigures]) -> list[list[float]]:
    """Return the last time and the mean reward of each BLOCK updates in a row; without an incomplete last
    one."""
    steps = sorted((step.time, step.reward) for cluster in trained for step in cluster.steps)
    whole = len(steps) // BLOCK * BLOCK
    table = np.array(steps[:whole], np.float64).reshape(-1, BLOCK, 2)
    return [[round(float(block[-1, 0]), 3), round(float(block[:, 1].mean()), 3)] for block in table]


def _by_worker(
    trained: list[ClusterFigures], updates: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rewards and times, each of shape (workers, updates)."""
    steps: dict[str, list[tuple[float, float]]] = {}
    for cluster in trained:
        for step in cluster.steps:
            steps.setdefault(step.worker, []).append((step.reward, step.time))
    both = np.array(list(steps.values()))
    assert both.shape == (len(steps), updates, 2)
    return both[..., 0], both[..., 1]
