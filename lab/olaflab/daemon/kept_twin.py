"""A twin that a daemon keeps, in a folder of its own, with relays between the two that can be cut."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from olafctl.control.deploy import find
from olafctl.control.destroy import destroy
from olafctl.control.store import Store
from olafctl.targets import processes, queue_process, testbeds
from olafctl.targets.interface import Running
from olafctl.targets.twin.process import GRPC_SOCKET
from olaflab.daemon import twin_daemon
from olaflab.daemon.daemon_process import DaemonProcess, running
from olaflab.daemon.relay import Relay
from olafswitch.errors import OlafError


@dataclass(frozen=True)
class KeptTwin:
    """See the module."""

    folder: Path
    """Of the deployment."""
    daemon: DaemonProcess
    relays: tuple[Relay, ...]

    def running(self) -> Running:
        """What runs, not by way of the relays. Raises OlafError."""
        _, found = find(Store(self.folder))
        assert found is not None
        return found


@contextmanager
def kept_twin(testbed: str) -> Iterator[KeptTwin]:
    """Run the testbed of that text meanwhile, and leave nothing behind. Raises OlafError."""
    place = Path(tempfile.mkdtemp(prefix="olaf-c-"))
    (place / twin_daemon.TESTBED).write_text(testbed)
    folder = place / "state" / testbeds.load(place / twin_daemon.TESTBED).name
    with ExitStack() as stack:
        stack.callback(_remove, place, folder)
        relays = (
            Relay.between(place / twin_daemon.P4RUNTIME, folder / GRPC_SOCKET),
            Relay.between(place / twin_daemon.QUEUE, folder / queue_process.SOCKET),
        )
        for relay in relays:
            stack.callback(relay.close)
        environment = {"OLAF_STATE": str(place / "state")}
        module, address = "olaflab.daemon.twin_daemon", twin_daemon.address(place)
        process = DaemonProcess(module, [str(place)], address, environment)
        yield KeptTwin(folder, stack.enter_context(running(process)), relays)


def _remove(place: Path, folder: Path) -> None:
    with suppress(OlafError):
        destroy(Store(folder))
    processes.end_all(folder)
    shutil.rmtree(place)
