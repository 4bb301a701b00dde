"""A controller over two real switches, and the state of its devices."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from olafctl.control import devices
from olafctl.control.state import DeviceState, PipelineState
from olafctl.daemon.admission import Admission
from olafctl.daemon.controller import Controller
from olafctl.daemon.messages.listener import MessageListener
from olafctl.daemon.messages.notices import Notices
from olafctl.membership.model import Cluster
from olafctl.membership.operations import Operations, Planned
from olafctl.membership.sqlite import SqliteStore
from olafctl.targets import testbeds
from olafctl.testbed.ground import make_ground
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaftest.daemon import etcd_server
from olaftest.daemon.switch_pair import PairRegisters
from tests.daemon.deployment import DEADLINE
from tests.daemon.pair import DaemonPair
from tests.daemon.worker import KEY, ScriptedWorker
from tests.targets.conftest import need_target

TESTBED = """
name: lab
engine: {indices: 16, slots: 4, beats: 24, address: 10.0.0.250}
ports:
  - {number: 1, name: ps}
  - {numbers: 2-4, name: tor}
parameter_servers:
  - {name: ps, port: ps, ip: 10.0.0.254}
clusters: []
hosts:
  - {name: desktop, port: 4, ip: 10.0.3.1}
"""

Started = Callable[[], Controller]


def lab(text: str = TESTBED) -> Testbed:
    """Return the small testbed without a worker, or another."""
    return testbeds.load_testbed("lab.yaml", text)


@pytest.fixture(scope="session")
def switches() -> Iterator[DaemonPair]:
    """Provide two switches for all tests; a controller that takes them over makes them its own."""
    need_target("twin")
    # A UNIX socket's path has 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="olaf-d-"))
    made = DaemonPair(lab(), folder)
    yield made
    made.stop()
    shutil.rmtree(folder)


@pytest.fixture
def pair(switches: DaemonPair, tmp_path: Path) -> DaemonPair:
    """Provide the switches, with a store and queue registers of this test's own."""
    switches.folder = tmp_path
    switches.registers = PairRegisters(16)
    return switches


@pytest.fixture
def registers(pair: DaemonPair) -> PairRegisters:
    return pair.registers


@pytest.fixture
def started(pair: DaemonPair) -> Iterator[Started]:
    """Provide a function that starts controllers over the same store and switches, one after the other."""
    controllers: list[Controller] = []

    def again() -> Controller:
        for old in controllers:
            old.close()
        controllers[:] = [Controller(pair, SqliteStore(pair.folder), check_every=DEADLINE)]
        controllers[0].start()
        return controllers[0]

    yield again
    for controller in controllers:
        controller.close()


@pytest.fixture
def controller(started: Started) -> Controller:
    return started()


@pytest.fixture
def now() -> list[float]:
    """Provide the listener's clock, which a test may move."""
    return [0.0]


@pytest.fixture
def listener(controller: Controller, now: list[float]) -> Iterator[MessageListener]:
    """Provide a cluster `red` with a key, in iswitch mode, and an open cluster `blue`."""
    ask = Operations(make_ground(lab()))
    for cluster in (Cluster("red", values=700, mode=Mode.ISWITCH, key=KEY), Cluster("blue", open=True)):
        controller.submit(ask.create_cluster(cluster)).result(DEADLINE)
    listening = listen_for_messages(controller, lambda: now[0])
    yield listening
    listening.close()


def listen_for_messages(
    controller: Controller, clock: Callable[[], float] = time.monotonic
) -> MessageListener:
    """Return a listener for the control messages of the small testbed, once its devices are reached."""
    bed = lab()
    controller.submit(lambda membership: Planned({}, {})).result(DEADLINE)
    operations, notices = Operations(make_ground(bed)), Notices(controller, bed)
    return MessageListener(controller, Admission(controller, bed), operations, notices, bed, 0, clock)


@pytest.fixture
def workers(listener: MessageListener, pair: DaemonPair) -> Iterator[list[ScriptedWorker]]:
    made = [ScriptedWorker(pair, 1, 2), ScriptedWorker(pair, 2, 3)]
    yield made
    for worker in made:
        worker.close()


def needs_etcd() -> None:
    """Skip without etcd."""
    if missing := etcd_server.missing_programs():
        pytest.skip(f"needs {missing}")


def read_held(pair: DaemonPair) -> dict[str, DeviceState]:
    """Return the devices' state, read by a separate controller."""
    running = pair.running()
    assert running is not None
    with devices.watch_devices(running) as sessions:
        return dict(devices.read_state(running, sessions, PipelineState()).devices)
