"""LunarLander-v3 through a deployed twin: workers, the engine and the parameter server in virtual time.

A worker plays its episodes and computes its gradient at once, and is busy for a stated cost; only then its
update is offered. So a run depends on its seed and on nothing else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import gymnasium
import numpy as np
import olaf
import torch
from olaf.policies import PolicyMaker
from olaf.segments import Segments
from olaf.transmission import TOLERANCE
from olaf.virtual import VirtualNetwork

from olafctl.cosim.medium import EngineMedium, address
from olafctl.errors import BadInput, OlafError, Problem
from olafctl.targets.interface import VirtualTime
from olafctl.testbed.model import Cluster, Host, Testbed, Worker
from olafctl.train import experience, network, ppo
from olafctl.train.serving import asynchronous, parameter_server
from olafctl.wire.geometry import segment_values

_BEGIN_SECONDS = 30.0
"""Within which every worker must have the first weights; one asks again four times a second."""
_DRAIN_SECONDS = 1.0
"""After the last update, for what is still on its way."""
_LOOK_AGAIN = 0.001
"""Between two looks of a worker that waits for weights."""


@dataclass(frozen=True)
class Pace:
    """How long a worker is busy with an update, in seconds of virtual time."""

    step: float = 0.0
    """For each environment step, with its share of computing the gradient."""
    update: float = 0.0
    """For each update, however many steps are behind it."""
    jitter: float = 0.0
    """Each time is scaled by a factor drawn from [1 - jitter, 1 + jitter]."""
    slowdowns: tuple[float, ...] = (1.0,)
    """Heterogeneous hardware (OLAF §8.2): factors dealt to the workers in turn."""


@dataclass(frozen=True)
class Plan:
    """What is trained, and what it costs."""

    updates: int
    """Of each worker."""
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
    """Of a worker's own optimiser."""
    waits: bool = False
    """Whether a worker waits for newer weights before it goes on: synchronous training."""


@dataclass(frozen=True)
class Step:
    """One update that a worker had ready."""

    time: float
    cluster: int
    worker: str
    reward: float
    """Mean over its episodes."""
    probability: float
    """P_s when it was ready."""
    sent: bool
    """Whether it was sent whole; else it is held for the next."""


Tell = Callable[[Step, int, int], None]
"""Told after each update: what it was, updates so far, of how many."""


@dataclass(frozen=True)
class Trained:
    """One cluster's training; ``sent`` and ``received`` count frames."""

    cluster: Cluster
    steps: tuple[Step, ...]
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
    weights: network.Vector


def train(engine: VirtualTime, testbed: Testbed, server: Host, plan: Plan, tell: Tell) -> list[Trained]:
    """Train every cluster of ``testbed`` that is not of iswitch mode, to the end of ``plan``.

    Raises BadInput for a cluster whose values or segments do not fit a network, OlafError when a
    worker does not get its first weights.
    """
    torch.set_num_threads(1)  # sums in one order
    clusters = asynchronous(testbed)
    values = {cluster.index: _values(cluster, testbed) for cluster in clusters}
    simulated = VirtualNetwork(EngineMedium(engine, testbed))
    listen = address(server)
    serving = parameter_server(testbed, f"{listen[0]}:{listen[1]}", plan.policy, port=simulated.port(listen))
    random = np.random.default_rng(plan.seed)
    training = _Training(simulated, plan, tell)
    slowdowns = cycle(plan.pace.slowdowns)
    for cluster in clusters:
        weights = network.initial(random, network.width(values[cluster.index]))
        for worker in cluster.workers:
            member = _Member(simulated, serving, cluster, worker, weights, plan, random)
            training.add(member, next(slowdowns))
    training.run()
    return [_trained(cluster, training, serving) for cluster in clusters]


class _Member:
    """One worker: its SDK end, its environment and its optimiser."""

    def __init__(
        self,
        simulated: VirtualNetwork,
        serving: olaf.ParameterServer,
        cluster: Cluster,
        worker: Worker,
        weights: network.Vector,
        plan: Plan,
        random: np.random.Generator,
    ) -> None:
        host, port = serving.address
        self.cluster = cluster
        self.name = worker.name
        self.end = olaf.Worker(
            f"{host}:{port}",
            len(weights),
            segments=cluster.segments,
            epoch=cluster.epoch,
            v=plan.v,
            delta_t=plan.delta_t,
            control=plan.control,
            seed=int(random.integers(1 << 31)),
            port=simulated.port(address(worker)),
        )
        self._weights = weights.copy()
        self._environment: Any = gymnasium.make(
            experience.ENVIRONMENT, max_episode_steps=experience.EPISODE_STEPS, disable_env_checker=True
        )
        self._random = np.random.default_rng(random.integers(1 << 63))
        self._learner = ppo.Learner(int(random.integers(1 << 31)), len(weights), plan.local_rate)
        self.end.begin(weights)

    def work(self, episodes: int) -> tuple[network.Vector, experience.Experience]:
        """Play with the newest weights, and learn from it: the weights move here before anywhere else."""
        held = self.end.held
        for block in self.end.poll():
            # Progress that was not sent stays on top of what the server has.
            kept = np.float32(ppo.LEARNING_RATE) * held[block.place]
            self._weights[block.place] = block.values + kept
        played = experience.collect(self._environment, self._weights, episodes, self._random)
        gradient = self._learner.gradient(self._weights, played)
        self._weights += np.float32(ppo.LEARNING_RATE) * gradient
        return gradient, played

    def close(self) -> None:
        """Give back the environment and the address."""
        self._environment.close()
        self.end.close()


