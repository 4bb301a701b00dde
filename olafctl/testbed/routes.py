"""The ``routes`` section: IPv4 prefixes behind front ports."""

from ipaddress import IPv4Network

from olafctl import quantities
from olafctl.testbed import hosts
from olafctl.testbed.hosts import Directory
from olafctl.testbed.model import Route
from olafctl.testbed.ports import FrontPorts
from olafctl.testbed.source import Section

_NONE = IPv4Network("0.0.0.0/32")


def read_routes(section: Section, ports: FrontPorts, directory: Directory) -> tuple[Route, ...]:
    """Return the routes. The longest prefix wins: nested prefixes are fine, the same one twice is not."""
    routes: list[Route] = []
    lines: dict[IPv4Network, int] = {}
    for entry in section.sections("routes"):
        prefix = entry.required("prefix", quantities.network, _NONE, "such as prefix: 10.0.0.0/8")
        route = Route(prefix, hosts.front_port(entry, ports))
        entry.close()
        owner = directory.has_address(prefix.network_address) if prefix.prefixlen == 32 else None
        if prefix in lines:
            entry.report.add(
                entry.place("prefix"), f"{prefix} is already routed on line {lines[prefix]}", "keep one"
            )
        elif owner is not None:
            entry.report.add(
                entry.place("prefix"), f"{prefix} overlaps {owner}, which has its own port", "take it out"
            )
        lines[prefix] = entry.own_place.line
        routes.append(route)
    return tuple(routes)
