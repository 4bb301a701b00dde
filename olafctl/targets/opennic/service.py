"""The work of a card's agent in a process: P4Runtime for both IPs, and a control socket for olafctl."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olafctl.queue.registers import QueueRegisters
from olafctl.targets.control import ControlServer
from olafctl.targets.corundum.shell import CORUNDUM
from olafctl.targets.interface import TargetDevice
from olafctl.targets.opennic.card import Card, open_bar, open_host
from olafctl.targets.opennic.health import OPENNIC
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.plugin import CLIENT_P4INFO, DEVICE_CONFIG
from olafctl.targets.queue_control import make_handlers
from olafctl.targets.queue_process import ONLY
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.agent import serve_devices

SHELLS = {shell.name: shell for shell in (OPENNIC, CORUNDUM)}


@dataclass(frozen=True)
class Settings:
    """The card that an agent serves, and the places of its parts."""

    card: str
    """A PCI Express function, as ``0000:3b:00.0``, or the folder of a simulated card."""
    build: Path
    """The folder of the plug-in that the card's bitstream was built from."""
    ports: Sequence[int]
    """The front port numbers, in the box's order."""
    interface: str | None = None
    """The network interface of the card's function 0; without it there are no packet-ins and packet-outs."""
    shell: str = OPENNIC.name


@dataclass(frozen=True)
class CardPortStats:
    """Frames through a CMAC, as the box counts them since its last reset."""

    rx_frames: int
    rx_dropped: int
    tx_frames: int
    tx_dropped: int


@dataclass(frozen=True)
class CardLosses:
    """Lost frames: to a port or group that does not exist, punted faster than the host takes them, and host
    traffic that is not a packet-out."""

    misrouted: int
    packet_ins: int
    host: int


class CardService:
    """A running agent."""

    def __init__(
        self, settings: Settings, address: str, control: Path | None, tls: Tls | None = None, token: str = ""
    ) -> None:
        """Serve P4Runtime at ``address`` and, when given, the control socket ``control``.

        Raises OlafError when the card or an address cannot be used.
        """
        self.register_sequences: AbstractContextManager[Any] = threading.Lock()
        self._ports = settings.ports
        with ExitStack() as stack:
            shell = SHELLS[settings.shell]
            bar = open_bar(settings.card, shell)
            self.card = Card(
                bar,
                open_host(settings.card, settings.interface),
                settings.build,
                settings.ports,
                shell,
            )
            stack.callback(self.card.close)
            agent = serve_devices(self.card.planes, address, tls, token)
            stack.callback(agent.stop)
            self.address: str = agent.address
            self.devices = list_devices(settings.build, agent.address)
            if control is not None:
                queues = {ONLY: QueueRegisters(self.card.read_queue, self.card.write_queue)}
                common = make_handlers(self, queues, settings.ports, self.devices, self._carriers)
                answers = {**common, "card": self._card}
                stack.callback(ControlServer(control, answers, {}).close)
            self._closing = stack.pop_all()

    def close(self) -> None:
        """Stop serving; the card goes on with its tables."""
        self._closing.close()

    def port_stats(self, number: int) -> CardPortStats:
        """Return the counts of front port ``number``."""
        place = list(self._ports).index(number)
        with self.card.box_sequences:
            counted = self.card.registers.counters()
        dropped = sum(counted[f"{cause}_port_{place}"] for cause in ("oversize", "malformed", "cut", "full"))
        return CardPortStats(
            counted[f"in_port_{place}"],
            dropped,
            counted[f"out_port_{place}"],
            counted[f"stalled_port_{place}"],
        )

    def losses(self) -> CardLosses:
        """Return the numbers of lost frames."""
        with self.card.box_sequences:
            counted = self.card.registers.counters()
        misrouted = counted["dropped_port"] + counted["dropped_group"]
        host = counted["dropped_host"] + counted["dropped_function"]
        return CardLosses(misrouted, counted["dropped_punt"], host)

    def _carriers(self) -> dict[str, bool]:
        links = zip(self._ports, self.card.health.links, strict=False)
        return {str(number): link.up for number, link in links}

    def _card(self, _: dict[str, Any]) -> dict[str, Any]:
        health = self.card.health
        return {
            "build_id": self.card.build_id,
            "answers": health.answering,
            "problems": [vars(problem) for problem in health.problems],
            "links": [vars(link) for link in health.links],
        }


def list_devices(build: Path, address: str) -> Sequence[TargetDevice]:
    """Return the P4Runtime devices of the card that runs ``build``."""
    return [
        TargetDevice(
            ip.name,
            ip.number,
            address,
            build / CLIENT_P4INFO.format(ip.name),
            build / DEVICE_CONFIG.format(ip.name),
        )
        for ip in IPS
    ]
