"""Clusters and their members (the membership table of iSwitch §3.3, figure 9), as values.

A store keeps a row of each: JSON, with addresses as text and the key in hexadecimal digits.
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
    """The name of the engine above the member, or with a single engine the deployment's."""
    number: int
    """The member's number in its cluster, from 0."""
    replica: int
    """The ID number of figure 9, from 1 over all members: the replica id of its copy of a multicast frame."""
    worker_id: int = 0
    """0 lets VNP4₁ use the CRC32 of the five-tuple."""
    kind: Kind = Kind.WORKER
    lease: float = 0
    """The seconds of silence after which the member leaves; 0: never."""

    def to_row(self) -> Row:
        """Return the row in the store."""
        return {**asdict(self), "ip": str(self.ip)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Member":
        """Return a member from :meth:`to_row`'s row. Raises KeyError, TypeError or ValueError for other
        rows."""
        return cls(**{**row, "ip": IPv4Address(row["ip"]), "kind": Kind(row["kind"])})


@dataclass(frozen=True)
class Cluster:
    """A training job: its indices, the queue's rules for its updates, and its members."""

    name: str
    number: int = 0
    """The cluster's number, from 0."""
    values: int = 0
    """The length of its model in values; 0 leaves it open, up to one segment."""
    first: int = 0
    """The first index at the queue."""
    segments: int = 1
    """The number of indices, one for each block of the model."""
    mode: Mode | None = None
    """The mode; None: each engine's own."""
    threshold: int = 0
    """H of the iswitch modes; 0: as many as there are members."""
    reward_threshold: Reward | None = None
    """The reward rule; None: each engine's own."""
    staleness_bound: int | None = None
    """The versions that an update may be behind; the queue drops staler ones. None: no staleness rule."""
    epoch: int = 0
    """The job's epoch, 0 … 15, the next for each created cluster: frames of an earlier job are refused."""
    halted: bool = False
    """Whether the queue drops its updates."""
    key: str = ""
    """The secret of its control messages, hexadecimal; without it they are refused, unless ``open``."""
    open: bool = False
    """Whether control messages need no key."""
    objective: str = ""
    """The Age-of-Model objective in the verifier's words, as ``peak<=20ms``; empty: none."""
    period: int = 0
    """The ns between two updates of one worker, for the objective; 0: not known."""
    workers: tuple[Member, ...] = ()
    """The members, by replica id."""

    @property
    def group(self) -> int:
        """The multicast group id at VNP4₂."""
        return self.number + 1

    @property
    def last(self) -> int:
        """The last index at the queue."""
        return self.first + self.segments - 1

    @property
    def h(self) -> int:
        """H: the worker updates that make a result of the iswitch modes."""
        return self.threshold or max(len(self.workers), 1)

    @property
    def is_spread(self) -> bool:
        """Whether the members are at more than one engine."""
        return len({worker.parent for worker in self.workers}) > 1

    def to_row(self) -> Row:
        """Return the row in the store; members have their own rows."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Cluster":
        """Return a cluster from :meth:`to_row`'s row. Raises KeyError, TypeError or ValueError for other
        rows."""
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
