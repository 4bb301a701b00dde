"""A daemon that owns a twin: what outlives a kill, and what others may do meanwhile."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.control import devices
from olafctl.control.pipeline import ASSIGN
from olafctl.control.store import Store, folder_of
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.keeping import LocalClient, open_for_changing, open_for_reading
from olafctl.membership.backup import backup_content, write_backup
from olafctl.targets import processes
from olafswitch.errors import OlafError
from tests.daemon.deployment import KeptDeployment, keep_deployment

_TESTBED = """
name: lab
target: {target}
engine: {{indices: 4, slots: 2, beats: 4}}
ports: [{{number: 1, name: ps{transport}}}, {{number: 2, name: w{transport}}}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters: []
"""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptDeployment]:
    with keep_deployment(_TESTBED, "twin", tmp_path_factory.mktemp("s")) as stands:
        yield stands


@pytest.fixture
def client(twin: KeptDeployment) -> DaemonClient:
    """Provide a client of a daemon that owns a twin."""
    return twin.client


def test_no_other_olafctl_changes_what_a_daemon_owns(client: DaemonClient) -> None:
    with pytest.raises(OlafError, match="another olafctl is at work on this deployment"):
        LocalClient(Store(folder_of("lab"))).call("CreateCluster", name="other")


def test_a_killed_twin_is_started_again_with_everything(twin: KeptDeployment, client: DaemonClient) -> None:
    client.call("CreateCluster", name="blue", open=True)
    client.call("Join", cluster="blue", ip="10.0.1.2", port=2, name="w2")
    for process in processes.find_processes(folder_of("lab")):
        os.kill(process.pid, signal.SIGKILL)
    for number in range(3, 200):  # the first call may meet an ending stream, or a twin that is starting
        try:
            client.call("Join", cluster="blue", ip=f"10.0.1.{number}", port=2, name="again")
            break
        except OlafError:
            continue
    with devices.watch_devices(twin.running()) as sessions:
        entries = sessions["vnp4_1"].entries("workers")
    assert len([entry for entry in entries if entry.action == ASSIGN]) == 2
    client.call("DeleteCluster", cluster="blue")


def test_a_running_daemon_is_backed_up_and_not_restored(client: DaemonClient, tmp_path: Path) -> None:
    client.call("CreateCluster", name="kept")
    try:
        with open_for_reading("lab", None, None) as store:
            assert write_backup(backup_content(store, "lab"), tmp_path / "backup.json") > 0
        assert '"cluster/kept"' in (tmp_path / "backup.json").read_text()
        with (
            pytest.raises(OlafError, match="another olafctl is at work"),
            open_for_changing("lab", None, None),
        ):
            raise AssertionError("the daemon owns it")
        with (
            pytest.raises(OlafError, match="no daemon has kept its membership"),
            open_for_reading("x", None, None),
        ):
            raise AssertionError("none exists")
    finally:
        client.call("DeleteCluster", cluster="kept")
