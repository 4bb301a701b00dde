"""A card that runs a build: opened, checked against that build, and divided into its data planes."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from google.protobuf import text_format

from olafctl.targets.opennic.bar import ALL_ONES, Bar, SocketBar
from olafctl.targets.opennic.box_registers import BoxRegisters
from olafctl.targets.opennic.health import OPENNIC, Health
from olafctl.targets.opennic.host import HostFunction
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.plane import CardPlane, Parts
from olafctl.targets.opennic.plugin import CLIENT_P4INFO, IP_P4INFO, MANIFEST, TABLES
from olafctl.targets.opennic.registers import IDENTITY, MAP_VERSION, WINDOWS
from olafctl.targets.opennic.replication import BoxReplication
from olafctl.targets.opennic.shell import Shell
from olafswitch.errors import OlafError, Problem
from olafswitch.p4.hardware.driver import Driver
from olafswitch.p4runtime.dataplane import P4Info
from olafswitch.p4runtime.protocol import p4info_pb2

BAR_SOCKET = "bar.sock"
HOST_SOCKET = "host.sock"
_SYSFS = Path("/sys/bus/pci/devices")
_BASES = {window.name: window.base for window in WINDOWS}


def open_bar(card: str, shell: Shell = OPENNIC) -> Bar:
    """Open the registers of ``card``, a function as ``0000:3b:00.0``, or a simulated card's folder.

    Raises OlafError when it cannot be opened.
    """
    folder = Path(card)
    return SocketBar(folder / BAR_SOCKET) if folder.is_dir() else shell.open_bar(_SYSFS / card)


def open_host(card: str, interface: str | None) -> HostFunction | None:
    """Return the host function of ``card``: its network ``interface``, or the simulated card's.

    Return None without an interface. Raises OlafError when it cannot be opened.
    """
    folder = Path(card)
    if folder.is_dir():
        return HostFunction.simulated(folder / HOST_SOCKET)
    return HostFunction.interface(interface) if interface else None


class Card:
    """A card with the bitstream of one build, and its drivers."""

    def __init__(
        self,
        bar: Bar,
        host: HostFunction | None,
        build: Path,
        ports: Sequence[int],
        shell: Shell = OPENNIC,
    ) -> None:
        """Open the card; ``build`` is the build's folder, ``ports`` are the front port numbers in the box's
        order.

        Raises OlafError when the card does not answer, or runs another build.
        """
        with ExitStack() as stack:
            stack.callback(bar.close)
            if host is not None:
                stack.callback(host.close)
            self.build_id = _check_build(bar, build, shell.box)
            self.registers = BoxRegisters(*_open_window(bar, "box", shell.box))
            self.box_sequences = threading.RLock()
            """Held for accesses to the box's own registers that belong together."""
            self.read_queue, self.write_queue = _open_window(bar, "queue", shell.box)
            self._number(ports)
            self.health = Health(shell, bar, self.registers.read("ports"))
            stack.callback(self.health.close)
            replication = BoxReplication(self.registers, self.box_sequences)
            self.planes: Mapping[int, CardPlane] = {}
            for ip in IPS:
                parts = Parts(
                    name=ip.name,
                    build_id=self.build_id,
                    driver=_open_driver(build, ip.name, bar, shell.box),
                    client=read_p4info(build / CLIENT_P4INFO.format(ip.name)),
                    ip=read_p4info(build / IP_P4INFO.format(ip.name)),
                    answers=self.health.answers,
                    host=host,
                    replication=replication if ip.number == 2 else None,
                    punts=ip.number == 1,
                )
                self.planes = {**self.planes, ip.number: CardPlane(parts)}
            self._closing = stack.pop_all()

    def close(self) -> None:
        """Release the card, which goes on with its tables."""
        self._closing.close()

    def _number(self, ports: Sequence[int]) -> None:
        room = self.registers.read("ports")
        if len(ports) > room:
            what = f"the testbed has {len(ports)} front ports, the card {room}"
            raise OlafError(Problem(what, remedy="leave out ports, or build for a card with more"))
        for place in range(room):
            self.registers.write(f"port_number_{place}", ports[place] if place < len(ports) else 0)


def read_p4info(path: Path) -> P4Info:
    """Return a P4Info file of a build. Raises OlafError."""
    try:
        return text_format.Parse(path.read_text(), p4info_pb2.P4Info())
    except (OSError, text_format.ParseError) as error:
        remedy = "build the testbed again: olafctl build TESTBED"
        raise OlafError(Problem(f"is not a P4Info: {error}", str(path), remedy)) from error


def build_id_of(build: Path) -> str:
    """Return the build id in the manifest of a plug-in's folder. Raises OlafError when it does not exist."""
    path = build / MANIFEST
    try:
        return str(json.loads(path.read_text())["build_id"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = "give the folder that `olafctl build` wrote"
        raise OlafError(Problem(f"is not the manifest of a build: {error}", str(path), remedy)) from error


def _check_build(bar: Bar, build: Path, box: int) -> str:
    """Return the build id, when the card has the bitstream of ``build``. Raises OlafError."""
    wanted = build_id_of(build)
    registers = BoxRegisters(*_open_window(bar, "box", box))
    found = registers.read("id")
    if found == ALL_ONES:
        raise OlafError(bar.why_silent())
    if found != IDENTITY:
        remedy = f"program the card with the bitstream of build {wanted}"
        raise OlafError(Problem(f"no Olaf box answers: its id reads {found:#010x}", "the card", remedy))
    if (version := registers.read("version")) != MAP_VERSION:
        what = f"the box has register map {version}, this olafctl knows {MAP_VERSION}"
        raise OlafError(Problem(what, "the card", "use the olafctl that the bitstream was built with"))
    running = f"{registers.read('build_id'):08x}"
    if running != wanted:
        what = f"the card runs build {running}, the folder {build} is of build {wanted}"
        remedy = f"program the card with the bitstream of build {wanted}, or use build {running}"
        raise OlafError(Problem(what, "the card", remedy))
    return wanted


def _open_driver(build: Path, name: str, bar: Bar, box: int) -> Driver:
    """Return the driver of the block ``name``. Raises OlafError, also for an IP of VitisNetP4."""
    path = build / TABLES.format(name)
    if not path.is_file():
        what = "does not exist: the tables of VitisNetP4's IPs need AMD's own driver"
        raise OlafError(Problem(what, str(path), "use a build with blocks: rtl"))
    return Driver(json.loads(path.read_text()), *_open_window(bar, name, box))


def _open_window(bar: Bar, name: str, box: int) -> tuple[Callable[[int], int], Callable[[int, int], None]]:
    base = box + _BASES[name]
    return (lambda offset: bar.read(base + offset)), (lambda offset, value: bar.write(base + offset, value))
