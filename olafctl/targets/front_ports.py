"""Where the front ports of a deployment lie: transports chosen, interfaces and paths named."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from olafctl.errors import OlafError, Problem
from olafctl.ports import interfaces
from olafctl.ports.attachment import Attachment
from olafctl.targets.interface import Progress
from olafctl.testbed.model import Port, Testbed, Transport

_INTERFACES = (Transport.VETH, Transport.TAP)


@dataclass(frozen=True)
class FrontPort:
    """A front port: ``inner`` is the pipeline's side (interface name, socket path or ``IN,OUT``),
    ``outer`` the host's."""

    number: int
    transport: Transport
    inner: str
    outer: Attachment


def plan(testbed: Testbed, state: Path, progress: Progress) -> Sequence[FrontPort]:
    """The front ports of ``testbed`` deployed in ``state``; a fallback is told to ``progress``.

    Raises OlafError when a port asks for what this user is not allowed.
    """
    reason = interfaces.why_not()
    refused = [port for port in testbed.ports if port.transport in _INTERFACES and reason]
    if refused:
        remedy = "run as root, or set the port's transport to unix or pcap"
        raise OlafError(
            *(Problem(str(reason), f"{testbed.source}: port {port.number}", remedy) for port in refused)
        )
    default = Transport.UNIX if reason else Transport.VETH
    if reason and any(port.transport is None for port in testbed.ports):
        progress(f"ports are UNIX sockets instead of veths: {reason}")
    return [_place(port, port.transport or default, testbed, state) for port in testbed.ports]


def make(state: Path, ports: Sequence[FrontPort]) -> None:
    """Make the veths, namespace and folders that ``ports`` need.

    Raises OlafError.
    """
    pairs = [
        interfaces.Pair(port.inner, port.outer.path) for port in ports if port.transport is Transport.VETH
    ]
    if pairs or any(port.transport is Transport.TAP for port in ports):
        interfaces.create(state, pairs)
    for port in ports:
        if port.transport in (Transport.UNIX, Transport.PCAP):
            for name in port.inner.split(","):
                Path(name).parent.mkdir(parents=True, exist_ok=True)
    for port in ports:
        if port.transport is Transport.PCAP:
            Path(port.inner.partition(",")[0]).touch()


def remove(state: Path, ports: Sequence[FrontPort]) -> None:
    """Take away what :func:`make` made and what processes left of it; pcap files outside ``state`` stay.

    Raises OlafError when an interface cannot be removed.
    """
    for port in ports:
        if port.transport is Transport.UNIX and Path(port.inner).is_socket():
            Path(port.inner).unlink(missing_ok=True)
    interfaces.remove(state)


def _place(port: Port, transport: Transport, testbed: Testbed, state: Path) -> FrontPort:
    number = port.number
    if transport in _INTERFACES:
        name = port.path or (port.name if _is_interface_name(port.name) else f"port{number}")
        inner = interfaces.interface_of(state, f"p{number}")
        return FrontPort(
            number, transport, inner, Attachment(number, transport, name, interfaces.namespace_of(state))
        )
    if transport is Transport.UNIX:
        default = state / "ports" / f"{number}.sock"
        inner = str(_beside(testbed, port.path) if port.path else default)
    else:
        inner = _pcap_files(testbed, port.path or str(state / "ports" / str(number)))
    return FrontPort(number, transport, inner, Attachment(number, transport, inner))


def _pcap_files(testbed: Testbed, path: str) -> str:
    into, comma, out = path.partition(",")
    if not comma:
        into, out = f"{path}.in.pcap", f"{path}.out.pcap"
    return f"{_beside(testbed, into)},{_beside(testbed, out)}"


def _beside(testbed: Testbed, path: str) -> Path:
    """A path in a testbed is relative to the testbed's folder."""
    return testbed.source.resolve().parent / path


def _is_interface_name(name: str) -> bool:
    return 0 < len(name) <= 15 and name not in (".", "..", "lo") and not set(name) & set("/: \t")
