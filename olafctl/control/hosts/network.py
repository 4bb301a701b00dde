"""What each host's network stack is to hold: its interface, its address, its routes and its neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, collapse_addresses
from socket import if_nametoindex

from olafctl.membership.model import Host, default_mac
from olafctl.testbed.model import Testbed
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.namespace import within
from olafswitch.ports.transport import Transport

_INTERFACES = (Transport.VETH, Transport.TAP)


@dataclass(frozen=True)
class Stack:
    """One host's own interface, on top of a front port's host side; several hosts may share a port."""

    name: str
    parent: str
    """The front port's interface, in the deployment's namespace."""
    mac: str
    ip: str

    def is_host(self, other: "Stack") -> bool:
        """Whether both are the same host, at whatever port."""
        return (self.name, self.mac, self.ip) == (other.name, other.mac, other.ip)


@dataclass(frozen=True)
class Route:
    """A prefix that is not a host's; without a gateway its addresses are requested by ARP."""

    prefix: str
    gateway: str | None


@dataclass(frozen=True)
class Surroundings:
    """What every host of a deployment knows of the others."""

    on_link: tuple[str, ...]
    """Prefixes that cover the hosts' addresses and no other."""
    neighbours: tuple[tuple[str, str], ...]
    """Address and MAC of each."""
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class Network:
    """The hosts of a deployment."""

    stacks: tuple[Stack, ...]
    surroundings: Surroundings


def everyone(testbed: Testbed) -> tuple[Host, ...]:
    """Every host of ``testbed``: parameter servers, workers, others."""
    return (*testbed.parameter_servers, *testbed.workers, *testbed.hosts)


def network(testbed: Testbed, attachments: Sequence[Attachment]) -> Network:
    """The hosts of ``testbed`` that are behind interfaces; those behind sockets and files have no stack, nor
    those behind an interface that was moved away, to be plugged into something else."""
    parents = {each.number: each.path for each in attachments if _is_here(each)}
    stacks = (
        Stack(host.name, parents[host.port], host.mac, str(host.ip))
        for host in everyone(testbed)
        if host.port in parents
    )
    return Network(tuple(stacks), _surroundings(testbed))


def without_stack(testbed: Testbed, attachments: Sequence[Attachment]) -> Sequence[str]:
    """The hosts that :func:`network` leaves out."""
    found = {stack.name for stack in network(testbed, attachments).stacks}
    return [host.name for host in everyone(testbed) if host.name not in found]


def _is_here(attachment: Attachment) -> bool:
    if attachment.transport not in _INTERFACES:
        return False
    try:
        within(attachment.namespace, lambda: if_nametoindex(attachment.path))
    except OSError:
        return False
    return True


def _surroundings(testbed: Testbed) -> Surroundings:
    known = {host.ip: host.mac for host in everyone(testbed)}
    if testbed.root.address is not None:
        known[testbed.root.address] = default_mac(testbed.root.address)
    nets = collapse_addresses(IPv4Network(address) for address in known)
    return Surroundings(
        tuple(str(net) for net in nets),
        tuple((str(address), mac) for address, mac in known.items()),
        tuple(Route(str(each.prefix), _gateway(testbed, each.port)) for each in testbed.routes),
    )


def _gateway(testbed: Testbed, port: int) -> str | None:
    """The first host behind ``port``."""
    addresses: list[IPv4Address] = [host.ip for host in everyone(testbed) if host.port == port]
    return str(addresses[0]) if addresses else None
