"""The places of a deployment's front ports: transports chosen, interfaces and paths named."""

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from olafctl.network import claims, interfaces, netem, nic
from olafctl.network.netem import Impairment
from olafctl.targets.interface import Progress
from olafctl.testbed.ends import interface_of, pcap_files
from olafctl.testbed.model import Port, Testbed
from olafctl.wire.layouts import BEAT_BYTES
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.namespace import namespace_exists
from olafswitch.ports.pcap import why_not_written
from olafswitch.ports.transport import Transport

_SYS = Path("/sys/class/net")
_INTERFACES = (Transport.VETH, Transport.TAP)
_NO_IMPAIRMENT = "take impair out of the port, or deploy where there is netem"
_NO_INTERFACES = "run as root, or set the port's transport to unix or pcap"


@dataclass(frozen=True)
class FrontPort:
    """A front port: ``inner`` is the pipeline's side (interface name, socket path or ``IN,OUT``),
    ``outer`` the host's."""

    number: int
    transport: Transport
    inner: str
    outer: Attachment
    folders: Sequence[str] = ()
    """The folders that the port's own path needs and that did not exist before, outermost first."""
    impair: Impairment | None = None
    queues: int = 1
    """The queues of a veth: one for each of the engine's threads."""

    @property
    def files(self) -> Sequence[str]:
        """The port's socket, or its pcap files for input and output; an interface has none."""
        if self.transport is Transport.UNIX:
            return (self.inner,)
        return self.inner.split(",") if self.transport is Transport.PCAP else ()

    @property
    def claims(self) -> Sequence[str]:
        """The names of the resources that no other deployment of the machine may use at the same time."""
        match self.transport:
            case Transport.NIC:
                return (f"network card {self.inner}",)
            case Transport.UNIX:
                return (f"socket {os.path.realpath(self.inner)}",)
            case Transport.PCAP:
                return (f"capture file {os.path.realpath(self.files[-1])}",)
            case _:
                return (f"interface {self.inner}",)

    @property
    def has_carrier(self) -> bool | None:
        """Whether the other end of the port's cable is up; None where a port has no cable."""
        if self.transport not in (Transport.NIC, Transport.VETH):
            return None
        try:
            return (_SYS / self.inner / "carrier").read_text().strip() == "1"
        except OSError:  # the interface is down, or gone
            return False


def find_problems(testbed: Testbed, state: Path) -> Sequence[Problem]:
    """Return why the front ports of ``testbed`` cannot be made in ``state``, as far as it is known without
    making them."""
    found = []
    for port in testbed.ports:
        where = f"{testbed.source}: port {port.number}"
        if port.impair is not None and (reason := interfaces.why_not() or netem.why_not()):
            found.append(Problem(f"cannot be impaired: {reason}", where, _NO_IMPAIRMENT))
        if port.transport in _INTERFACES:
            tap = port.transport is Transport.TAP
            if reason := interfaces.why_no_tap() if tap else interfaces.why_not():
                found.append(Problem(reason, where, _NO_INTERFACES))
        elif port.transport is Transport.NIC:
            if reason := nic.why_not(interface_of(port)):
                found.append(Problem(reason, where, "give the port's path the name of a free network card"))
        else:
            found.extend(
                _path_problems(_place_port(port, choose_transport(port), testbed, state.resolve()), where)
            )
    return [*found, *find_claimed(place_ports(testbed, state), testbed, state)]


def find_claimed(ports: Iterable[FrontPort], testbed: Testbed, state: Path) -> Iterator[Problem]:
    """Yield a problem for each of ``ports`` that another deployment of this machine has."""
    of = {name: port for port in ports for name in port.claims}
    for name, problem in claims.find_conflicts(of, state):
        where = f"{testbed.source}: port {of[name].number}"
        yield Problem(f"{name} {problem.what}", where, problem.remedy)


def note_cards(testbed: Testbed) -> Iterator[str]:
    """Yield the settings that the network cards of ``testbed`` lack."""
    longest = max(engine.beats for engine in testbed.engines) * BEAT_BYTES
    for port in testbed.ports:
        if port.transport is Transport.NIC:
            yield from nic.note_settings(interface_of(port), longest, testbed.shards)


