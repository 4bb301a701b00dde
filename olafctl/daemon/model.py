"""The membership table (iSwitch §3.3, figure 9) and its clusters, as values that the store keeps.

A row is stored as JSON: addresses as text, the key in hexadecimal digits.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Any

from olafctl.testbed import model as testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.modes import Mode

Row = dict[str, Any]


class Kind(StrEnum):
    """What a member is (figure 9, column type)."""

    WORKER = "worker"
    SWITCH = "switch"


@dataclass(frozen=True)
class Member:
    """A row of the membership table."""

    name: str
    cluster: str
    kind: Kind
    parent: str
    """The engine above it: its name, or where there is only one engine this deployment's."""
    ip: IPv4Address
    udp_port: int
    mac: str
    port: int
    """Front port that leads to it."""
    number: int
    """Member number in its cluster, from 0."""
    worker_id: int
    """0 lets VNP4₁ use the CRC32 of the five-tuple."""
    replica: int
    """ID number of figure 9, from 1: replica id of its copy of a multicast frame."""
    lease: float
    """Seconds of silence after which it leaves; 0: never."""

    def to_row(self) -> Row:
        """What the store keeps."""
        return {**asdict(self), "ip": str(self.ip)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Member":
        """The reverse of :meth:`to_row`."""
        return cls(**{**row, "ip": IPv4Address(row["ip"]), "kind": Kind(row["kind"])})


@dataclass(frozen=True)
class Cluster:
    """A training job: which indices it has and how the queue treats its updates."""

    name: str
    number: int
    """From 0; its multicast group is this + 1."""
    values: int
    """Length of its model in values; 0 leaves it open, up to one segment."""
    first: int
    segments: int
    mode: Mode
    threshold: int
    """H of iswitch mode; 0: as many as it has members."""
    reward_threshold: float | None
    """None switches the reward rule off."""
    epoch: int
    """0 … 15: the next one for each cluster that is created, so that frames of an earlier job are refused."""
    halted: bool
    key: str
    """Secret of its control messages, hexadecimal; empty: they are refused, unless it is open."""
    open: bool
    """Whether control messages need no key."""
    objective: str
    """Age-of-Model objective in the verifier's words, as ``peak<=20ms``; empty: none."""
    period: int
    """ns between two updates of one worker, which the objective is about; 0: not known."""
    own_mode: bool = True
    """Whether the mode is its own; otherwise the root's stands there, and each engine's own counts."""
    own_reward_threshold: bool = True
    """As ``own_mode``, of the reward rule."""

    def to_row(self) -> Row:
        """What the store keeps."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Cluster":
        """The reverse of :meth:`to_row`."""
        return cls(**{**row, "mode": Mode(row["mode"])})

    def shown(self) -> Row:
        """What others may see of it: everything but the key."""
        row = self.to_row()
        row["keyed"] = bool(row.pop("key"))
        return row


def placed(cluster: Cluster, members: list[Member]) -> testbed.Cluster:
    """A cluster with its members as a testbed has it: from that the tables' content follows."""
    return testbed.Cluster(
        index=cluster.number,
        name=cluster.name,
        group=cluster.number + 1,
        workers=tuple(_worker(member, cluster) for member in sorted(members, key=lambda each: each.replica)),
        values=cluster.values,
        first=cluster.first,
        segments=cluster.segments,
        mode=cluster.mode,
        threshold=cluster.threshold or max(len(members), 1),
        reward_threshold=cluster.reward_threshold,
        epoch=cluster.epoch,
        halted=cluster.halted,
        own_mode=cluster.own_mode,
        own_reward_threshold=cluster.own_reward_threshold,
    )


def of_testbed(bed: testbed.Testbed) -> tuple[list[Cluster], list[Member]]:
    """The clusters and members that a testbed begins with.

    H of rounds that several engines take part in follows the members: each engine waits for all of its own.
    """
    topology = Topology(bed)
    clusters = [
        Cluster(
            name=each.name,
            number=each.index,
            values=each.values,
            first=each.first,
            segments=each.segments,
            mode=each.mode,
            threshold=0 if topology.is_spread(each) else each.threshold,
            reward_threshold=each.reward_threshold,
            epoch=each.epoch,
            halted=each.halted,
            key="",
            open=False,
            objective="",
            period=0,
            own_mode=each.own_mode,
            own_reward_threshold=each.own_reward_threshold,
        )
        for each in bed.clusters
    ]
    names = {each.index: each.name for each in bed.clusters}
    members = [
        Member(
            name=worker.name,
            cluster=names[worker.cluster],
            kind=Kind.WORKER,
            parent=parent_at(worker.port, topology),
            ip=worker.ip,
            udp_port=worker.udp_port,
            mac=worker.mac,
            port=worker.port,
            number=worker.number,
            worker_id=worker.worker_id,
            replica=worker.member,
            lease=0,
        )
        for worker in bed.workers
    ]
    return clusters, members


def parent_at(port: int, topology: Topology) -> str:
    """The parent of a member behind front port ``port``."""
    return topology.engine_at[port] if len(topology.testbed.engines) > 1 else topology.testbed.name


def _worker(member: Member, cluster: Cluster) -> testbed.Worker:
    return testbed.Worker(
        name=member.name,
        port=member.port,
        mac=member.mac,
        ip=member.ip,
        udp_port=member.udp_port,
        cluster=cluster.number,
        number=member.number,
        worker_id=member.worker_id,
        member=member.replica,
    )
