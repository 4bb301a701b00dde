"""A testbed as one of its engines sees it: who is behind which of its ports."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from olafctl.testbed import limits
from olafctl.testbed.hosts import default_mac
from olafctl.testbed.model import Cluster, Host, Testbed, Worker
from olafctl.testbed.topology import Topology

_FIRST_BRANCH = 1 << 15
"""The first replica id of copies to engines; workers' are lower."""


@dataclass(frozen=True)
class Copy:
    """A copy of what goes to a whole cluster."""

    port: int
    replica: int
    mac: str
    ip: IPv4Address
    udp_port: int


@dataclass(frozen=True)
class Seat:
    """One engine's place in the tree; without a topology it is the only engine."""

    engine: str
    topology: Topology | None

    @property
    def is_root(self) -> bool:
        """Whether the parameter servers are right behind it."""
        return self.topology is None or self.topology.parent(self.engine) is None

    def port_to(self, host: Host) -> int:
        """The port by which a host is reached."""
        return host.port if self.topology is None else self.topology.port_to(self.engine, host)

    def port_towards(self, port: int) -> int:
        """The port that leads to front port ``port``, wherever that is."""
        if self.topology is None or (home := self.topology.engine_at[port]) == self.engine:
            return port
        return self.topology.port_towards(self.engine, home)

    def ports(self, testbed: Testbed) -> Sequence[int]:
        """The numbers of its ports, those of its links included."""
        ports = (*testbed.ports, *testbed.trunks)
        return [port.number for port in ports if self.topology is None or port.engine == self.engine]

    def port_up(self) -> int:
        """The port to the parent."""
        assert self.topology is not None
        return self.topology.up[self.engine].port

    def ports_down(self) -> Sequence[int]:
        """The ports to the engines right below."""
        if self.topology is None:
            return ()
        children = self.topology.children[self.engine]
        return [self.topology.port_towards(self.engine, child) for child in children]

    def is_home(self, host: Host) -> bool:
        """Whether a host is behind one of its front ports."""
        return self.topology is None or self.topology.home(host) == self.engine

    def members(self, cluster: Cluster) -> Sequence[Worker]:
        """The workers of a cluster whose updates pass this engine."""
        if self.topology is None:
            return cluster.workers
        return self.topology.members_below(self.engine, cluster)

    def copies(self, cluster: Cluster) -> Iterator[Copy]:
        """Where what is for all members of a cluster goes: to each member that is attached here, and to each
        engine right below that has members."""
        for worker in self.members(cluster):
            if self.is_home(worker):
                yield Copy(worker.port, worker.member, worker.mac, worker.ip, worker.udp_port)
        yield from (copy for copy, _ in self.branches(cluster))

    def branches(self, cluster: Cluster) -> Iterator[tuple[Copy, int]]:
        """The engines right below that have members of a cluster: each has an address of its own as a member
        here, and the member number of the first of its workers."""
        if self.topology is None:
            return
        udp_port = self.topology.testbed.udp_port
        for nth, child in enumerate(self.topology.children[self.engine]):
            below = self.topology.members_below(child, cluster)
            if below:
                replica = _FIRST_BRANCH + cluster.index * limits.CHILDREN + nth
                address = self._address_of(child, cluster)
                port = self.topology.port_towards(self.engine, child)
                yield Copy(port, replica, default_mac(address), address, udp_port), below[0].number

    def own_address(self, cluster: Cluster) -> IPv4Address | None:
        """The address under which this engine is its parent's member of a cluster; None when it is not."""
        if self.topology is None or self.is_root or not self.members(cluster):
            return None
        return self._address_of(self.engine, cluster)

    def _address_of(self, engine: str, cluster: Cluster) -> IPv4Address:
        """It does not change when workers move, so that no copy on its way between engines is taken for
        another cluster's."""
        assert self.topology is not None
        names = [each.name for each in self.topology.testbed.engines]
        return limits.BETWEEN_ENGINES[cluster.index << 8 | names.index(engine)]

    def is_top(self, cluster: Cluster) -> bool:
        """Whether the updates of all members of a cluster meet here, and in no engine below."""
        return self.topology is None or self.topology.top(cluster) == self.engine

    def address(self) -> IPv4Address | None:
        """The address that members of rounds send to."""
        return None if self.topology is None else self.topology.testbed.engine.address
