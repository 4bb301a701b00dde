"""A daemon that owns a twin and reaches it by way of relays, as a process of its own:
``python -m olaflab.daemon.twin_daemon PLACE``. The state folder is PLACE/state, by ``OLAF_STATE``."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from olafctl.control.store import Store, folder_of
from olafctl.daemon.daemon import serve_deployments
from olafctl.daemon.site import Deployment
from olafctl.membership.model import Cluster
from olafctl.targets import testbeds
from olafctl.targets.control import ask_process
from olafctl.targets.interface import Running
from olafctl.targets.queue_process import SocketRegisters
from olafctl.targets.twin.running import RunningTwin
from olafswitch import main_thread

TESTBED = "testbed.yaml"
P4RUNTIME = "p4runtime.relay"
QUEUE = "queue.relay"


class RelayedDeployment(Deployment):
    """One whose devices and queues are reached through relays."""

    place: Path

    def running(self) -> Running | None:
        return self._relay_running(super().running())

    def start(self, clusters: Sequence[Cluster]) -> Running:
        started = self._relay_running(super().start(clusters))
        assert started is not None
        return started

    def _relay_running(self, running: Running | None) -> Running | None:
        if isinstance(running, RunningTwin):
            address, queue = f"unix:{self.place / P4RUNTIME}", partial(ask_process, self.place / QUEUE)
            running.devices = [replace(device, address=address) for device in running.devices]
            running.queues = {name: SocketRegisters(queue, name) for name in running.queues}
        return running


def address_of(place: Path) -> str:
    """Return the address at which the daemon of ``place`` serves."""
    return f"unix:{place}/api/olaf.sock"


def main() -> None:
    """Serve until the end of the process."""
    place = Path(sys.argv[1])
    bed = testbeds.load_testbed(place / TESTBED)
    deployment = RelayedDeployment(Store(folder_of(bed.name)), bed, lambda step: None)
    deployment.place = place
    with serve_deployments([deployment], address_of(place)) as server:
        main_thread.serve(lambda: print(server.address, flush=True), lambda: None)


if __name__ == "__main__":
    main()
