"""The tree of a testbed's engines: updates go up to the root, ACKs and results come down from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address

from olafctl.membership import limits
from olafctl.membership.model import Cluster, Host, Kind, Member, default_mac
from olafctl.testbed.model import Port, Testbed, TestbedEngine, TestbedLink

_FIRST_BRANCH = 1 << 15
"""The first replica id of copies to engines; workers' ids are lower."""


@dataclass(frozen=True)
class Topology:
    """The engines behind each other, and the hosts behind each port of an engine; one engine is a tree of
    one."""

    testbed: Testbed

    @cached_property
    def engine_at(self) -> Mapping[int, str]:
        """The name of the engine that has a port, by the port's number."""
        return {port.number: port.engine for port in (*self.testbed.ports, *self.testbed.trunks)}

    @cached_property
    def up(self) -> Mapping[str, TestbedLink]:
        """The link of each engine but the root to its parent, by the engine's name."""
        return {self.engine_at[link.port]: link for link in self.testbed.links if link.peer is not None}

    def parent(self, engine: str) -> str | None:
        """Return the name of the engine that takes updates from ``engine``; None for the root."""
        link = self.up.get(engine)
        return None if link is None or link.peer is None else self.engine_at[link.peer]

    @cached_property
    def children(self) -> Mapping[str, Sequence[str]]:
        """The engines directly below each engine, by name."""
        names = [engine.name for engine in self.testbed.engines]
        return {name: [child for child in names if self.parent(child) == name] for name in names}

    def path_up(self, engine: str) -> Sequence[str]:
        """Return the engines from ``engine`` to the root, both included."""
        path = [engine]
        while (parent := self.parent(path[-1])) is not None:
            path.append(parent)
        return path

    def home(self, host: Host) -> str:
        """Return the engine that a host is attached to."""
        return self.engine_at[host.port]

    def port_towards(self, here: str, port: int) -> int:
        """Return the port of engine ``here`` that leads to front port ``port``, wherever that is."""
        home = self.engine_at[port]
        return port if home == here else self._port_between(here, home)

    def ports_down(self, engine: str) -> Sequence[int]:
        """Return the ports of ``engine`` that lead to the engines directly below it."""
        return [self._port_between(engine, child) for child in self.children[engine]]

    def _port_between(self, here: str, there: str) -> int:
        """Return the port of engine ``here`` that leads to another engine ``there``."""
        path = self.path_up(there)
        if here in path:
            peer = self.up[path[path.index(here) - 1]].peer
            assert peer is not None
            return peer
        return self.up[here].port

    def members_below(self, engine: str, cluster: Cluster) -> Sequence[Member]:
        """Return the workers of a cluster whose updates pass ``engine``: all pass the root."""
        if engine == self.testbed.root.name:
            return cluster.workers
        return [worker for worker in cluster.workers if engine in self.path_up(self.home(worker))]

    def top(self, cluster: Cluster) -> str:
        """Return the engine where the updates of all members of a cluster first meet; for an empty cluster
        the root."""
        paths = [self.path_up(self.home(worker)) for worker in cluster.workers]
        if not paths:
            return self.testbed.root.name
        return next(name for name in paths[0] if all(name in path for path in paths))

    def is_spread(self, cluster: Cluster) -> bool:
        """Return whether the members of a cluster are at more than one engine."""
        return len({self.home(worker) for worker in cluster.workers}) > 1

    def ports_of(self, engine: TestbedEngine) -> Sequence[Port]:
        """Return an engine's ports, front ports and those of its links, by number."""
        ports = (*self.testbed.ports, *self.testbed.trunks)
        return sorted((port for port in ports if port.engine == engine.name), key=lambda port: port.number)

    def members_at(self, engine: str, cluster: Cluster) -> Iterator[Member]:
        """Yield the members of a cluster to which ``engine`` sends copies: the workers attached to it, and
        the engines directly below it that have members."""
        yield from (worker for worker in cluster.workers if self.home(worker) == engine)
        yield from self.branches(engine, cluster)

    def branches(self, engine: str, cluster: Cluster) -> Iterator[Member]:
        """Yield the engines directly below ``engine`` that have members of a cluster: each is a member with
        its own address and the number of its first worker."""
        udp_port = self.testbed.udp_port
        for nth, child in enumerate(self.children[engine]):
            below = self.members_below(child, cluster)
            if below:
                replica = _FIRST_BRANCH + cluster.number * limits.CHILDREN + nth
                address = self._address_between(child, cluster)
                port = self._port_between(engine, child)
                yield Member(
                    name=child,
                    port=port,
                    mac=default_mac(address),
                    ip=address,
                    udp_port=udp_port,
                    cluster=cluster.name,
                    parent=engine,
                    number=below[0].number,
                    replica=replica,
                    kind=Kind.SWITCH,
                )

    def address_as_member(self, engine: str, cluster: Cluster) -> IPv4Address | None:
        """Return the address under which an engine is its parent's member of a cluster; None when it is
        not."""
        if self.parent(engine) is None or not self.members_below(engine, cluster):
            return None
        return self._address_between(engine, cluster)

    def _address_between(self, engine: str, cluster: Cluster) -> IPv4Address:
        """Return an address between engines that does not change when workers move, so that a copy on its way
        is never mistaken for another cluster's."""
        names = [each.name for each in self.testbed.engines]
        return limits.BETWEEN_ENGINES[cluster.number << 8 | names.index(engine)]
