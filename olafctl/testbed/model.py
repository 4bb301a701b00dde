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
    """A machine that engines run on."""

    name: str
    address: str
    """Address of its agent: HOST:PORT."""


@dataclass(frozen=True)
class TestbedEngine:
    """The queue's geometry (fixed when built) and its settings (registers, set when deployed)."""

    indices: int
    """Indices the queue tracks, one for each segment of each cluster; a power of two."""
    slots: int
    beats: int
    """64-byte beats a slot holds."""
    adder_latency: int
    mode: Mode
    """The mode of clusters that do not say otherwise."""
    reward_threshold: float | None
    """None switches the reward rule off; of clusters that do not say otherwise."""
    output_rate: int | None
    """bit/s; None leaves the output unconstrained."""
    active_window: int
    """ns within which an index that sent counts as active."""
    accumulate_quota: int
    """Slots that sums of the iswitch modes may take while they accumulate."""
    staleness_root: float | None
    """v of the weights δ^(-1/v) of the staleness rule, of clusters that have it; None weighs all alike."""
    address: IPv4Address | None
    """The address to which members of iswitch clusters send updates, and all send control messages; None when
    there is none. Of several engines the root alone has one."""
    shards: int = 1
    """Threads with the target software, each with its part of the clusters, slots and output rate."""
    name: str = "engine"
    machine: str = ""
    """The name of the machine that it runs on; empty where the testbed has none."""

    def mode_of(self, cluster: Cluster) -> Mode:
        """Return the mode in which it treats a cluster's updates."""
        return cluster.mode or self.mode

    def reward_of(self, cluster: Cluster) -> float | None:
        """Return the threshold of its reward rule for a cluster; None where that is off."""
        own = cluster.reward_threshold
        if own is None:
            return self.reward_threshold
        return None if own == "off" else own

    @property
    def geometry(self) -> Geometry:
        """The parameters of its queue."""
        return Geometry(
            indices=self.indices, slots=self.slots, beats=self.beats, adder_latency=self.adder_latency
        )


@dataclass(frozen=True)
class Port:
    """A front port of the pipeline; ``transport`` None means the best this user is allowed."""

    number: int
    name: str
    transport: Transport | None
    path: str | None
    """UNIX socket or pcap path, or interface name; None lets the target choose."""
    engine: str = "engine"
    """The engine that has the port; numbers and names are unique over all engines."""
    impair: Impairment | None = None
    """Loss, delay and the like of the link behind it, each way."""


@dataclass(frozen=True)
class TestbedLink:
    """The cable at a port: between two engines, or between an engine and the hosts behind its front port."""

    port: int
    """Between two engines, the port of the one that is farther from the root."""
    peer: int | None
    """The port of the other engine, the one on the way to the root; None when hosts are at the other end."""
    rate: int | None
    """bit/s each way; None takes no time to send a frame."""
    delay: int
    """ns each way, until the end of a frame that has been sent arrives."""
    queue: int
    """Frames that may wait or be on their way into the cable, each way; what comes on top is lost."""


@dataclass(frozen=True)
class Route:
    """Non-Olaf and PS-bound traffic: an IPv4 prefix behind a front port."""

    prefix: IPv4Network
    port: int


class BlockKind(StrEnum):
    """What VNP4₁ and VNP4₂ are on a card."""

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
    """With their members: what a membership begins with."""
    hosts: tuple[Host, ...]
    """Hosts that are neither workers nor parameter servers."""
    routes: tuple[Route, ...]
    links: tuple[TestbedLink, ...] = ()
    """Every link between engines, and those at front ports that the testbed describes."""
    trunks: tuple[Port, ...] = ()
    """The ports of links between engines, by number."""
    blocks: BlockKind = BlockKind.RTL
    machines: tuple[TestbedMachine, ...] = ()
    """Without any, everything runs where olafctl does."""
    board: str | None = None
    """The card's board, as ``olafctl build --board`` names it."""
    text: str = field(default="", repr=False, compare=False)
    """The YAML it was read from."""

    @property
    def root(self) -> TestbedEngine:
        """The engine in front of the parameter servers."""
        return self.engines[0]

    @property
    def shards(self) -> int:
        """Threads of its process that move frames."""
        return self.shards_of(self.root)

    def shards_of(self, engine: TestbedEngine) -> int:
        """Threads of the process of an engine that has one of its own."""
        return engine.shards if self.target == "software" else 1

    @property
    def engine_host(self) -> Host | None:
        """The root's address as members send to it, which is behind no port; None when it has none."""
        address = self.root.address
        return None if address is None else Host("engine", 0, default_mac(address), address, self.udp_port)

    @property
    def indices(self) -> int:
        """The number of indices for clusters: a cluster has the same ones in every engine."""
        return min(engine.indices for engine in self.engines)

    @property
    def beats(self) -> int:
        """64-byte beats that a slot of every engine holds."""
        return min(engine.beats for engine in self.engines)

    @cached_property
    def _named(self) -> Mapping[str, Cluster]:
        return {cluster.name: cluster for cluster in self.clusters}

    def cluster_of(self, worker: Member) -> Cluster:
        """Return the cluster that a worker is in."""
        return self._named[worker.cluster]

    def mode_of(self, cluster: Cluster) -> Mode:
        """Return the mode in which the root treats a cluster's updates; all engines agree on whether it
        sums."""
        return self.root.mode_of(cluster)

    @property
    def workers(self) -> tuple[Member, ...]:
        """All workers, by cluster."""
        return tuple(worker for cluster in self.clusters for worker in cluster.workers)
