"""The contents of each host's network stack: its interface, its address, its routes and its neighbours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, collapse_addresses
from socket import if_nametoindex
from typing import Any

from olafctl.membership.model import Host, default_mac
from olafctl.testbed.model import Testbed
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.namespace import run_within
from olafswitch.ports.transport import Transport

_INTERFACES = (Transport.VETH, Transport.TAP)


@dataclass(frozen=True)
class HostStack:
    """One host's own interface, on top of a front port's host side; several hosts may share a port."""

    name: str
    parent: str
    """The front port's interface, in the deployment's namespace."""
    mac: str
    ip: str

    def is_host(self, other: "HostStack") -> bool:
        """Return whether both are the same host, at whatever port."""
        return (self.name, self.mac, self.ip) == (other.name, other.mac, other.ip)


@dataclass(frozen=True)
class HostRoute:
    """A prefix that is not a host's; without a gateway its addresses are requested by ARP."""

    prefix: str
    gateway: str | None


@dataclass(frozen=True)
class Surroundings:
    """What every host of a deployment knows of the other hosts."""

    on_link: tuple[str, ...]
    """The prefixes that cover the hosts' addresses and no other."""
    neighbours: tuple[tuple[str, str], ...]
    """The address and MAC address of each host."""
    routes: tuple[HostRoute, ...]


@dataclass(frozen=True)
class HostNetwork:
    """The hosts of a deployment."""

    stacks: tuple[HostStack, ...]
    surroundings: Surroundings

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "HostNetwork":
        """Return the network of ``asdict``'s record. Raises KeyError, TypeError or ValueError."""
        around = record["surroundings"]
        return cls(
            tuple(HostStack(**stack) for stack in record["stacks"]),
            Surroundings(
                tuple(around["on_link"]),
                tuple((address, mac) for address, mac in around["neighbours"]),
                tuple(HostRoute(**route) for route in around["routes"]),
            ),
        )


def all_hosts(testbed: Testbed) -> tuple[Host, ...]:
    """Return every host of ``testbed``: parameter servers, workers, others."""
    return (*testbed.parameter_servers, *testbed.workers, *testbed.hosts)


def placed_network(testbed: Testbed, attachments: Sequence[Attachment]) -> HostNetwork:
    """Return the hosts of ``testbed`` that are behind interfaces; those behind sockets and files have no
    stack, nor those behind an interface that was moved away, to be plugged into something else."""
    return place_network(plan_network(testbed), attachments)


def plan_network(testbed: Testbed) -> HostNetwork:
    """Return every host of ``testbed``, with its port's number in place of the interface."""
    stacks = (HostStack(host.name, str(host.port), host.mac, str(host.ip)) for host in all_hosts(testbed))
    return HostNetwork(tuple(stacks), _find_surroundings(testbed))


def place_network(found: HostNetwork, attachments: Sequence[Attachment]) -> HostNetwork:
    """Return the network of :func:`plan_network` with interfaces, as :func:`placed_network` does."""
    parents = {str(each.number): each.path for each in attachments if _is_here(each)}
    stacks = (replace(each, parent=parents[each.parent]) for each in found.stacks if each.parent in parents)
    return HostNetwork(tuple(stacks), found.surroundings)


def without_stack(testbed: Testbed, attachments: Sequence[Attachment]) -> Sequence[str]:
    """Return the hosts that :func:`placed_network` leaves out."""
    found = {stack.name for stack in placed_network(testbed, attachments).stacks}
    return [host.name for host in all_hosts(testbed) if host.name not in found]


def _is_here(attachment: Attachment) -> bool:
    if attachment.transport not in _INTERFACES:
        return False
    try:
        run_within(attachment.namespace, lambda: if_nametoindex(attachment.path))
    except OSError:
        return False
    return True


def _find_surroundings(testbed: Testbed) -> Surroundings:
    known = {host.ip: host.mac for host in all_hosts(testbed)}
    if testbed.root.address is not None:
        known[testbed.root.address] = default_mac(testbed.root.address)
    nets = collapse_addresses(IPv4Network(address) for address in known)
    return Surroundings(
        tuple(str(net) for net in nets),
        tuple((str(address), mac) for address, mac in known.items()),
        tuple(HostRoute(str(each.prefix), _find_gateway(testbed, each.port)) for each in testbed.routes),
    )


def _find_gateway(testbed: Testbed, port: int) -> str | None:
    """Return the first host behind ``port``."""
    addresses: list[IPv4Address] = [host.ip for host in all_hosts(testbed) if host.port == port]
    return str(addresses[0]) if addresses else None
