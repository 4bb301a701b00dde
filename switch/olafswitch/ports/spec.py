"""Ports as an operator writes them on a command line: ``NUMBER=KIND:WHERE``."""

from collections.abc import Sequence
from dataclasses import dataclass

from olafswitch.errors import BadInput, Problem
from olafswitch.ports.transport import Transport

_LAST_PORT = 510  # 511 means "drop" in v1model
_REMEDY = "write NUMBER=veth:INTERFACE, NUMBER=tap:INTERFACE, NUMBER=unix:PATH or NUMBER=pcap:IN,OUT"


@dataclass(frozen=True)
class PortSpec:
    """A port's number, kind and place."""

    number: int
    transport: Transport
    where: str


def parse_ports(texts: Sequence[str], cpu_port: int) -> Sequence[PortSpec]:
    """Return the ports that ``texts`` describe.

    Raises BadInput with every problem: form, kind, numbers outside 0 … 510, given twice, or the CPU's.
    """
    problems: list[Problem] = []
    specs: list[PortSpec] = []
    for text in texts:
        try:
            specs.append(_parse_port(text, cpu_port, {spec.number for spec in specs}))
        except ValueError as error:
            problems.append(Problem(str(error), f"--port {text}", _REMEDY))
    if problems:
        raise BadInput(*problems)
    return specs


def _parse_port(text: str, cpu_port: int, taken: set[int]) -> PortSpec:
    number_text, equals, rest = text.partition("=")
    kind, colon, where = rest.partition(":")
    if not equals or not colon or not where:
        raise ValueError("is not understood")
    if not number_text.isascii() or not number_text.isdigit() or not 0 <= int(number_text) <= _LAST_PORT:
        raise ValueError(f"{number_text!r} is not a port number in 0 … {_LAST_PORT}")
    number = int(number_text)
    if number == cpu_port:
        raise ValueError("is the CPU port")
    if number in taken:
        raise ValueError(f"port {number} is already given")
    if kind not in list(Transport):
        raise ValueError(f"kind {kind!r} does not exist")
    if kind == Transport.PCAP and not (where.count(",") == 1 and where != ","):
        raise ValueError("needs two files, IN,OUT; either may be empty")
    return PortSpec(number, Transport(kind), where)
