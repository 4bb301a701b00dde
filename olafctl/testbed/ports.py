"""The ``ports`` sections: front ports one by one or by ranges of numbers."""

import posixpath
from functools import partial

from olafctl.quantities import Unreadable, brief, choice, name, quoted, span
from olafctl.testbed import impair, limits
from olafctl.testbed.ends import interface_of, is_interface, pcap_files
from olafctl.testbed.model import Port, TestbedEngine
from olafctl.testbed.source import ProblemReport, Section, SourcePlace, attempt_reading
from olafswitch.ports.transport import Transport

_OWN_PATHS = "give each port a path of its own, with {number} in a range's"
_NUMBER = "{number}"
_IMPAIR_REMEDY = "take impair out, or set transport: veth"
_INTERFACE_REMEDY = f"use up to {limits.INTERFACE_NAME} letters, digits, '.', '-' and '_', but not lo"
_LIST_REMEDY = "list the front ports, such as - {number: 1}"
_LOW, _HIGH = limits.FRONT_PORTS[0], limits.FRONT_PORTS[-1]


class FrontPorts:
    """The declared ports of all engines, found by number or by name."""

    def __init__(self, report: ProblemReport) -> None:
        self._report = report
        self.incomplete = False
        """Whether some entry could not be read, so that it may mean a port that seems missing."""
        self._numbers: dict[int, tuple[Port, SourcePlace]] = {}
        self._names: dict[str, SourcePlace] = {}
        self._files: dict[str, tuple[Port, SourcePlace]] = {}
        self._interfaces: dict[tuple[str, str], tuple[Port, SourcePlace]] = {}
        """Interfaces by machine and name."""
        self._trunks: dict[int, int] = {}
        """The line of the link between engines, by its port."""

    @property
    def all(self) -> tuple[Port, ...]:
        """The front ports, by number; the ports of links between engines are not among them."""
        return tuple(port for port in self._declared if port.number not in self._trunks)

    @property
    def trunks(self) -> tuple[Port, ...]:
        """The ports of links between engines, by number."""
        return tuple(port for port in self._declared if port.number in self._trunks)

    @property
    def _declared(self) -> list[Port]:
        return sorted((port for port, _ in self._numbers.values()), key=lambda port: port.number)

    def of_engine(self, engine: str, text: str) -> Port | None:
        """Return the port of ``engine`` that ``text`` names or numbers."""
        for port in self._declared:
            if port.engine == engine and text in (port.name, str(port.number)):
                return port
        return None

    def make_trunk(self, port: Port, place: SourcePlace, *, leaves: bool) -> None:
        """Take a port for the link between engines at ``place``: no host can be behind it. ``leaves`` tells
        that the other engine is on another machine."""
        if leaves and port.transport is not Transport.NIC:
            what = f"port {port.number} leads to another machine and names no network interface"
            self._report.add(place, what, "give the port transport: nic and path: the interface of its cable")
        elif not leaves and port.transport is not None:
            what = f"port {port.number} has a transport, but no host is at the other end"
            self._report.add(place, what, "take transport and path out")
        if port.impair is not None:
            what = f"port {port.number} is impaired, but only links to hosts can be"
            self._report.add(place, what, "take impair out; the link's own rate, delay and queue hold here")
        self._trunks[port.number] = place.line

    def add(self, port: Port, place: SourcePlace, machine: str) -> None:
        """Declare a port of an engine on ``machine``, whose number is free; report a name or path already
        taken."""
        if port.name in self._names:
            line = self._names[port.name].line
            self._report.add(place, f"the name {port.name!r} is already taken on line {line}", "rename one")
        if port.transport in (Transport.UNIX, Transport.PCAP):
            for path in _port_files(port):
                self._add_file(port, f"{machine}:{path}" if machine else path, place)
        elif port.path is not None or port.name not in self._names:
            self._add_interface(port, machine, place)
        self._numbers[port.number] = (port, place)
        self._names[port.name] = place

    def free(self, numbers: range, place: SourcePlace) -> list[int]:
        """Return the ``numbers`` that no port has yet; report the others, in one line."""
        taken = [number for number in numbers if number in self._numbers]
        if taken:
            line = self._numbers[taken[0]][1].line
            more = f" and {len(taken) - 1} more of its range are" if len(taken) > 1 else " is"
            self._report.add(place, f"port {taken[0]}{more} already declared on line {line}", "renumber one")
            self.incomplete = True
        return [number for number in numbers if number not in self._numbers]

    def number(self, text: str) -> int:
        """Return the number of the port that ``text`` names or numbers; 0 when a port that could not be read
        may be meant.

        Raises Unreadable when it does not exist.
        """
        for port, _ in self._numbers.values():
            if text in (port.name, str(port.number)):
                if port.number in self._trunks:
                    what = f"port {quoted(text)} leads to another engine (line {self._trunks[port.number]})"
                    raise Unreadable(what, "name a port that no link between engines has")
                return port.number
        if self.incomplete:
            return 0
        known = ", ".join(f"{port.number} ({port.name})" for port in self.all[:8]) or "none yet"
        more = ", …" if len(self._numbers) > 8 else ""
        raise Unreadable(
            f"port {quoted(text)} does not exist", f"declare it under ports; known: {known}{more}"
        )

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of a name, a number, or a range such as ``2-9``, all declared.

        Raises Unreadable when one is not.
        """
        if text in self._names:
            return [self.number(text)]
        if not text[:1].isdigit():
            return [self.number(text)]
        return [self.number(str(number)) for number in span(text, _LOW, _HIGH)]

    def _add_file(self, port: Port, path: str, place: SourcePlace) -> None:
        normal = posixpath.normpath(path)
        for other, (owner, at) in self._files.items():
            if normal == other:
                what = f"path {brief(path)} is also port {owner.number}'s on line {at.line}"
            elif normal.startswith(f"{other}/") or other.startswith(f"{normal}/"):
                what = (
                    f"path {brief(path)} overlaps port {owner.number}'s path {brief(other)} on line {at.line}"
                )
            else:
                continue
            self._report.add(place, what, _OWN_PATHS)
        self._files[normal] = (port, place)

    def _add_interface(self, port: Port, machine: str, place: SourcePlace) -> None:
        name = interface_of(port)
        if (machine, name) in self._interfaces:
            owner, at = self._interfaces[machine, name]
            what = f"interface {name} is also port {owner.number}'s on line {at.line}"
            self._report.add(place, what, _OWN_PATHS)
        self._interfaces[machine, name] = (port, place)


def read_ports(section: Section, ports: FrontPorts, engine: TestbedEngine) -> None:
    """Read the ``ports`` field of ``engine`` into ``ports``; problems go to the section's report."""
    found = len(section.report.problems)
    before = len(ports.all)
    if not section.has("ports"):
        section.report.add(section.place("ports"), "is missing", _LIST_REMEDY)
    elif section.is_empty("ports"):
        section.report.add(section.place("ports"), "is empty", _LIST_REMEDY)
    for entry in section.sections("ports"):
        _read_entry(entry, ports, engine)
    if len(ports.all) == before:
        if found == len(section.report.problems):
            section.report.add(section.place("ports"), "lists no port", _LIST_REMEDY)
        ports.incomplete = True


