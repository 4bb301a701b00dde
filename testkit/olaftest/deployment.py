"""A deployment in a state folder of its own, for the length of a ``with`` block."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olafctl.control import devices, shards
from olafctl.control.desired import desired
from olafctl.control.locks import locked
from olafctl.control.store import clear
from olafctl.targets import registry
from olafctl.targets.interface import Progress, Running, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olafswitch import paths


@contextmanager
def deployed(testbed: Testbed, progress: Progress) -> Iterator[Running]:
    """Deploy ``testbed`` with its queue in FIFO mode, which forwards every update. Raises OlafError.

    The state folder is one that ``olafctl destroy`` finds if this process is killed.
    """
    target = registry.get(testbed.target)
    build = target.build(testbed, progress)
    home = paths.state()
    home.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=home))
    with locked(folder):
        try:
            running = target.start(testbed, build, folder, progress)
            with devices.controlling(running) as sessions:
                devices.push_pipelines(running, sessions)
                devices.converge(running, sessions, desired(testbed))
            shards.balance(running, testbed, testbed.clusters)
            of_root(running.queues).write("mode", Mode.FIFO.number)
            yield running
        finally:
            target.stop(folder)
            clear(folder)