@dataclass
class _Training:
    """The members' turns, as events of the network."""

    simulated: VirtualNetwork
    plan: Plan
    tell: Tell
    members: list[_Member] = field(default_factory=list)
    slowdowns: dict[str, float] = field(default_factory=dict)
    """By worker."""
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng((self.plan.seed, 1))

    def add(self, member: _Member, slowdown: float) -> None:
        self.members.append(member)
        self.slowdowns[member.name] = slowdown

    def run(self) -> None:
        if not self.simulated.run(_BEGIN_SECONDS, lambda: all(member.end.begun for member in self.members)):
            raise OlafError(
                Problem(
                    "a worker was given no weights by the parameter server", "train", "see olafctl status"
                )
            )
        for member in self.members:
            self._work(member, 0)
        total = len(self.members) * self.plan.updates
        self.simulated.run(stop=lambda: len(self.steps) == total)
        self.simulated.run(self.simulated.time + _DRAIN_SECONDS)
        for member in self.members:
            member.close()

    def of(self, cluster: Cluster) -> Iterator[_Member]:
        return (member for member in self.members if member.cluster == cluster)

    def _work(self, member: _Member, done: int) -> None:
        if done == self.plan.updates:
            return
        gradient, played = member.work(self.plan.episodes)
        self.simulated.at(
            self.simulated.time + self._busy(member, len(played.actions)),
            lambda: self._offer(member, done, gradient, played.mean_reward),
        )

    def _busy(self, member: _Member, steps: int) -> float:
        pace = self.plan.pace
        drawn = 1 + pace.jitter * self._random.uniform(-1, 1)
        return (pace.update + pace.step * steps) * self.slowdowns[member.name] * drawn

    def _offer(self, member: _Member, done: int, gradient: network.Vector, reward: float) -> None:
        probability = member.end.probability
        sent = member.end.offer(gradient, reward)
        step = Step(self.simulated.time, member.cluster.index, member.name, reward, probability, sent)
        self.steps.append(step)
        self.tell(step, len(self.steps), len(self.members) * self.plan.updates)
        if self.plan.waits:
            self._wait(member, done + 1, member.end.counters.newer + member.end.segments.count)
        else:
            self._work(member, done + 1)

    def _wait(self, member: _Member, done: int, newer: int) -> None:
        """Go on when every segment has newer weights than before."""
        if member.end.counters.newer >= newer or done == self.plan.updates:
            self._work(member, done)
        else:
            self.simulated.at(self.simulated.time + _LOOK_AGAIN, lambda: self._wait(member, done, newer))


def _values(cluster: Cluster, testbed: Testbed) -> int:
    """The parameters of the network that a cluster trains. Raises BadInput when there is none for it."""
    values = cluster.values or network.parameters(network.HIDDEN)
    width = network.width(values)
    is_network = width > 0 and values == network.parameters(width)
    fits = Segments(values, cluster.segments).length(0) <= segment_values(testbed.engine.beats)
    if not is_network or not fits:
        usual = network.parameters(network.HIDDEN)
        raise BadInput(
            Problem(
                f"cluster {cluster.name} has {values} values, and no network for LunarLander fits them",
                testbed.name,
                f"give it `values: {usual}`, the usual network's, and deploy",
            )
        )
    return values


def _trained(cluster: Cluster, training: _Training, serving: olaf.ParameterServer) -> Trained:
    ends = [member.end.counters for member in training.of(cluster)]
    counted = serving.counters(cluster.name)
    weights = serving.weights(cluster.name)
    assert weights is not None  # every worker has them from there
    return Trained(
        cluster=cluster,
        steps=tuple(step for step in training.steps if step.cluster == cluster.index),
        sent=sum(end.sent for end in ends),
        held=sum(end.held for end in ends),
        received=counted.received,
        contained=counted.updates,
        applied=counted.applied,
        refused=counted.refused,
        age_of_model=serving.age_of_model(cluster.name),
        weights=weights,
    )
