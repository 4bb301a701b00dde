"""The part of a testbed that the rules of a membership use."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address

from olafctl.membership.model import Cluster, Host, Reward
from olafctl.wire.geometry import segment_values
from olafctl.wire.modes import Mode


@dataclass(frozen=True)
class Ground:
    """The part of a testbed on which the rules of a membership depend."""

    name: str
    """The deployment's name."""
    modes: Mapping[str, Mode]
    """Each engine's own mode by its name, the root's first."""
    reward: Reward
    """The root's own reward rule."""
    engine_at: Mapping[int, str]
    """The engine of each front port."""
    address: IPv4Address | None
    """The address to which members of rounds send their updates, and all send control messages."""
    indices: int
    beats: int
    """The 64-byte beats that a slot of every engine holds."""
    is_limited: bool
    """Whether the root's output has a rate."""
    hosts: Sequence[Host] = ()
    """The hosts that are not members."""
    routes: int = 0
    between: int = 0
    """The entries that an engine may need for a cluster to reach the engines next to it."""

    @property
    def is_tree(self) -> bool:
        """Whether there are several engines."""
        return len(self.modes) > 1

    def parent_at(self, port: int) -> str:
        """Return the parent of a member behind front port ``port``."""
        return self.engine_at[port] if self.is_tree else self.name

    def mode_of(self, cluster: Cluster) -> Mode:
        """Return the mode of a cluster at the root."""
        return cluster.mode or next(iter(self.modes.values()))

    def reward_of(self, cluster: Cluster) -> Reward:
        """Return the reward rule of a cluster at the root."""
        own = cluster.reward_threshold
        return self.reward if own is None else own

    def segments(self, values: int) -> int:
        """Return the number of indices that a model of ``values`` takes."""
        return max(-(-values // segment_values(self.beats)), 1)

    @cached_property
    def addresses(self) -> Mapping[IPv4Address, str]:
        """IPv4 addresses that no member can have, with their owners."""
        owners = {host.ip: host.name for host in self.hosts}
        return owners if self.address is None else {**owners, self.address: "the engine"}

    @cached_property
    def names(self) -> Set[str]:
        """Names that no member can have."""
        return {host.name for host in self.hosts}

    @cached_property
    def macs(self) -> Mapping[str, Host]:
        """MAC addresses of hosts that are not members, with their owners."""
        return {host.mac: host for host in self.hosts}
