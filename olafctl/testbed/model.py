"""What a testbed says, as values: already checked, every default filled in, every range expanded."""

from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from olafctl.wire.geometry import Geometry


class Mode(StrEnum):
    """OlafQueue's modes."""

    OLAF = "olaf"
    FIFO = "fifo"


class Transport(StrEnum):
    """What a front port is made of."""

    VETH = "veth"
    TAP = "tap"
    UNIX = "unix"
    PCAP = "pcap"


@dataclass(frozen=True)
class Engine:
    """The queue's geometry (fixed when built) and its settings (registers, set when deployed)."""

    clusters: int
    """Cluster indices the hardware tracks, a power of two."""
    slots: int
    beats: int
    """64-byte beats a slot holds."""
    adder_latency: int
    mode: Mode
    reward_threshold: float | None
    """None switches the reward rule off."""
    output_rate: int | None
    """bit/s; None leaves the output unconstrained."""
    active_window: int
    """ns within which an index that received an update counts as active."""

    @property
    def geometry(self) -> Geometry:
        """The parameters of its queue: a cluster of one segment is one index."""
        return Geometry(
            indices=self.clusters, slots=self.slots, beats=self.beats, adder_latency=self.adder_latency
        )


@dataclass(frozen=True)
class Port:
    """A front port of the pipeline; ``transport`` None means the best this user is allowed."""

    number: int
    name: str
    transport: Transport | None
    path: str | None
    """UNIX socket or pcap path, or interface name; None lets the target choose."""


@dataclass(frozen=True)
class Host:
    """An end host behind a front port; several may share a port."""

    name: str
    port: int
    mac: str
    ip: IPv4Address
    udp_port: int


@dataclass(frozen=True)
class Worker(Host):
    """A worker. ``worker_id`` 0 lets VNP4₁ use the CRC32 of the five-tuple."""

    cluster: int
    """Cluster index at the engine, 0 … Engine.clusters-1."""
    worker_id: int
    member: int
    """1-based index over all workers: the replica id of its copy of a multicast ACK."""


@dataclass(frozen=True)
class Cluster:
    """A cluster: its index at the engine, its multicast group and its members."""

    index: int
    name: str
    group: int
    """Multicast group id at VNP4₂, index + 1."""
    workers: tuple[Worker, ...]


@dataclass(frozen=True)
class Route:
    """Non-Olaf and PS-bound traffic: an IPv4 prefix behind a front port."""

    prefix: IPv4Network
    port: int


@dataclass(frozen=True)
class Testbed:
    """A whole deployment."""

    __test__ = False  # pytest: not a test class

    name: str
    source: Path
    target: str
    engine: Engine
    udp_port: int
    control_tos: int
    ports: tuple[Port, ...]
    parameter_servers: tuple[Host, ...]
    clusters: tuple[Cluster, ...]
    hosts: tuple[Host, ...]
    """Hosts that are neither workers nor parameter servers."""
    routes: tuple[Route, ...]
    text: str = field(default="", repr=False, compare=False)
    """The YAML it was read from."""

    @property
    def workers(self) -> tuple[Worker, ...]:
        """All workers, by cluster."""
        return tuple(worker for cluster in self.clusters for worker in cluster.workers)
