"""Hosts' namespaces, made by ``ip``: a MACVLAN on the front port's interface is the host's ``eth0``.

In VEPA mode every frame passes the front port, also a frame to a host behind the same port: no update may go
around the engine.
"""

import fcntl
import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from olafctl.control.hosts.network import HostStack, Surroundings
from olafctl.network import interfaces, ip
from olafctl.targets import processes
from olafswitch.ports.namespace import namespace_exists, run_within

INTERFACE = "eth0"
MTU = 9000
_SIOCGIFFLAGS = 0x8913
_IFF_UP = 1
_REQUEST = struct.Struct("16sH22x")


def make_namespaces(state: Path, stacks: Sequence[HostStack]) -> None:
    """Make a namespace for each of ``stacks``, without its interface. Raises OlafError."""
    interfaces.add_namespaces(state, [interfaces.host_namespace_of(state, stack.name) for stack in stacks])


def plug_interfaces(state: Path, stacks: Sequence[HostStack], surroundings: Surroundings) -> None:
    """Give each of ``stacks`` its interface, complete. Raises OlafError; interfaces made until then stay."""
    names = {stack.name: interfaces.host_namespace_of(state, stack.name) for stack in stacks}
    ip.run_batch(
        ["-n", interfaces.namespace_of(state)],
        [
            f"link add link {stack.parent} name {INTERFACE} address {stack.mac} "
            f"netns {names[stack.name]} type macvlan mode vepa"
            for stack in stacks
        ],
        state,
    )
    for stack in stacks:
        lines = [
            f"link set dev {INTERFACE} addrgenmode none mtu {MTU} up",
            f"addr add {stack.ip}/32 dev {INTERFACE}",
            *_route_lines(stack, surroundings),
        ]
        ip.run_batch(["-n", names[stack.name]], lines, state)


def unplug_interfaces(state: Path, stacks: Sequence[HostStack]) -> None:
    """Remove the existing interfaces of ``stacks``; the programs in the namespaces stay."""
    for stack in stacks:
        name = interfaces.host_namespace_of(state, stack.name)
        ip.try_to(["-n", name, "link", "delete", "dev", INTERFACE])


def adapt_routes(state: Path, stacks: Sequence[HostStack], surroundings: Surroundings) -> None:
    """Give existing hosts other routes and neighbours. Raises OlafError."""
    for stack in stacks:
        lines = [f"route flush dev {INTERFACE}", f"neigh flush dev {INTERFACE} nud all"]
        ip.run_batch(
            ["-n", interfaces.host_namespace_of(state, stack.name)],
            [*lines, *_route_lines(stack, surroundings)],
            state,
        )


def remove_namespace(state: Path, host: str) -> None:
    """Remove a host's namespace, if it exists, and end the programs in it. Raises OlafError."""
    name = interfaces.host_namespace_of(state, host)
    if namespace_exists(name):
        processes.end_in(name)
        # Freed with the namespace, the interface would hold its address too long for a host made again.
        ip.try_to(["-n", name, "link", "delete", "dev", INTERFACE])
        ip.run_ip(["netns", "delete", name], state)


def is_whole(state: Path, host: str) -> bool:
    """Return whether a host's namespace exists and its interface is up."""
    try:
        return run_within(interfaces.host_namespace_of(state, host), _is_up)
    except OSError:
        return False


def set_up(state: Path, host: str, up: bool) -> None:
    """Switch a host's interface on or off; while off it forgets its routes. Raises OlafError."""
    name = interfaces.host_namespace_of(state, host)
    ip.run_ip(["-n", name, "link", "set", "dev", INTERFACE, "up" if up else "down"], state)


def _is_up() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        answer = fcntl.ioctl(control, _SIOCGIFFLAGS, _REQUEST.pack(INTERFACE.encode(), 0))
    return bool(_REQUEST.unpack(answer)[1] & _IFF_UP)


def _route_lines(stack: HostStack, surroundings: Surroundings) -> Iterator[str]:
    for net in surroundings.on_link:
        yield f"route replace {net} dev {INTERFACE} scope link"
    for route in surroundings.routes:
        if route.gateway is None or route.gateway == stack.ip:
            yield f"route replace {route.prefix} dev {INTERFACE} scope link"
        else:
            yield f"route replace {route.prefix} via {route.gateway} dev {INTERFACE} onlink"
    for address, mac in surroundings.neighbours:
        if address != stack.ip:
            yield f"neigh replace {address} lladdr {mac} dev {INTERFACE} nud permanent"
