"""A controller over two real switches, and what its devices hold."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from olafctl.bench import etcd_server
from olafctl.bench.switch_pair import PairRegisters
from olafctl.control import devices
from olafctl.control.state import DeviceState
from olafctl.daemon.controller import Controller
from olafctl.daemon.store.sqlite import SqliteStore
from olafctl.targets import registry, testbeds
from olafctl.testbed.model import Testbed
from tests.daemon.pair import Pair

DEADLINE = 60.0
"""Seconds after which something that must happen is taken not to."""

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
    """The small testbed without a worker, or another."""
    return testbeds.load("lab.yaml", text)


@pytest.fixture(scope="session")
def switches() -> Iterator[Pair]:
    """Two switches for every test; a controller that takes them over makes them its own."""
    if missing := registry.get("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    # A UNIX socket's path has 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="olaf-d-"))
    made = Pair(lab(), folder)
    yield made
    made.stop()
    shutil.rmtree(folder)


@pytest.fixture
def pair(switches: Pair, tmp_path: Path) -> Pair:
    """The switches, with a store and queue registers of this test's own."""
    switches.folder = tmp_path
    switches.registers = PairRegisters(16)
    return switches


@pytest.fixture
def registers(pair: Pair) -> PairRegisters:
    return pair.registers


@pytest.fixture
def started(pair: Pair) -> Iterator[Started]:
    """Starts a controller over the same store and switches again and again; one after the other."""
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


def needs_etcd() -> None:
    """Skip where there is no etcd."""
    if missing := etcd_server.missing():
        pytest.skip(f"needs {missing}")


def held(pair: Pair) -> dict[str, DeviceState]:
    """What the devices hold, read by a controller of its own."""
    running = pair.running()
    assert running is not None
    with devices.watching(running) as sessions:
        return dict(devices.read(running, sessions, []).devices)
