"""The ``ports`` section: front ports one by one or by ranges of numbers."""

import posixpath

from olafctl.testbed import limits
from olafctl.testbed.model import Port, Transport
from olafctl.testbed.quantities import Unreadable, choice, name, span
from olafctl.testbed.source import Place, Report, Section, attempt

_OWN_PATHS = "give each port a path of its own, with {number} in a range's"
_LOW, _HIGH = limits.FRONT_PORTS[0], limits.FRONT_PORTS[-1]


class FrontPorts:
    """The declared front ports, found by number or by name."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._numbers: dict[int, tuple[Port, Place]] = {}
        self._names: dict[str, Place] = {}
        self._files: dict[str, tuple[Port, Place]] = {}
        self._interfaces: dict[str, tuple[Port, Place]] = {}

    @property
    def all(self) -> tuple[Port, ...]:
        """Every port, by number."""
        return tuple(port for port, _ in sorted(self._numbers.values(), key=lambda item: item[0].number))

    def add(self, port: Port, place: Place) -> None:
        """Declare a port; a number, name or path already taken is reported."""
        if port.number in self._numbers:
            line = self._numbers[port.number][1].line
            self._report.add(place, f"port {port.number} is already declared on line {line}", "renumber one")
            return
        if port.name in self._names:
            line = self._names[port.name].line
            self._report.add(place, f"the name {port.name!r} is already taken on line {line}", "rename one")
        if port.transport in (Transport.UNIX, Transport.PCAP):
            for path in (port.path or "").split(",") if port.transport is Transport.PCAP else (port.path,):
                if path:
                    self._add_file(port, path, place)
        elif port.path is not None or port.name not in self._names:
            self._add_interface(port, port.path or port.name, place)
        self._numbers[port.number] = (port, place)
        self._names[port.name] = place

    def number(self, text: str) -> int:
        """The number of the port that ``text`` names or numbers.

        Raises Unreadable when there is none.
        """
        for port, _ in self._numbers.values():
            if text in (port.name, str(port.number)):
                return port.number
        known = ", ".join(f"{port.number} ({port.name})" for port in self.all[:8]) or "none yet"
        more = ", …" if len(self._numbers) > 8 else ""
        raise Unreadable(f"there is no port {text!r}", f"declare it under ports; known: {known}{more}")

    def numbers(self, text: str) -> list[int]:
        """The numbers of a name, a number, or a range such as ``2-9``, all declared.

        Raises Unreadable when one is not.
        """
        if any(text == port.name for port in self.all):
            return [self.number(text)]
        if not text[:1].isdigit():
            return [self.number(text)]
        return [self.number(str(number)) for number in span(text, _LOW, _HIGH)]

    def _add_file(self, port: Port, path: str, place: Place) -> None:
        normal = posixpath.normpath(path)
        for other, (owner, at) in self._files.items():
            if normal == other:
                what = f"path {path} is also port {owner.number}'s on line {at.line}"
            elif normal.startswith(f"{other}/") or other.startswith(f"{normal}/"):
                what = f"path {path} overlaps port {owner.number}'s path {other} on line {at.line}"
            else:
                continue
            self._report.add(place, what, _OWN_PATHS)
        self._files[normal] = (port, place)

    def _add_interface(self, port: Port, name: str, place: Place) -> None:
        """The host's side of a veth or TAP: ``path``, else the port's name."""
        if name in self._interfaces:
            owner, at = self._interfaces[name]
            what = f"interface {name} is also port {owner.number}'s on line {at.line}"
            self._report.add(place, what, _OWN_PATHS)
        self._interfaces[name] = (port, place)


def read(section: Section) -> FrontPorts:
    """The ``ports`` field of the whole testbed; problems go to its report."""
    ports = FrontPorts(section.report)
    if not section.has("ports"):
        section.report.add(
            section.place("ports"), "is missing", "list the front ports, such as - {number: 1}"
        )
    for entry in section.sections("ports"):
        _read_entry(entry, ports)
    return ports


def _read_entry(entry: Section, ports: FrontPorts) -> None:
    report = entry.report
    field = "numbers" if entry.has("numbers") else "number"
    if entry.has("number") and field == "numbers":
        report.add(entry.place("number"), "beside numbers", "give one of them")
    numbers = entry.required(field, _front_ports, range(0), f"give one of {_LOW} … {_HIGH}")
    transport = entry.value("transport", _transport, None)
    base = entry.value("name", name, "port" if len(numbers) != 1 else f"port{numbers[0]}")
    path = entry.value("path", _path, None)
    entry.close()
    if path is not None:
        attempt(report, entry.place("path"), lambda text: _fitting(text, transport), path, "")
    for number in numbers:
        own_name = base if len(numbers) == 1 else f"{base}{number}"
        own_path = None if path is None else path.replace("{number}", str(number))
        ports.add(Port(number, own_name, transport, own_path), entry.own_place)


def _front_ports(text: str) -> range:
    return span(text, _LOW, _HIGH)


def _transport(text: str) -> Transport | None:
    return None if text.lower() in ("", "auto") else choice(Transport)(text)


def _path(text: str) -> str:
    if not text or "\0" in text:
        raise Unreadable("is an empty path", "give a path, or leave it out and the target chooses")
    return text


def _fitting(path: str, transport: Transport | None) -> str:
    if transport is None:
        raise Unreadable("a path needs a transport", f"add transport: {', '.join(Transport)}")
    if transport in (Transport.VETH, Transport.TAP):
        shown = path.replace("{number}", "499")
        if len(shown) > limits.INTERFACE_NAME or "/" in shown or any(c.isspace() for c in shown):
            raise Unreadable(
                f"{path!r} is no interface name", f"use up to {limits.INTERFACE_NAME} characters without /"
            )
    elif transport is Transport.UNIX and len(path.encode()) > limits.SOCKET_PATH:
        raise Unreadable("the socket path is too long", f"Linux allows {limits.SOCKET_PATH} bytes")
    return path
