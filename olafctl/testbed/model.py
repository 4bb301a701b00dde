"""A testbed as values: checked, with every default filled in and every range expanded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from olafctl.membership.model import Cluster, Host, Member, default_mac
from olafctl.network.netem import Impairment
from olafctl.wire.geometry import Geometry
from olafctl.wire.modes import Mode
from olafswitch.ports.transport import Transport


@dataclass(frozen=True)
class TestbedMachine:
    """A machine on which engines run."""

    name: str
    address: str
    """The address of its agent: HOST:PORT."""


@dataclass(frozen=True)
class TestbedEngine:
    """The queue's geometry (fixed when built) and its settings (registers, set when deployed)."""

    indices: int
    """The indices that the queue tracks, one for each segment of each cluster; a power of two."""
    slots: int
    beats: int
    """The 64-byte beats that a slot holds."""
    adder_latency: int
    mode: Mode
    """The mode of clusters without their own."""
    reward_threshold: float | None
    """The reward rule's threshold of clusters without their own; None switches the rule off."""
    output_rate: int | None
    """The output's rate in bit/s; None leaves it unconstrained."""
    active_window: int
    """The ns within which an index that sent counts as active."""
    accumulate_quota: int
    """The slots that sums of the iswitch modes may take while they accumulate."""
    staleness_root: float | None
    """v of the weights δ^(-1/v) of the staleness rule, for clusters that have it; None weighs all alike."""
    address: IPv4Address | None
    """The address to which members of iswitch clusters send updates, and all members control messages; None
    for no address. Of several engines only the root has one."""
    shards: int = 1
    """The threads of the target software, each with its part of the clusters, slots and output rate."""
    name: str = "engine"
    machine: str = ""
    """The name of the machine on which it runs; empty where the testbed has none."""

    def mode_of(self, cluster: Cluster) -> Mode:
        """Return the mode in which the engine treats a cluster's updates."""
        return cluster.mode or self.mode

    def reward_of(self, cluster: Cluster) -> float | None:
        """Return the threshold of the engine's reward rule for a cluster; None where the rule is off."""
        own = cluster.reward_threshold
        if own is None:
            return self.reward_threshold
        return None if own == "off" else own

    @property
    def geometry(self) -> Geometry:
        """The parameters of the engine's queue."""
        return Geometry(
            indices=self.indices, slots=self.slots, beats=self.beats, adder_latency=self.adder_latency
        )


@dataclass(frozen=True)
class Port:
    """A front port of the pipeline; a ``transport`` of None means the best that this user may use."""

    number: int
    name: str
    transport: Transport | None
    path: str | None
    """The UNIX socket or pcap path, or interface name; None lets the target choose."""
    engine: str = "engine"
    """The engine that has the port; numbers and names are unique over all engines."""
    impair: Impairment | None = None
    """Loss, delay and the like of the link behind it, each way."""


@dataclass(frozen=True)
class TestbedLink:
    """The cable at a port: between two engines, or between an engine and the hosts behind its front port."""

    port: int
    """Between two engines, the port of the engine that is farther from the root."""
    peer: int | None
    """The port of the other engine, on the way to the root; None when hosts are at the other end."""
    rate: int | None
    """The rate in bit/s each way; with None, sending a frame takes no time."""
    delay: int
    """The ns each way from the end of sending a frame to its arrival."""
    queue: int
    """The frames that may wait or be on their way into the cable, each way; further frames are lost."""


@dataclass(frozen=True)
class Route:
    """Non-Olaf traffic and traffic to parameter servers: an IPv4 prefix behind a front port."""

    prefix: IPv4Network
    port: int


class BlockKind(StrEnum):
    """The kind of VNP4₁ and VNP4₂ on a card."""

    RTL = "rtl"
    VITISNETP4 = "vitisnetp4"


@dataclass(frozen=True)
class Testbed:
    """A whole deployment."""

    __test__ = False  # pytest: not a test class

    name: str
    source: Path
    target: str
    engines: tuple[TestbedEngine, ...]
    """The tree of engines, each behind its parent: first the root, in front of the parameter servers."""
    udp_port: int
    control_tos: int
    ports: tuple[Port, ...]
    """Front ports, by number; the ports of links between engines are not among them."""
    parameter_servers: tuple[Host, ...]
    clusters: tuple[Cluster, ...]
    """The clusters with their members, with which a membership begins."""
    hosts: tuple[Host, ...]
    """Hosts that are neither workers nor parameter servers."""
    routes: tuple[Route, ...]
    links: tuple[TestbedLink, ...] = ()
    """The links between engines, and the links at front ports that the testbed describes."""
    trunks: tuple[Port, ...] = ()
    """The ports of links between engines, by number."""
    blocks: BlockKind = BlockKind.RTL
    machines: tuple[TestbedMachine, ...] = ()
    """The machines; without any, everything runs where olafctl does."""
    board: str | None = None
    """The card's board, as ``olafctl build --board`` names it."""
    text: str = field(default="", repr=False, compare=False)
    """The YAML from which it was read."""

    @property
    def root(self) -> TestbedEngine:
        """The engine in front of the parameter servers."""
        return self.engines[0]

    @property
    def shards(self) -> int:
        """The threads of its process that move frames."""
        return self.shards_of(self.root)

    def shards_of(self, engine: TestbedEngine) -> int:
        """Return the threads of an engine that has its own process."""
        return engine.shards if self.target == "software" else 1

    @property
    def engine_host(self) -> Host | None:
        """The root's address as members send to it, behind no port; None when it has none."""
        address = self.root.address
        return None if address is None else Host("engine", 0, default_mac(address), address, self.udp_port)

    @property
    def indices(self) -> int:
        """The number of indices for clusters: a cluster has the same indices in every engine."""
        return min(engine.indices for engine in self.engines)

    @property
    def beats(self) -> int:
        """The 64-byte beats that a slot of every engine holds."""
        return min(engine.beats for engine in self.engines)

    @cached_property
    def _named(self) -> Mapping[str, Cluster]:
        return {cluster.name: cluster for cluster in self.clusters}

    def cluster_of(self, worker: Member) -> Cluster:
        """Return a worker's cluster."""
        return self._named[worker.cluster]

    def mode_of(self, cluster: Cluster) -> Mode:
        """Return the mode in which the root treats a cluster's updates; all engines agree on whether it
        sums."""
        return self.root.mode_of(cluster)

    @property
    def workers(self) -> tuple[Member, ...]:
        """The workers, by cluster."""
        return tuple(worker for cluster in self.clusters for worker in cluster.workers)
