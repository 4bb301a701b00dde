"""The tree of a testbed's engines: updates go up to the root, ACKs and results come down from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from olafctl.membership.model import Cluster, Host, Member
from olafctl.testbed.model import Engine, Link, Port, Testbed


@dataclass(frozen=True)
class Topology:
    """Which engine is behind which, seen from a testbed."""

    testbed: Testbed

    @cached_property
    def engine_at(self) -> Mapping[int, str]:
        """The name of the engine that has a port, by the port's number."""
        return {port.number: port.engine for port in (*self.testbed.ports, *self.testbed.trunks)}

    @cached_property
    def up(self) -> Mapping[str, Link]:
        """The link of each engine but the root to its parent, by the engine's name."""
        return {self.engine_at[link.port]: link for link in self.testbed.links if link.peer is not None}

    def parent(self, engine: str) -> str | None:
        """The name of the engine that takes what ``engine`` sends up; None of the root."""
        link = self.up.get(engine)
        return None if link is None or link.peer is None else self.engine_at[link.peer]

    @cached_property
    def children(self) -> Mapping[str, Sequence[str]]:
        """The engines right below each engine, by name."""
        names = [engine.name for engine in self.testbed.engines]
        return {name: [child for child in names if self.parent(child) == name] for name in names}

    def path_up(self, engine: str) -> Sequence[str]:
        """The engines from ``engine`` to the root, both included."""
        path = [engine]
        while (parent := self.parent(path[-1])) is not None:
            path.append(parent)
        return path

    def home(self, host: Host) -> str:
        """The engine that a host is attached to."""
        return self.engine_at[host.port]

    def port_towards(self, here: str, there: str) -> int:
        """The port of engine ``here`` that leads to another engine ``there``."""
        path = self.path_up(there)
        if here in path:
            peer = self.up[path[path.index(here) - 1]].peer
            assert peer is not None
            return peer
        return self.up[here].port

    def port_to(self, here: str, host: Host) -> int:
        """The port of engine ``here`` by which a host is reached."""
        home = self.home(host)
        return host.port if home == here else self.port_towards(here, home)

    def members_below(self, engine: str, cluster: Cluster) -> Sequence[Member]:
        """The workers of a cluster whose updates pass ``engine``."""
        return [worker for worker in cluster.workers if engine in self.path_up(self.home(worker))]

    def top(self, cluster: Cluster) -> str:
        """The engine where the updates of all members of a cluster first meet; the root of an empty one."""
        paths = [self.path_up(self.home(worker)) for worker in cluster.workers]
        if not paths:
            return self.testbed.engine.name
        return next(name for name in paths[0] if all(name in path for path in paths))

    def is_spread(self, cluster: Cluster) -> bool:
        """Whether the members of a cluster are at more than one engine."""
        return len({self.home(worker) for worker in cluster.workers}) > 1

    def ports_of(self, engine: Engine) -> Sequence[Port]:
        """An engine's ports, front ports and those of its links, by number."""
        ports = (*self.testbed.ports, *self.testbed.trunks)
        return sorted((port for port in ports if port.engine == engine.name), key=lambda port: port.number)
