"""A twin that a daemon keeps, in a folder of its own, with relays between the two that can be cut."""

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from olafctl.control.deploy import find_deployment
from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store
from olafctl.membership.interface import MembershipStore
from olafctl.membership.sqlite import SqliteStore
from olafctl.targets import processes, queue_process, testbeds
from olafctl.targets.interface import Running
from olafctl.targets.twin.process import GRPC_SOCKET
from olafctl.testbed.model import Testbed
from olaflab.daemon import twin_daemon
from olafswitch.errors import OlafError
from olaftest.daemon.daemon_process import DaemonProcess, running_daemon, wait_until
from olaftest.daemon.relay import Relay

_FROZEN_SECONDS = 2.0


@dataclass(frozen=True)
class KeptTwin:
    """See the module."""

    folder: Path
    """Folder of the deployment."""
    daemon: DaemonProcess
    relays: tuple[Relay, ...]

    def running(self) -> Running:
        """Return what runs, not by way of the relays. Raises OlafError."""
        _, found = self.found()
        assert found is not None
        return found

    # For chaos, see there.

    @property
    def daemons(self) -> Sequence[DaemonProcess]:
        return (self.daemon,)

    def kill(self, chance: random.Random, end: Callable[[DaemonProcess], None]) -> str:
        victim = chance.choice(["daemon", "twin"])
        if victim == "daemon":
            end(self.daemon)
            # As a service manager does: what the dead one had begun to start may hold its lock for a moment.
            wait_until(self._start_daemon)
        else:
            for process in processes.find_processes(self.folder):
                with suppress(psutil.Error):
                    process.kill()
        return victim

    def _start_daemon(self) -> bool:
        self.daemon.start()
        return True

    def cut(self, chance: random.Random) -> str:
        """Cut the twin off: it refuses at once, or does not answer; what was sent into the silence arrives
        afterwards or is lost."""
        how = chance.choice(["refused", "arrived late", "lost"])
        for relay in self.relays:
            relay.cut_connections() if how == "refused" else relay.freeze_traffic()
        time.sleep(chance.uniform(0, _FROZEN_SECONDS))  # the disturbance: stopped for a random time
        for relay in self.relays:
            if how == "lost":
                relay.cut_connections()
            relay.heal_traffic()
        return how

    def store(self) -> AbstractContextManager[MembershipStore]:
        return closing(SqliteStore(self.folder))

    def found(self) -> tuple[Testbed, Running | None]:
        return find_deployment(Store(self.folder))


@contextmanager
def kept_twin(testbed: str) -> Iterator[KeptTwin]:
    """Run the testbed of that text meanwhile, and leave nothing behind. Raises OlafError."""
    place = Path(tempfile.mkdtemp(prefix="olaf-c-"))
    (place / twin_daemon.TESTBED).write_text(testbed)
    folder = place / "state" / testbeds.load_testbed(place / twin_daemon.TESTBED).name
    with ExitStack() as stack:
        stack.callback(_remove_deployment, place, folder)
        relays = (
            Relay.between(place / twin_daemon.P4RUNTIME, folder / GRPC_SOCKET),
            Relay.between(place / twin_daemon.QUEUE, folder / queue_process.SOCKET),
        )
        for relay in relays:
            stack.callback(relay.close)
        environment = {"OLAF_STATE": str(place / "state")}
        module, address = "olaflab.daemon.twin_daemon", twin_daemon.address_of(place)
        process = DaemonProcess(module, [str(place)], address, environment)
        yield KeptTwin(folder, stack.enter_context(running_daemon(process)), relays)


def _remove_deployment(place: Path, folder: Path) -> None:
    with suppress(OlafError):
        destroy_deployment(Store(folder))
    processes.end_all(folder)
    shutil.rmtree(place)
