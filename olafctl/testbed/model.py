"""What a testbed says, as values: already checked, every default filled in, every range expanded."""

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from olafctl.ports.netem import Impairment
from olafctl.ports.transport import Transport
from olafctl.wire.geometry import Geometry
from olafctl.wire.modes import Mode


@dataclass(frozen=True)
class Engine:
    """The queue's geometry (fixed when built) and its settings (registers, set when deployed)."""

    indices: int
    """Indices the queue tracks, one for each segment of each cluster; a power of two."""
    slots: int
    beats: int
    """64-byte beats a slot holds."""
    adder_latency: int
    mode: Mode
    """Of clusters that do not say otherwise."""
    reward_threshold: float | None
    """None switches the reward rule off; of clusters that do not say otherwise."""
    output_rate: int | None
    """bit/s; None leaves the output unconstrained."""
    active_window: int
    """ns within which an index that sent counts as active."""
    accumulate_quota: int
    """Slots that rounds of iswitch mode may take while they accumulate."""
    address: IPv4Address | None
    """Where members of iswitch clusters send to, and control messages; None when there is none. Of several
    engines the root alone has one."""
    name: str = "engine"

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
    """Whose port it is; numbers and names are unique over all engines."""
    impair: Impairment | None = None
    """What the link behind it does to frames, each way."""


@dataclass(frozen=True)
class Link:
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
    """The cluster's number."""
    number: int
    """Member number in its cluster, from 0."""
    worker_id: int
    member: int
    """1-based index over all workers: the replica id of its copy of a multicast ACK."""


@dataclass(frozen=True)
class Cluster:
    """A cluster: its number, its multicast group, its members, and how the queue treats its updates."""

    index: int
    """Its number, from 0."""
    name: str
    group: int
    """Multicast group id at VNP4₂: its number + 1."""
    workers: tuple[Worker, ...]
    values: int
    """Length of its model in values; 0 leaves it open, up to one segment."""
    first: int
    """Its first index at the queue."""
    segments: int
    """Indices it has, one for each block of its model."""
    mode: Mode
    threshold: int
    """H of iswitch mode: worker updates that make a result."""
    reward_threshold: float | None
    """None switches the reward rule off."""
    epoch: int
    """Its job's, 0 … 15."""
    halted: bool = False
    """Whether the queue drops its updates; set at run time."""
    own_mode: bool = True
    """Whether the mode is its own; otherwise the root's stands there, and each engine's own counts."""
    own_reward_threshold: bool = True
    """As ``own_mode``, of the reward rule."""


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
    engines: tuple[Engine, ...]
    """The tree of engines, each behind its parent: first the root, in front of the parameter servers."""
    udp_port: int
    control_tos: int
    ports: tuple[Port, ...]
    """Front ports, by number; the ports of links between engines are not among them."""
    parameter_servers: tuple[Host, ...]
    clusters: tuple[Cluster, ...]
    hosts: tuple[Host, ...]
    """Hosts that are neither workers nor parameter servers."""
    routes: tuple[Route, ...]
    links: tuple[Link, ...] = ()
    """Every link between engines, and those at front ports that the testbed describes."""
    trunks: tuple[Port, ...] = ()
    """The ports of links between engines, by number."""
    text: str = field(default="", repr=False, compare=False)
    """The YAML it was read from."""

    @property
    def root(self) -> Engine:
        """The engine in front of the parameter servers."""
        return self.engines[0]

    @property
    def indices(self) -> int:
        """How many there are for clusters: each has the same ones in every engine."""
        return min(engine.indices for engine in self.engines)

    @property
    def beats(self) -> int:
        """64-byte beats that a slot of every engine holds."""
        return min(engine.beats for engine in self.engines)

    @property
    def workers(self) -> tuple[Worker, ...]:
        """All workers, by cluster."""
        return tuple(worker for cluster in self.clusters for worker in cluster.workers)
