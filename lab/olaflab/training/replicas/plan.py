"""Replicas in a run: plan, testbed, results, and the run in virtual time."""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from olaf.replicas.replica import Replica
from olaf.replicas.trained import Descent, Trained
from olaf.transport.segments import Vector
from olaf.transport.virtual import VirtualNetwork

from olafctl.membership.model import Member as Worker
from olafctl.targets.interface import VirtualTime
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaflab import racks
from olaflab.training.cosim.medium import EngineMedium, address_of
from olaflab.training.replicas.lossy import LossyPort
from olafswitch.errors import BadInput, Problem

NAME = "bench-replica"
_RATE = 0.05


@dataclass(frozen=True)
class ReplicaPlan:
    """A run; times in seconds."""

    members: int
    results: int
    """Steps of the training."""
    values: int
    h: int
    staleness: int
    loss: float
    """Share of all datagrams that is lost on the way from a member, and as many on the way to it."""
    kill: bool
    """One member is killed after a quarter of the steps, and begins again after half of them."""
    late: bool
    """One member begins after a third of the steps."""
    levels: int
    pace: float
    """Seconds of one gradient."""
    seed: int
    target: str
    double: float = 0.0
    """Share of the datagrams that arrive twice, each way; as large a share is overtaken by others."""

    @property
    def events(self) -> list[tuple[int, str, int]]:
        """After so many steps, what happens to which member."""
        return racks.list_events(self.results, self.members, kill=self.kill, late=self.late)

    @property
    def first_members(self) -> list[int]:
        """Members that are there from the beginning."""
        return list(range(self.members - self.late))


@dataclass(frozen=True)
class MemberEnd:
    """What became of one member."""

    name: str
    version: int
    sha256: str
    """Digest of its weights."""
    histogram: list[int]
    """Commits by their gradient's staleness."""
    counters: dict[str, int]
    lost: int
    """Datagrams lost from and to it."""
    sent: int
    doubled: int


