"""Clusters and their members (the membership table of iSwitch §3.3, figure 9), as values.

A row is what a store keeps of one: JSON, with addresses as text and the key in hexadecimal digits.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Any, Literal

from olafctl.wire.modes import Mode

Row = dict[str, Any]
Reward = float | Literal["off"]
"""A reward rule: its threshold, or none."""


class Kind(StrEnum):
    """The type of a member (iSwitch figure 9)."""

    WORKER = "worker"
    SWITCH = "switch"
    PLAYER = "player"


@dataclass(frozen=True)
class Host:
    """An end host behind a front port; several may share a port."""

    name: str
    port: int
    mac: str
    ip: IPv4Address
    udp_port: int


@dataclass(frozen=True)
class Member(Host):
    """A member of a cluster: a worker, a player of its weights, or a switch with workers of its own."""

    cluster: str
    parent: str
    """The engine above it: its name, or where there is only one engine the deployment's."""
    number: int
    """Member number in its cluster, from 0."""
    replica: int
    """ID number of figure 9, from 1 over all members: replica id of its copy of a multicast frame."""
    worker_id: int = 0
    """0 lets VNP4₁ use the CRC32 of the five-tuple."""
    kind: Kind = Kind.WORKER
    lease: float = 0
    """Seconds of silence after which it leaves; 0: never."""

    def to_row(self) -> Row:
        """Return the row in the store."""
        return {**asdict(self), "ip": str(self.ip)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Member":
        """Return the reverse of :meth:`to_row`. Raises KeyError, TypeError or ValueError for anything
        else."""
        return cls(**{**row, "ip": IPv4Address(row["ip"]), "kind": Kind(row["kind"])})


@dataclass(frozen=True)
class Cluster:
    """A training job: which indices it has, how the queue treats its updates, and who takes part."""

    name: str
    number: int = 0
    """From 0."""
    values: int = 0
    """Length of its model in values; 0 leaves it open, up to one segment."""
    first: int = 0
    """Its first index at the queue."""
    segments: int = 1
    """Indices it has, one for each block of its model."""
    mode: Mode | None = None
    """None: each engine's own."""
    threshold: int = 0
    """H of the iswitch modes as it was set; 0: as many as it has members."""
    reward_threshold: Reward | None = None
    """None: each engine's own."""
    staleness_bound: int | None = None
    """Versions that an update may be behind before the queue drops it; None: the staleness rule is off."""
    epoch: int = 0
    """0 … 15: the next one for each cluster that is created, so that frames of an earlier job are refused."""
    halted: bool = False
    """Whether the queue drops its updates."""
    key: str = ""
    """Secret of its control messages, hexadecimal; empty: they are refused, unless it is open."""
    open: bool = False
    """Whether control messages need no key."""
    objective: str = ""
    """Age-of-Model objective in the verifier's words, as ``peak<=20ms``; empty: none."""
    period: int = 0
    """ns between two updates of one worker, which the objective is about; 0: not known."""
    workers: tuple[Member, ...] = ()
    """Its members, by replica id."""

    @property
    def group(self) -> int:
        """Multicast group id at VNP4₂."""
        return self.number + 1

    @property
    def last(self) -> int:
        """Its last index at the queue."""
        return self.first + self.segments - 1

    @property
    def h(self) -> int:
        """H: worker updates that make a result of the iswitch modes."""
        return self.threshold or max(len(self.workers), 1)

    @property
    def is_spread(self) -> bool:
        """Whether its members are at more than one engine."""
        return len({worker.parent for worker in self.workers}) > 1

    def to_row(self) -> Row:
        """Return the row in the store; members have rows of their own."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Cluster":
        """Return the reverse of :meth:`to_row`. Raises KeyError, TypeError or ValueError for anything
        else."""
        return cls(**{**row, "mode": row["mode"] and Mode(row["mode"])})

    def shown(self) -> Row:
        """Return the cluster without its key, for others to see."""
        row = self.to_row()
        row["keyed"] = bool(row.pop("key"))
        return row


_FIELDS = tuple(field.name for field in fields(Cluster) if field.name != "workers")


def default_mac(ip: IPv4Address) -> str:
    """Return a locally administered MAC address made from an IPv4 address."""
    return ":".join(f"{byte:02x}" for byte in b"\x02\x00" + ip.packed)