def plan_ports(testbed: Testbed, state: Path, progress: Progress) -> Sequence[FrontPort]:
    """Return the front ports of ``testbed`` deployed in ``state``; ``progress`` gets each fallback.

    Raises OlafError with :func:`find_problems`.
    """
    if found := find_problems(testbed, state):
        raise OlafError(*found)
    reason = interfaces.why_not()
    if reason and any(port.transport is None for port in testbed.ports):
        progress(f"ports are UNIX sockets instead of veths: {reason}")
    return place_ports(testbed, state)


def place_ports(testbed: Testbed, state: Path) -> Sequence[FrontPort]:
    """Return the front ports as :func:`plan_ports` does, whatever the problems."""
    # Paths are resolved: a testbed's relative paths are next to it, the state's in the state folder.
    home = state.resolve()
    return [_place_port(port, choose_transport(port), testbed, home) for port in testbed.ports]


def make_ports(state: Path, ports: Sequence[FrontPort]) -> None:
    """Make the veths, namespace and folders that ``ports`` need.

    Raises OlafError.
    """
    pairs = [
        interfaces.VethPair(port.inner, port.outer.path, port.queues)
        for port in ports
        if port.transport is Transport.VETH
    ]
    if pairs or any(port.transport is Transport.TAP for port in ports):
        interfaces.create_pairs(state, pairs)
    for port in ports:
        if port.impair is not None:  # each end has its own queue, for the frames that leave it
            netem.impair_interface(state, port.inner, None, port.impair)
            netem.impair_interface(state, port.outer.path, port.outer.namespace, port.impair)
    for port in ports:
        for name in port.files:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
        if port.transport is Transport.PCAP:
            Path(port.files[0]).touch()


def keep_ports(
    state: Path, before: Sequence[FrontPort], whole: Container[int], after: Sequence[FrontPort]
) -> tuple[Sequence[FrontPort], Sequence[int]]:
    """Remove the ports of ``before`` that are not as in ``after``, and the cables; the rest stays connected.

    ``whole`` are the numbers of the complete ports of ``before``. Returns ``after`` with the folders that
    were made for it, and the numbers of its existing ports. Raises OlafError.
    """
    made = {folder for port in before for folder in port.folders}
    ports = [
        replace(port, folders=sorted({*port.folders, *(made & _parent_folders(port.files))}))
        for port in after
    ]
    kept = find_fitting(before, whole, ports)
    for port in before:
        if port.transport is Transport.UNIX and port.number not in kept and Path(port.inner).is_socket():
            Path(port.inner).unlink(missing_ok=True)
    _remove_folders(made - {folder for port in ports for folder in port.folders})
    veths = {port.inner for port in ports if port.number in kept and port.transport is Transport.VETH}
    interfaces.remove_but(state, veths)
    return ports, kept


def find_fitting(
    before: Sequence[FrontPort], whole: Container[int], after: Sequence[FrontPort]
) -> Sequence[int]:
    """Return the numbers of the ports of ``after`` that exist, see :func:`keep_ports`."""
    known = {
        port.number: port
        for port in before  # a TAP ended with its engine
        if port.number in whole and port.transport is not Transport.TAP and _is_there(port)
    }
    return [
        port.number
        for port in after
        if port.number in known and replace(known[port.number], folders=port.folders) == port
    ]


def remove_ports(state: Path, ports: Sequence[FrontPort]) -> None:
    """Remove the interfaces of :func:`make_ports` and what processes left of them.

    Pcap files outside ``state`` stay, and with them their folders. Raises OlafError when an interface cannot
    be removed.
    """
    for port in ports:
        if port.transport is Transport.UNIX and Path(port.inner).is_socket():
            Path(port.inner).unlink(missing_ok=True)
    _remove_folders({folder for port in ports for folder in port.folders})
    interfaces.remove_interfaces(state)


def find_lost(ports: Sequence[FrontPort]) -> Sequence[FrontPort]:
    """Return the running ``ports`` that were removed: no frame can come in or go out there."""
    return [port for port in ports if not _is_there(port)]


def _parent_folders(files: Iterable[str]) -> set[str]:
    """Return the folders of ``files``, at any depth."""
    return {str(folder) for name in files for folder in Path(name).parents}


