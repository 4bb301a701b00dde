"""A daemon that owns a twin and reaches it by way of relays, as a process of its own:
``python -m olaflab.daemon.twin_daemon PLACE``. The state folder is PLACE/state, by ``OLAF_STATE``."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from olafctl.control.store import Store, folder_of
from olafctl.daemon.daemon import serving
from olafctl.daemon.site import Deployment
from olafctl.membership.model import Cluster, Row
from olafctl.targets import queue_process, testbeds
from olafctl.targets.control import ask
from olafctl.targets.interface import Device, Registers, Running
from olafctl.testbed.model import Testbed
from olafswitch import main_thread
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.capture import Listener
from olafswitch.ports.host import HostPort

TESTBED = "testbed.yaml"
P4RUNTIME = "p4runtime.relay"
QUEUE = "queue.relay"


class Relayed:
    """A deployment (:class:`olafctl.targets.interface.Running`) at the far end of relays in ``place``."""

    def __init__(self, running: Running, testbed: Testbed, place: Path) -> None:
        address = f"unix:{place / P4RUNTIME}"
        self._running = running
        self.devices: Sequence[Device] = [replace(device, address=address) for device in running.devices]
        self.attachments: Sequence[Attachment] = running.attachments
        self.queues: Mapping[str, Registers] = {
            engine.name: queue_process.SocketRegisters(partial(ask, place / QUEUE), engine.name)
            for engine in testbed.engines
        }

    def alive(self) -> bool:
        return self._running.alive()

    def host_port(self, number: int) -> HostPort:
        return self._running.host_port(number)

    def listen(self, number: int) -> Listener:
        return self._running.listen(number)

    def logs(self) -> Sequence[Path]:
        return self._running.logs()

    def stats(self) -> dict[str, Any]:
        return self._running.stats()

    def replay(self, frames: Any) -> Any:
        raise OlafError(Problem("a relayed twin has no virtual time"))

    def virtual_time(self) -> Any:
        raise OlafError(Problem("a relayed twin has no virtual time"))


class RelayedSite:
    """A site (:class:`olafctl.daemon.site.Site`) whose devices and queue are reached through relays."""

    def __init__(self, deployment: Deployment, place: Path) -> None:
        self._deployment = deployment
        self._place = place

    @property
    def testbed(self) -> Testbed:
        return self._deployment.testbed

    @property
    def folder(self) -> Path:
        return self._deployment.folder

    def running(self) -> Running | None:
        running = self._deployment.running()
        return None if running is None else Relayed(running, self.testbed, self._place)

    def start(self, clusters: Sequence[Cluster]) -> Running:
        return Relayed(self._deployment.start(clusters), self.testbed, self._place)

    def first(self) -> Mapping[str, Row]:
        return self._deployment.first()

    def kept(self, place: str) -> None:
        self._deployment.kept(place)

    def close(self) -> None:
        self._deployment.close()


def address(place: Path) -> str:
    """Where the daemon of ``place`` serves."""
    return f"unix:{place}/api/olaf.sock"


def main() -> None:
    """Serve until the end of the process."""
    place = Path(sys.argv[1])
    bed = testbeds.load(place / TESTBED)
    deployment = Deployment(Store(folder_of(bed.name)), bed, lambda step: None)
    with serving([RelayedSite(deployment, place)], address(place)) as server:
        main_thread.serve(lambda: print(server.address, flush=True), lambda: None)


if __name__ == "__main__":
    main()
