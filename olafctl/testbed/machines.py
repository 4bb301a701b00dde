"""The ``machines`` section: where engines run, each machine with its agent's address; and a machine's share
of a testbed."""

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address

from olafctl import quantities
from olafctl.quantities import Unreadable
from olafctl.testbed.model import Testbed, TestbedEngine, TestbedMachine
from olafctl.testbed.source import ProblemReport, Section, SourcePlace
from olafctl.testbed.topology import Topology
from olafswitch.errors import BadInput, Problem
from olafswitch.p4runtime import address as addresses

_NAME = re.compile(r"(?=.{1,253}$)(?!.*\.?[0-9.]+$)[A-Za-z0-9]([A-Za-z0-9-]{0,62}(\.[A-Za-z0-9])?)*")
"""A DNS name; a name whose last part is a number would be an address."""
_ADDRESS = "give where its agent listens, such as address: 192.0.2.7:9700"


class Machines:
    """The declared machines. Without any, every engine runs where olafctl does."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[TestbedMachine, SourcePlace]] = {}

    @property
    def all(self) -> tuple[TestbedMachine, ...]:
        """The machines in the order of the file."""
        return tuple(machine for machine, _ in self._found.values())

    def read(self, top: Section) -> None:
        """Read the ``machines`` field; problems go to its report."""
        at: dict[str, str] = {}
        for position, entry in enumerate(top.sections("machines")):
            name = entry.required("name", quantities.name, f"machine{position}", "such as name: rack1")
            address = entry.required("address", _read_address, "", _ADDRESS)
            entry.close()
            if name in self._found:
                what = f"the name {name!r} is already taken on line {self._found[name][1].line}"
                entry.report.add(entry.place("name"), what, "rename one")
            elif address and address in at:
                what = f"{address} is already the address of {at[address]}"
                entry.report.add(entry.place("address"), what, "each machine has one agent")
            at.setdefault(address, name)
            self._found.setdefault(name, (TestbedMachine(name, address), entry.own_place))

    def check_used(self, engines: Iterable[TestbedEngine], report: ProblemReport) -> None:
        """Report each machine on which no engine runs."""
        used = {engine.machine for engine in engines}
        for name, (_, place) in self._found.items():
            if name not in used:
                report.add(place, f"no engine runs on {name}", "give one `machine`, or take the machine out")

    def of_engine(self, section: Section) -> str:
        """Return the ``machine`` of an engine's section; empty where there are no machines."""
        if not self._found and not section.has("machine"):
            return ""
        names = ", ".join(self._found)
        return section.required("machine", self._known, "", f"every engine runs on a machine: one of {names}")

    def _known(self, text: str) -> str:
        if text in self._found:
            return text
        known = ", ".join(self._found)
        remedy = f"one of {known}" if known else "declare it: machines: [{name: …, address: HOST:PORT}]"
        raise Unreadable(f"machine {quantities.quoted(text)} does not exist", remedy)


def _read_address(text: str) -> str:
    if addresses.socket_of(text) is not None:
        raise Unreadable("is a UNIX socket, which no other machine reaches", _ADDRESS)
    host, _, port = text.rpartition(":")
    valid = (
        port.isascii()
        and port.isdigit()
        and 1 <= int(port) <= 65535
        and (_NAME.fullmatch(host) is not None or _is_ip(host))
    )
    if not valid:
        raise Unreadable(f"{quantities.quoted(text)} is not HOST:PORT", _ADDRESS)
    return text


def _is_ip(host: str) -> bool:
    """Return whether ``host`` is an IPv4 address, or an IPv6 address in brackets."""
    with suppress(ValueError):
        version = ip_address(host.removeprefix("[").removesuffix("]")).version
        return version == (6 if host.startswith("[") and host.endswith("]") else 4)
    return False


def share_of(testbed: Testbed, machine: str) -> Testbed:
    """Return the part of ``testbed`` on ``machine``: its engines with their ports and the links between them.

    A link to an engine elsewhere is a cable at a network interface here: its port is a front port. Clusters
    and hosts are left out.
    """
    engines = tuple(engine for engine in testbed.engines if engine.machine == machine)
    names = {engine.name for engine in engines}
    front = [port for port in testbed.ports if port.engine in names]
    trunks = [port for port in testbed.trunks if port.engine in names]
    inside = {port.number for port in (*front, *trunks)}
    links = tuple(
        link for link in testbed.links if link.port in inside and (link.peer is None or link.peer in inside)
    )
    joined = {number for link in links for number in (link.port, link.peer) if link.peer is not None}
    cables = [port for port in trunks if port.number not in joined]
    return replace(
        testbed,
        engines=engines,
        ports=tuple(sorted((*front, *cables), key=lambda port: port.number)),
        trunks=tuple(port for port in trunks if port.number in joined),
        links=links,
        parameter_servers=(),
        clusters=(),
        hosts=(),
        routes=(),
        machines=(),
    )


def without_machines(testbed: Testbed, machines: Collection[str]) -> Testbed:
    """Return the part of ``testbed`` that works without some machines: their engines, the engines behind
    these, and the hosts of both are left out. Raises BadInput when nothing is left."""
    if not machines:
        return testbed
    topology, machine_of = Topology(testbed), {engine.name: engine.machine for engine in testbed.engines}
    engines = tuple(
        engine
        for engine in testbed.engines
        if not any(machine_of[name] in machines for name in topology.path_up(engine.name))
    )
    if not engines:
        what = f"nothing works without {machine_of[testbed.root.name]}, where the root is"
        raise BadInput(Problem(what, testbed.name, "wait for it: --wait SECONDS"))
    names = {engine.name for engine in engines}
    inside = {number for number, name in topology.engine_at.items() if name in names}
    return replace(
        testbed,
        engines=engines,
        ports=tuple(port for port in testbed.ports if port.number in inside),
        trunks=tuple(port for port in testbed.trunks if port.number in inside),
        links=tuple(link for link in testbed.links if link.port in inside),
        parameter_servers=tuple(host for host in testbed.parameter_servers if host.port in inside),
        clusters=tuple(
            replace(each, workers=tuple(member for member in each.workers if member.port in inside))
            for each in testbed.clusters
        ),
        hosts=tuple(host for host in testbed.hosts if host.port in inside),
        routes=tuple(route for route in testbed.routes if route.port in inside),
    )