def _remove_folders(folders: Iterable[str]) -> None:
    for folder in sorted(folders, reverse=True):
        with suppress(OSError):  # it is not empty: another deployment uses it
            Path(folder).rmdir()


def _is_there(port: FrontPort) -> bool:
    outer = port.outer
    if outer.namespace is not None and not namespace_exists(outer.namespace):
        return False
    match port.transport:
        case Transport.NIC | Transport.VETH:
            # A veth's end at the pipeline goes with the host's; a host may move its own end elsewhere.
            return (_SYS / port.inner).exists()
        case Transport.TAP:
            return True  # in the namespace or moved from there: only the process has its other end
        case Transport.UNIX:
            return Path(port.inner).is_socket()
        case Transport.PCAP:
            return all(Path(name).exists() for name in port.files)


def choose_transport(port: Port) -> Transport:
    """Return a port's transport: its own, or the best that this user may use."""
    if port.transport is not None:
        return port.transport
    return Transport.UNIX if interfaces.why_not() else Transport.VETH


def _place_port(port: Port, transport: Transport, testbed: Testbed, state: Path) -> FrontPort:
    number = port.number
    if transport in _INTERFACES:
        name = interface_of(port)
        inner = interfaces.interface_of(state, f"p{number}")
        return FrontPort(
            number,
            transport,
            inner,
            Attachment(number, transport, name, interfaces.namespace_of(state)),
            impair=port.impair,
            queues=testbed.shards,
        )
    if transport is Transport.NIC:
        card = interface_of(port)
        return FrontPort(number, transport, card, Attachment(number, transport, card))
    # A path in a testbed is relative to the testbed's folder.
    folder = testbed.source.resolve().parent if port.path else state / "ports"
    if transport is Transport.UNIX:
        names: Sequence[str] = (port.path or f"{number}.sock",)
    else:
        names = pcap_files(port.path or str(number))
    files = [str(folder / name) for name in names]
    inner = ",".join(files)
    missing = _missing_folders(files, state) if port.path else ()
    return FrontPort(number, transport, inner, Attachment(number, transport, inner), missing)


def _missing_folders(files: Sequence[str], state: Path) -> Sequence[str]:
    """Return the missing folders that ``files`` need; the state folder is not a port's."""
    wanted = _parent_folders(files) - {str(state), *map(str, state.parents)}
    return sorted(folder for folder in wanted if not os.path.lexists(folder))


def _path_problems(port: FrontPort, where: str) -> Iterator[Problem]:
    """Yield the obstacles to a port's socket or files."""
    if port.transport is Transport.PCAP and len(port.files) > 2:
        mixed = f"a folder of its pcap files has a comma, which separates the two files: {port.inner}"
        yield Problem(mixed, where, "move the testbed, or set OLAF_STATE, to a folder without a comma")
        return
    if port.transport is Transport.PCAP and port.folders:
        # A capture stays, and so would a folder that was made for it by mistake.
        yield Problem(
            f"folder {port.folders[-1]} does not exist", where, "make it, or give the port another path"
        )
        return
    for name in port.files:
        path = Path(name)
        try:
            what = _find_obstacle(path, port.transport)
            if what is None and port.transport is Transport.PCAP and name == port.files[-1]:
                what = why_not_written(path)
        except OSError as error:
            what = f"{name[:60]} cannot be used: {error.strerror}"
        if what:
            yield Problem(what, where, "give the port another path, or move that away")


def _find_obstacle(path: Path, transport: Transport) -> str | None:
    """Return why there can be no such socket or file at ``path``. Raises OSError."""
    if path.is_dir():
        return f"{path} is a folder"
    if transport is Transport.UNIX and os.path.lexists(path) and not path.is_socket():
        return f"{path} exists and is not a socket"
    if transport is Transport.PCAP and path.exists() and not path.is_file():
        return f"{path} exists and is not a file"
    if transport is Transport.PCAP and path.exists():
        return None if os.access(path, os.R_OK | os.W_OK) else f"{path} may not be written"
    folder = next(parent for parent in path.parents if os.path.lexists(parent))
    if not folder.is_dir():
        return f"{folder} is not a folder"
    return None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} may not be written"