@dataclass
class ReplicaOutcome:
    """A run."""

    seconds: float
    """From the first step to the last."""
    ends: list[MemberEnd] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Members that failed, and why."""

    @property
    def equal(self) -> bool:
        """Whether all members ended with the same bits."""
        return not self.problems and len({(end.version, end.sha256) for end in self.ends}) == 1

    @property
    def histogram(self) -> list[int]:
        """Histogram over all members."""
        return [sum(column) for column in zip(*(end.histogram for end in self.ends), strict=True)]

    def total_of(self, counter: str) -> int:
        """Sum a counter over all members."""
        return sum(end.counters[counter] for end in self.ends)


def make_testbed(plan: ReplicaPlan, transport: str, mode: Mode = Mode.ISWITCH_ASYNC) -> Testbed:
    """Describe one engine, or two below a third one. Raises BadInput for an impossible plan."""
    if plan.members < 2 + plan.kill + plan.late:
        remedy = "give more --members, or leave out --kill or --late"
        raise BadInput(Problem(f"{plan.members} members are too few", "bench replica", remedy))
    if plan.h > plan.members * (plan.staleness + 1):
        what = f"H is {plan.h}, but {plan.members} members make at most {plan.members * (plan.staleness + 1)}"
        raise BadInput(Problem(f"{what} contributions between two results", "bench replica"))
    shape = f"mode: {mode.value}, threshold: {plan.h}, values: {plan.values}"
    return racks.make_testbed(NAME, plan.target, "replica", plan.members, plan.levels, transport, shape)


class MemberTask:
    """What one member computes: the way to a target, which all share, with noise of its own."""

    def __init__(self, plan: ReplicaPlan, member: int, life: int) -> None:
        """``life``: how often this member has begun."""
        self.first = np.random.default_rng(plan.seed).standard_normal(plan.values).astype(np.float32)
        self._target = np.random.default_rng((plan.seed, 1)).standard_normal(plan.values).astype(np.float32)
        self._random = np.random.default_rng((plan.seed, 2, member, life))
        self.trained: Trained = Descent(self.first, _RATE)

    def gradient(self, weights: Vector) -> Vector:
        """Return the gradient (values,)."""
        noise = self._random.standard_normal(len(weights)).astype(np.float32)
        gradient: Vector = weights - self._target + noise
        return gradient


def make_replica(bed: Testbed, plan: ReplicaPlan, worker: Worker, task: MemberTask, **more: Any) -> Replica:
    """Make a member of the testbed's cluster at a worker's address."""
    (cluster,) = bed.clusters
    assert bed.root.address is not None
    everyone = [address_of(each) for each in cluster.workers]
    return Replica(
        f"{bed.root.address}:{bed.udp_port}",
        task.trained,
        peers=[each for each in everyone if each != address_of(worker)],
        h=plan.h,
        staleness=plan.staleness,
        until=plan.results,
        segments=cluster.segments,
        epoch=cluster.epoch,
        **more,
    )


def summarise_member(name: str, member: Replica, port: LossyPort) -> MemberEnd:
    """Summarise what became of a member."""
    version, weights = member.weights()
    counters = {**asdict(member.counters), **asdict(member.gaps), "served": member.served}
    commits = asdict(member.commits)
    histogram = commits.pop("histogram")
    digest = hashlib.sha256(weights.tobytes()).hexdigest()
    return MemberEnd(
        name,
        version,
        digest,
        histogram,
        {**counters, **commits},
        port.lost,
        port.out.sent,
        port.out.doubled + port.into.doubled,
    )


_BEGINNING = 1_790_000_000_000_000_000
"""Wall time at virtual time 0, ns."""
_LONGEST, _AFTER = 3600.0, 60.0
"""Virtual seconds for the training, and until all that ended know of one another that they did."""


def run_virtual(
    engine: VirtualTime,
    bed: Testbed,
    plan: ReplicaPlan,
    task: Callable[[ReplicaPlan, int, int], MemberTask] = MemberTask,
) -> ReplicaOutcome:
    """Run the whole plan; ``task`` makes what a member computes, of its number and its life's."""
    network = VirtualNetwork(EngineMedium(engine, bed), epoch=_BEGINNING)
    (cluster,) = bed.clusters
    scripts: dict[int, _Script] = {}
    lives = [0] * plan.members

    def begin(member: int) -> None:
        lives[member] += 1
        scripts[member] = _Script(
            network,
            bed,
            plan,
            cluster.workers[member],
            task(plan, member, lives[member]),
            member,
            lives[member],
        )

    for member in plan.first_members:
        begin(member)
    network.run(_LONGEST, lambda: all(script.replica.version for script in scripts.values()))
    started = network.time
    for steps, what, member in plan.events:
        network.run(started + _LONGEST, partial(_reached_steps, scripts, steps))
        if what == "kill":
            scripts.pop(member).kill()
        else:
            begin(member)
    network.run(started + _LONGEST, lambda: all(script.has_ended for script in scripts.values()))
    outcome = ReplicaOutcome(network.time - started)
    network.run(network.time + _AFTER, lambda: all(script.replica.level for script in scripts.values()))
    for _, script in sorted(scripts.items()):
        if script.replica.failure is not None:
            outcome.problems.append(f"{script.name}: {script.replica.failure}")
        outcome.ends.append(summarise_member(script.name, script.replica, script.port))
        script.replica.close()
    return outcome


def _reached_steps(scripts: "dict[int, _Script]", steps: int) -> bool:
    return max(script.replica.version for script in scripts.values()) >= steps


class _Script:
    """A member's computing, as events of the network."""

    def __init__(
        self,
        network: VirtualNetwork,
        bed: Testbed,
        plan: ReplicaPlan,
        worker: Worker,
        task: MemberTask,
        member: int,
        life: int,
    ) -> None:
        self.name = worker.name
        self._network, self._plan = network, plan
        self._task = task
        self._random = np.random.default_rng((plan.seed, 3, member, life))
        self._computing, self._alive = False, True
        self.port = LossyPort(
            network.port(address_of(worker)),
            plan.loss,
            1000 * life + member,
            double=plan.double,
            delay=plan.double,
        )
        self.replica = make_replica(bed, plan, worker, self._task, port=self.port, stepped=self._compute_soon)

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self.replica.done or self.replica.failure is not None

    def kill(self) -> None:
        """End the member without a message to any other."""
        self._alive = False
        self.port.close()

    def _compute_soon(self) -> None:
        self._network.at(self._network.time, self._compute_gradient)

    def _compute_gradient(self) -> None:
        if self._computing or not self._alive or not self.replica.ready:
            return
        self._computing = True
        version, weights = self.replica.weights()
        gradient = self._task.gradient(weights)
        busy = self._plan.pace * self._random.uniform(0.7, 1.3)
        self._network.at(self._network.time + busy, partial(self._commit_gradient, gradient, version))

    def _commit_gradient(self, gradient: Vector, version: int) -> None:
        self._computing = False
        if self._alive and self.replica.failure is None:
            self.replica.commit(gradient, version)
            self._compute_gradient()
