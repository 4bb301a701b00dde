"""A deployment in a state folder of its own, for the length of a ``with`` block."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from olafctl.control import devices, shards
from olafctl.control.deploy import deploy_testbed, find_deployment
from olafctl.control.desired import desired_state
from olafctl.control.destroy import destroy_deployment
from olafctl.control.hosts.deployed import namespace_of
from olafctl.control.locks import lock_deployment
from olafctl.control.store import Store, clear_folder, folder_of
from olafctl.targets import registry
from olafctl.targets.interface import Progress, Running, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olafswitch import paths
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.host import HostPort, open_host_port


def program_devices(running: devices.Programmable, testbed: Testbed) -> None:
    """Push the pipelines and write all that ``testbed`` wants. Raises OlafError."""
    with devices.control_devices(running) as sessions:
        devices.push_pipelines(running, sessions)
        devices.converge_state(running, sessions, desired_state(testbed))


@contextmanager
def open_hosts(running: Running) -> Iterator[dict[int, HostPort]]:
    """Open the outside of every front port of what runs, by its number. Raises OlafError."""
    with ExitStack() as stack:
        yield {
            each.number: stack.enter_context(closing(open_host_port(each))) for each in running.attachments
        }


@contextmanager
def deployed_testbed(testbed: Testbed, progress: Progress) -> Iterator[Running]:
    """Deploy ``testbed`` with its queue in FIFO mode, which forwards every update. Raises OlafError.

    The state folder is one that ``olafctl destroy`` finds if this process is killed.
    """
    target = registry.get_target(testbed.target)
    build = target.build(testbed, progress)
    home = paths.state()
    home.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=home))
    with lock_deployment(folder):
        try:
            running = target.start(testbed, build, folder, progress)
            program_devices(running, testbed)
            shards.balance_shards(running, testbed, testbed.clusters)
            of_root(running.queues).write("mode", Mode.FIFO.number)
            yield running
        finally:
            target.stop(folder)
            clear_folder(folder)


@contextmanager
def using_hosts(
    testbed: Testbed, progress: Progress, with_hosts: bool = True
) -> Iterator[tuple[Testbed, Running, Mapping[str, str | None]]]:
    """Deploy ``testbed`` as ``olafctl deploy`` does; give it, what runs, and its hosts' namespaces by name.

    Raises OlafError.
    """
    store = Store(folder_of(testbed.name))
    try:
        deploy_testbed(testbed, progress, with_hosts=with_hosts)
        found, running = find_deployment(store)
        if running is None:
            raise OlafError(Problem("does not run", testbed.name))
        hosts = [worker for cluster in found.clusters for worker in cluster.workers]
        namespaces = {
            host.name: namespace_of(store.folder, host.name)
            for host in [*hosts, *found.parameter_servers]
            if with_hosts
        }
        yield found, running, namespaces
    finally:
        destroy_deployment(store)
