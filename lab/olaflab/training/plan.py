"""Plan of a training, and the members that carry it out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import olaf
from olaf import ParameterServer
from olaf.policies import PolicyMaker
from olaf.transport.port import Address, Port
from olaf.transport.segments import Segments
from olaf.worker import WorkerCounters
from olaf.worker.transmission import TOLERANCE

from olafctl.membership.model import Cluster
from olafctl.testbed.model import Testbed
from olafctl.wire.geometry import segment_values
from olaflab.training import experience, network, ppo
from olaflab.training.head import Crew, Head, Turnout
from olafswitch.errors import BadInput, Problem


@dataclass(frozen=True)
class Pace:
    """How long a worker is busy with an update, in seconds of virtual time; in wall time at least."""

    step: float = 0.0
    """For each environment step, with its share of computing the gradient."""
    update: float = 0.0
    """For each update, however many steps are behind it."""
    jitter: float = 0.0
    """Each time is scaled by a factor drawn from [1 - jitter, 1 + jitter]."""
    learn: float = 0.0
    """Seconds that a head takes for each row that is learnt: its actors' steps are played without."""
    start: float = 0.0
    """Seconds until an actor of a head that was asleep plays."""
    slowdowns: tuple[float, ...] = (1.0,)
    """Heterogeneous hardware (OLAF §8.2): factors dealt to the workers in turn."""


@dataclass(frozen=True)
class TrainingPlan:
    """A training and its costs."""

    updates: int
    """Updates of each worker."""
    episodes: int
    """Behind each update."""
    pace: Pace
    seed: int
    policy: PolicyMaker
    v: float | None = None
    """1/s, of transmission control (OLAF §5); None is the SDK's default."""
    delta_t: float = TOLERANCE
    """Seconds."""
    control: bool = True
    """Whether transmission control is on at all."""
    local_rate: float = ppo.LOCAL_RATE
    """Rate of a worker's own optimiser."""
    waits: bool = False
    """Whether a worker waits for newer weights before it goes on: synchronous training."""
    crew: Crew | None = None
    """Crew of each worker, which is a head then."""
    seconds: float | None = None
    """After which no update begins, however many are left; of virtual or wall time."""


@dataclass(frozen=True)
class UpdateStep:
    """One update that a worker had ready."""

    time: float
    """Seconds since the training began."""
    cluster: int
    worker: str
    reward: float
    """Mean over its episodes."""
    probability: float
    """P_s when it was ready."""
    sent: bool
    """Whether it was sent whole; else it is held for the next."""
    turnout: Turnout | None = None
    """Turnout of a head."""


Tell = Callable[[UpdateStep, int, int], None]
"""Told after each update: what it was, updates so far, of how many."""


@dataclass(frozen=True)
class ClusterFigures:
    """One cluster's training; ``sent`` and ``received`` count frames."""

    cluster: Cluster
    steps: tuple[UpdateStep, ...]
    sent: int
    held: int
    """Updates that were held back."""
    received: int
    contained: int
    """Frames of workers within those received."""
    applied: int
    refused: int
    """Frames that the policy refused."""
    age_of_model: float | None
    """Average, in seconds."""
    weights: network.Vector | None
    """None when no worker ever brought any."""


def values_of(cluster: Cluster, testbed: Testbed) -> int:
    """Count the parameters of the network that a cluster trains. Raises BadInput when it has none."""
    values = cluster.values or network.count_parameters(network.HIDDEN)
    width = network.width_of(values)
    is_network = width > 0 and values == network.count_parameters(width)
    fits = Segments(values, cluster.segments).length(0) <= segment_values(testbed.root.beats)
    if not is_network or not fits:
        usual = network.count_parameters(network.HIDDEN)
        raise BadInput(
            Problem(
                f"cluster {cluster.name} has {values} values, and no network for LunarLander fits them",
                testbed.name,
                f"give it `values: {usual}`, the usual network's, and deploy",
            )
        )
    return values


def summarise_cluster(
    cluster: Cluster, steps: list[UpdateStep], counters: list[WorkerCounters], server: ParameterServer
) -> ClusterFigures:
    """Summarise one cluster's figures, from its workers' and the server's counters."""
    counted = server.counters(cluster.name)
    return ClusterFigures(
        cluster=cluster,
        steps=tuple(step for step in steps if step.cluster == cluster.number),
        sent=sum(one.sent for one in counters),
        held=sum(one.held for one in counters),
        received=counted.received,
        contained=counted.updates,
        applied=counted.applied,
        refused=counted.refused,
        age_of_model=server.age_of_model(cluster.name),
        weights=server.weights(cluster.name),
    )


class TrainingMember:
    """One worker: its SDK end, its environment and its optimiser."""

    def __init__(
        self,
        port: Port,
        server: Address,
        cluster: Cluster,
        name: str,
        weights: network.Vector,
        plan: TrainingPlan,
        random: np.random.Generator,
        head: Head | None = None,
    ) -> None:
        """``weights`` are those to begin with, if the server has none.

        With a ``head``, its actors play; else this worker does.
        """
        self.cluster = cluster
        self.name = name
        self.end = olaf.Worker(
            f"{server[0]}:{server[1]}",
            len(weights),
            segments=cluster.segments,
            epoch=cluster.epoch,
            v=plan.v,
            delta_t=plan.delta_t,
            control=plan.control,
            seed=int(random.integers(1 << 31)),
            port=port,
        )
        self._weights = weights.copy()
        self.head = head
        self.turnout: Turnout | None = None
        """How the last experience of a head came to be."""
        self._environment: Any = gymnasium.make(
            experience.ENVIRONMENT, max_episode_steps=experience.EPISODE_STEPS, disable_env_checker=True
        )
        self._random = np.random.default_rng(random.integers(1 << 63))
        self.learner = ppo.PpoLearner(int(random.integers(1 << 31)), len(weights), plan.local_rate)
        self.end.begin(weights)

    def play_update(self, episodes: int) -> tuple[network.Vector, experience.Experience]:
        """Play with the weights there are: where these should move, and what was played."""
        if self.head is None:
            played = experience.collect_episodes(self._environment, self._weights, episodes, self._random)
            return self.learner.gradient(self._weights, played), played
        played, self.turnout = self.head.play(self._weights, self.end.status, self.end.probability)
        with self.head.hold_learner():
            parts = self.turnout.blocks if self.head.noisy else 0
            self.head.note_update(self.learner.gradient_parts(self._weights, played, parts))
            return self.learner.gradient(self._weights, played), played

    def offer_update(self, gradient: network.Vector, reward: float) -> bool:
        """Move by ``gradient``, offer it, and adopt what has arrived meanwhile; whether it was sent whole.

        Weights that have arrived cannot have this update, nor what was held back: both stay on top.
        """
        own = self.end.held + gradient
        sent = self.end.offer(gradient, reward)
        self._weights += np.float32(ppo.LEARNING_RATE) * gradient
        for block in self.end.poll():
            self._weights[block.place] = block.values + np.float32(ppo.LEARNING_RATE) * own[block.place]
        return sent

    def adopt_weights(self) -> None:
        """Take the server's weights as they are; only what was held back stays on top."""
        held = self.end.held
        for block in self.end.poll():
            self._weights[block.place] = block.values + np.float32(ppo.LEARNING_RATE) * held[block.place]

    def close(self) -> None:
        """Give back the environment and the address, and end the actors."""
        if self.head is not None:
            self.head.close()
        self._environment.close()
        self.end.close()
