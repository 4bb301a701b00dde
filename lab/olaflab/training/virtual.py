"""LunarLander-v3 through a deployed twin: workers, the engine and the parameter server in virtual time.

A worker plays its episodes and computes its gradient at once, and is busy for a stated cost; only then its
update is offered. So a run depends on its seed and on nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from types import MappingProxyType

import numpy as np
import torch
from olaf import ParameterServer
from olaf.elastic import Held, Pool
from olaf.transport.virtual import Medium, VirtualNetwork

from olafctl.control.serving import asynchronous, parameter_server
from olafctl.membership.model import Cluster, Host
from olafctl.testbed.model import Testbed
from olaflab.training import network
from olaflab.training.admission import Admit, always
from olaflab.training.cosim.medium import address
from olaflab.training.head import Head, Turnout
from olaflab.training.learning import Learning
from olaflab.training.member import Member
from olaflab.training.plan import Plan, Step, Tell, Trained, trained, values_of
from olaflab.training.shifts import Shifts
from olafswitch.errors import OlafError, Problem

_BEGIN_SECONDS = 30.0
"""Within which every worker must have the first weights; one asks again four times a second."""
_DRAIN_SECONDS = 1.0
"""After the last update, for what is still on its way."""
_LOOK_AGAIN = 0.001
"""Between two looks of a worker that waits for weights."""


def train(
    medium: Medium,
    testbed: Testbed,
    server: Host,
    plan: Plan,
    tell: Tell,
    admits: Mapping[str, Admit] = MappingProxyType({}),
    learning: Learning | None = None,
) -> list[Trained]:
    """Train every cluster of ``testbed`` that is not of an iswitch mode, to the end of ``plan``.

    ``medium`` lies between workers and server, such as the testbed's engine, or a wire. ``admits`` and
    ``learning`` are for heads, the former by cluster.

    Raises BadInput for a cluster whose values or segments do not fit a network, OlafError when a
    worker does not get its first weights.
    """
    torch.set_num_threads(1)  # sums in one order
    clusters = asynchronous(testbed)
    values = {cluster.number: values_of(cluster, testbed) for cluster in clusters}
    simulated = VirtualNetwork(medium)
    listen = address(server)
    serving = parameter_server(testbed, f"{listen[0]}:{listen[1]}", plan.policy, port=simulated.port(listen))
    random = np.random.default_rng(plan.seed)
    training = _Training(simulated, plan, tell, serving, learning)
    slowdowns = cycle(plan.pace.slowdowns)
    for cluster in clusters:
        weights = network.initial(random, network.width(values[cluster.number]))
        for worker in cluster.workers:
            port = simulated.port(address(worker))
            head = None
            if plan.crew is not None:
                seed = (plan.seed, cluster.number, worker.replica)
                head = Head(plan.crew, seed, len(weights), admit=admits.get(cluster.name, always))
            member = Member(port, listen, cluster, worker.name, weights, plan, random, head)
            training.add(member, next(slowdowns))
    training.run()
    return [
        trained(cluster, training.steps, [member.end.counters for member in training.of(cluster)], serving)
        for cluster in clusters
    ]


@dataclass
class _Training:
    """The members' turns, as events of the network."""

    simulated: VirtualNetwork
    plan: Plan
    tell: Tell
    server: ParameterServer
    learning: Learning | None
    members: list[Member] = field(default_factory=list)
    slowdowns: dict[str, float] = field(default_factory=dict)
    """Slow-downs by worker."""
    steps: list[Step] = field(default_factory=list)
    shifts: dict[str, Shifts] = field(default_factory=dict)
    """Shifts of heads."""
    gates: dict[int, Pool] = field(default_factory=dict)
    """Pools by cluster that limit how many heads go for an update where the network does."""
    ended: int = 0
    """Members that begin no further update."""
    begin: float = 0.0

    def __post_init__(self) -> None:
        self._random = np.random.default_rng((self.plan.seed, 1))
        crew = self.plan.crew
        self._pool = Pool(crew.learners, Held(), self._now) if crew is not None and crew.learners else None

    def _now(self) -> float:
        return self.simulated.time

    def add(self, member: Member, slowdown: float) -> None:
        self.members.append(member)
        self.slowdowns[member.name] = slowdown
        if member.head is not None:
            pace = self.plan.pace
            slot = self.learning.slot(member.name) if self.learning is not None else 0
            self.shifts[member.name] = Shifts(
                member.head, pace, self.simulated, self._pool, self._random, self.learning, slot
            )
            if self.learning is not None and self.learning.follows:
                units = len(member.cluster.workers)
                self.gates.setdefault(member.cluster.number, Pool(units, Held(), self._now))

    def run(self) -> None:
        if not self.simulated.run(_BEGIN_SECONDS, lambda: all(member.end.begun for member in self.members)):
            raise OlafError(
                Problem(
                    "a worker was given no weights by the parameter server", "train", "see olafctl status"
                )
            )
        self.begin = self.simulated.time
        for member in self.members:
            member.adopt()
            self._next(member, 0)
        self.simulated.run(stop=lambda: self.ended == len(self.members))
        self.simulated.run(self.simulated.time + _DRAIN_SECONDS)
        for shifts in self.shifts.values():
            shifts.close()
        for member in self.members:
            member.close()

    def of(self, cluster: Cluster) -> Iterator[Member]:
        return (member for member in self.members if member.cluster == cluster)

    def _next(self, member: Member, done: int) -> None:
        """Begin an update, or wait for the turn to."""
        gate = self.gates.get(member.cluster.number)
        if self._over(done):
            self.ended += 1
        elif gate is None:
            self._work(member, done)
        else:
            gate.ask(member, partial(self._granted, member, done, gate))
            self.shifts[member.name].close()  # while it waits, no actor is awake

    def _over(self, done: int) -> bool:
        longest = self.plan.seconds
        return done == self.plan.updates or (
            longest is not None and self.simulated.time >= self.begin + longest
        )

    def _granted(self, member: Member, done: int, gate: Pool, unit: int) -> None:
        if self._over(done):
            self.ended += 1
            self.simulated.at(self.simulated.time, partial(gate.give_back, member, unit))
            return
        assert self.learning is not None
        self.shifts[member.name].slot = self.learning.unit(member.cluster.number, unit)
        member.adopt()  # newer weights have come while it waited
        self._work(member, done, partial(gate.give_back, member, unit))

    def _work(self, member: Member, done: int, leave: Callable[[], None] | None = None) -> None:
        gradient, played = member.work(self.plan.episodes)
        if member.head is not None and member.turnout is not None:
            self.shifts[member.name].run(
                member.turnout,
                self.slowdowns[member.name],
                lambda turnout: self._offer(member, done, gradient, played.mean_reward, turnout, leave),
            )
            return
        self.simulated.at(
            self.simulated.time + self._busy(member, len(played.actions)),
            lambda: self._offer(member, done, gradient, played.mean_reward),
        )

    def _busy(self, member: Member, steps: int) -> float:
        pace = self.plan.pace
        drawn = 1 + pace.jitter * self._random.uniform(-1, 1)
        return (pace.update + pace.step * steps) * self.slowdowns[member.name] * drawn

    def _offer(
        self,
        member: Member,
        done: int,
        gradient: network.Vector,
        reward: float,
        turnout: Turnout | None = None,
        leave: Callable[[], None] | None = None,
    ) -> None:
        probability = member.end.probability
        sent = member.offer(gradient, reward)
        now, number = self.simulated.time, member.cluster.number
        step = Step(now, number, member.name, reward, probability, sent, turnout)
        self.steps.append(step)
        self.tell(step, len(self.steps), len(self.members) * self.plan.updates)
        if leave is not None and self.learning is not None:
            admitted = self.learning.look(member.cluster, step, self.server)
            if admitted is not None:
                self.gates[member.cluster.number].limit(admitted)
            leave()
        if self.plan.waits:
            self._wait(member, done + 1, member.end.counters.newer + member.end.segments.count)
        else:
            self._next(member, done + 1)

    def _wait(self, member: Member, done: int, newer: int) -> None:
        """Go on when every segment has newer weights than before."""
        if member.end.counters.newer >= newer or done == self.plan.updates:
            member.adopt()
            self._next(member, done)
        else:
            self.simulated.at(self.simulated.time + _LOOK_AGAIN, lambda: self._wait(member, done, newer))
