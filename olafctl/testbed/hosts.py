"""Hosts: parameter servers, workers and others, and the addresses that no two of them may share."""

from ipaddress import IPv4Address

from olafctl import quantities
from olafctl.membership.model import Host, default_mac
from olafctl.quantities import Unreadable, whole
from olafctl.testbed.ports import FrontPorts
from olafctl.testbed.source import ProblemReport, Section, SourcePlace

_NOWHERE = IPv4Address("0.0.0.0")
_PORT_REMEDY = "say which front port leads to it, such as port: 1"
_IP_REMEDY = "give its address, such as ip: 10.0.0.1"

udp_port = whole(1, 65535)


class Directory:
    """Every host read so far. Names and IPv4 addresses are unique over all of them; several hosts behind one
    port may have the same MAC address: a NIC of several addresses, or a router."""

    def __init__(self, report: ProblemReport) -> None:
        self._report = report
        self._taken: dict[tuple[str, str], tuple[Host, SourcePlace]] = {}

    def add(self, host: Host, section: Section) -> None:
        """Note a host; report properties that another host already has."""
        self._claim("name", host.name, host, section)
        if host.ip != _NOWHERE:
            alone = self._claim("ip", str(host.ip), host, section)
            if alone or host.mac != default_mac(host.ip):  # a MAC address derived from it says nothing new
                self._claim("mac", host.mac, host, section)

    def has_address(self, address: IPv4Address) -> str | None:
        """Return the name of the host with this address."""
        found = self._taken.get(("ip", str(address)))
        return found[0].name if found else None

    def place_of(self, address: IPv4Address) -> SourcePlace:
        """Return the place in the file where the host with this address, which was added, was given it."""
        return self._taken["ip", str(address)][1]

    def _claim(self, field: str, value: str, host: Host, section: Section) -> bool:
        """Note that ``host`` has ``value``; report and return False when another host has it already. Another
        host behind the same port may have its MAC address."""
        place = section.place(field)
        if (field, value) in self._taken:
            owner, at = self._taken[field, value]
            if field == "mac" and owner.port == host.port:
                return False
            shared = f"{value} is already taken by {owner.name} on line {at.line}"
            if field == "name":
                shared = f"the name {value!r} is already taken on line {at.line}"
            alone = f"every host has its own {field}"
            several = "hosts at several ports have MAC addresses of their own"
            self._report.add(place, shared, several if field == "mac" else alone)
            return False
        self._taken[field, value] = (host, place)
        return True


def front_port(section: Section, ports: FrontPorts) -> int:
    """Return the number of the front port that a section's ``port`` names; 0 (reported) when it is wrong."""
    return section.required("port", ports.number, 0, _PORT_REMEDY)


def read_host(section: Section, ports: FrontPorts, default_name: str, default_udp_port: int) -> Host:
    """Return a host's own fields. The caller takes any others and closes the section."""
    ip = section.required("ip", quantities.ipv4, _NOWHERE, _IP_REMEDY)
    return Host(
        name=section.value("name", quantities.name, default_name),
        port=front_port(section, ports),
        mac=section.value("mac", quantities.mac, default_mac(ip)),
        ip=ip,
        udp_port=section.value("udp_port", udp_port, default_udp_port),
    )


def read_all(
    section: Section,
    field: str,
    singular: str,
    ports: FrontPorts,
    directory: Directory,
    default_udp_port: int,
) -> tuple[Host, ...]:
    """Return the hosts of a list field; an absent one is empty."""
    hosts = []
    for index, entry in enumerate(section.sections(field)):
        host = read_host(entry, ports, f"{singular}{index}" if index else singular, default_udp_port)
        entry.close()
        directory.add(host, entry)
        hosts.append(host)
    return tuple(hosts)


def address_after(first: IPv4Address, offset: int) -> IPv4Address:
    """Return the address ``offset`` after ``first``.

    Raises Unreadable when no host can have it.
    """
    if int(first) + offset >= (1 << 32) - 1:
        raise Unreadable("the addresses run past 255.255.255.254", "begin lower")
    address = first + offset
    if not quantities.is_host(address):
        raise Unreadable(f"the addresses run into {address}, which is not a host address", "begin elsewhere")
    return address