def _read_entry(entry: Section, ports: FrontPorts, engine: TestbedEngine) -> None:
    report = entry.report
    field = "numbers" if entry.has("numbers") else "number"
    if entry.has("number") and field == "numbers":
        report.add(entry.place("number"), "stands next to numbers", "give one of them")
    numbers = entry.required(field, _front_ports, range(0), f"give one of {_LOW} … {_HIGH}")
    transport = entry.value("transport", _read_transport, None)
    given = entry.value("name", name, None)
    base = given or ("port" if len(numbers) != 1 else f"port{numbers[0]}")
    if not numbers or (given is None and entry.has("name")):
        ports.incomplete = True
    path = entry.value("path", _read_path, None)
    impairment = impair.read_impairment(entry)
    if impairment is not None and transport not in (None, Transport.VETH):
        report.add(entry.place("impair"), f"is of a veth, and this is a {transport}", _IMPAIR_REMEDY)
    entry.close()
    if transport is Transport.PCAP and not entry.has("path"):
        remedy = f"give the files: path: run{_NUMBER if len(numbers) > 1 else ''}, or path: in.pcap,out.pcap"
        report.add(entry.place("path"), "is missing: a pcap port reads one file and writes another", remedy)
    if transport is Transport.NIC and not entry.has("path"):
        remedy = "name its interface, such as path: eth1"
        report.add(entry.place("path"), "is missing: a network card is not made, but named", remedy)
    if path is not None:
        longest = numbers[-1] if numbers else _HIGH
        fits = partial(_check_path, transport=transport, number=longest, many=len(numbers) > 1)
        path = attempt_reading(report, entry.place("path"), fits, path, None)
    for number in ports.free(numbers, entry.own_place):
        own_name = base if len(numbers) == 1 else f"{base}{number}"
        own_path = None if path is None else path.replace(_NUMBER, str(number))
        port = Port(number, own_name, transport, own_path, engine.name, impairment)
        ports.add(port, entry.own_place, engine.machine)


def _front_ports(text: str) -> range:
    return span(text, _LOW, _HIGH)


def _read_transport(text: str) -> Transport | None:
    return None if text.lower() in ("", "auto") else choice(Transport)(text)


def _read_path(text: str) -> str | None:
    if not text.isprintable():
        raise Unreadable(f"{quoted(text)} has characters that cannot be shown", "use plain ones")
    if not text:
        raise Unreadable("is an empty path", "give a path, or leave it out and the target chooses")
    return text


def _check_path(path: str, transport: Transport | None, number: int, many: bool) -> str | None:
    """Return ``path`` when it suits the transport, for up to port ``number``. Raises Unreadable."""
    if transport is None:
        raise Unreadable("a path needs a transport", f"add transport: {', '.join(Transport)}")
    if many and _NUMBER not in path:
        raise Unreadable("all ports of the range would have it", f"write {_NUMBER} in it")
    shown = path.replace(_NUMBER, str(number))
    if transport in (Transport.VETH, Transport.TAP, Transport.NIC):
        if not is_interface(shown):
            raise Unreadable(f"{quoted(path)} is not an interface name", _INTERFACE_REMEDY)
    elif transport is Transport.UNIX and len(shown.encode()) > limits.SOCKET_PATH:
        raise Unreadable("the socket path is too long", f"Linux allows {limits.SOCKET_PATH} bytes")
    elif transport is Transport.PCAP:
        _check_pcap(shown)
    return path


def _check_pcap(path: str) -> None:
    if path.count(",") > 1 or not all(path.split(",")):
        raise Unreadable(f"{quoted(path)} is not one name or two", "write run, or in.pcap,out.pcap")
    for file in pcap_files(path):
        if max(len(part.encode()) for part in file.split("/")) > limits.FILE_NAME or len(file) > limits.PATH:
            raise Unreadable("the pcap path is too long", f"Linux allows {limits.FILE_NAME} bytes a name")


def _port_files(port: Port) -> tuple[str, ...]:
    """Return the socket or the pcap files of a port."""
    if port.path is None:
        return ()
    return pcap_files(port.path) if port.transport is Transport.PCAP else (port.path,)
