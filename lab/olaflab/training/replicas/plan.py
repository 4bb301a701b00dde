"""What members do in a run, and what became of each."""

import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from olaf.replicas.replica import Replica
from olaf.replicas.trained import Descent, Trained
from olaf.transport.segments import Vector

from olafctl.membership.model import Member as Worker
from olafctl.targets.testbeds import load
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaflab.training.cosim.medium import address
from olaflab.training.replicas.lossy import LossyPort
from olafswitch.errors import BadInput, Problem

NAME = "bench-replica"
_BEATS = 22
_RATE = 0.05


@dataclass(frozen=True)
class Plan:
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
        found = []
        if self.kill:
            found += [(self.results // 4, "kill", 1), (self.results // 2, "begin", 1)]
        if self.late:
            found.append((self.results // 3, "begin", self.members - 1))
        return sorted(found)

    @property
    def first(self) -> list[int]:
        """Members that are there from the beginning."""
        return list(range(self.members - self.late))


@dataclass(frozen=True)
class End:
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
class Outcome:
    """A run."""

    seconds: float
    """From the first step to the last."""
    ends: list[End] = field(default_factory=list)
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

    def total(self, counter: str) -> int:
        """Over all members."""
        return sum(end.counters[counter] for end in self.ends)


def testbed(plan: Plan, transport: str, mode: Mode = Mode.ISWITCH_ASYNC) -> Testbed:
    """Describe one engine, or two below a third one. Raises BadInput for an impossible plan."""
    if plan.members < 2 + plan.kill + plan.late:
        remedy = "give more --members, or leave out --kill or --late"
        raise BadInput(Problem(f"{plan.members} members are too few", "bench replica", remedy))
    if plan.h > plan.members * (plan.staleness + 1):
        what = f"H is {plan.h}, but {plan.members} members make at most {plan.members * (plan.staleness + 1)}"
        raise BadInput(Problem(f"{what} contributions between two results", "bench replica"))
    shape = f"mode: {mode.value}, threshold: {plan.h}, values: {plan.values}"
    engine = f"indices: 16, slots: 16, beats: {_BEATS}"
    if plan.levels == 1:
        text = f"""
name: {NAME}
target: {plan.target}
engine: {{{engine}, address: 10.0.0.250}}
ports:
  - {{numbers: 1-{plan.members}, name: worker, transport: {transport}}}
  - {{number: {plan.members + 1}, name: ps, transport: {transport}}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{count: 1, workers: {plan.members}, name: replica, ports: 1-{plan.members}, ip: 10.0.1.1, {shape}}}
"""
        return load(f"{NAME}.yaml", text)
    left = -(-plan.members // 2)
    racks = [range(left), range(left, plan.members)]
    engines = "".join(
        f"""
  - name: tor{rack}
    {engine.replace(", ", f"{chr(10)}    ")}
    ports:
      - {{numbers: {100 * rack + 1}-{100 * rack + len(members)}, name: host, transport: {transport}}}
      - {{number: {100 * rack + 99}, name: up{rack}}}"""
        for rack, members in enumerate(racks, start=1)
    )
    workers = "".join(
        f"\n      - {{name: replica-w{member}, port: host{100 * rack + place}, ip: 10.0.{rack}.{place}}}"
        for rack, members in enumerate(racks, start=1)
        for place, member in enumerate(members, start=1)
    )
    text = f"""
name: {NAME}
target: {plan.target}
engines:
  - name: root
    {engine.replace(", ", f"{chr(10)}    ")}
    address: 10.0.0.250
    ports:
      - {{numbers: 1-2, name: rack}}
      - {{number: 3, name: ps, transport: {transport}}}{engines}
links:
  - {{ends: [tor1.up1, root.rack1], rate: 10 Gb/s, delay: 1 us}}
  - {{ends: [tor2.up2, root.rack2], rate: 10 Gb/s, delay: 1 us}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - name: replica
    {shape.replace(", ", f"{chr(10)}    ")}
    workers:{workers}
"""
    return load(f"{NAME}.yaml", text)


class Task:
    """What one member computes: the way to a target, which all share, with noise of its own."""

    def __init__(self, plan: Plan, member: int, life: int) -> None:
        """``life``: how often this member has begun."""
        self.first = np.random.default_rng(plan.seed).standard_normal(plan.values).astype(np.float32)
        self._target = np.random.default_rng((plan.seed, 1)).standard_normal(plan.values).astype(np.float32)
        self._random = np.random.default_rng((plan.seed, 2, member, life))
        self.trained: Trained = Descent(self.first, _RATE)

    def gradient(self, weights: Vector) -> Vector:
        """(values,)."""
        noise = self._random.standard_normal(len(weights)).astype(np.float32)
        gradient: Vector = weights - self._target + noise
        return gradient


def replica(bed: Testbed, plan: Plan, worker: Worker, task: Task, **more: Any) -> Replica:
    """A member of the testbed's cluster at a worker's address."""
    (cluster,) = bed.clusters
    assert bed.root.address is not None
    everyone = [address(each) for each in cluster.workers]
    return Replica(
        f"{bed.root.address}:{bed.udp_port}",
        task.trained,
        peers=[each for each in everyone if each != address(worker)],
        h=plan.h,
        staleness=plan.staleness,
        until=plan.results,
        segments=cluster.segments,
        epoch=cluster.epoch,
        **more,
    )


def ended(name: str, member: Replica, port: LossyPort) -> End:
    """Summarise what became of a member."""
    version, weights = member.weights()
    counters = {**asdict(member.counters), **asdict(member.gaps), "served": member.served}
    commits = asdict(member.commits)
    histogram = commits.pop("histogram")
    digest = hashlib.sha256(weights.tobytes()).hexdigest()
    return End(
        name,
        version,
        digest,
        histogram,
        {**counters, **commits},
        port.lost,
        port.out.sent,
        port.out.doubled + port.into.doubled,
    )
