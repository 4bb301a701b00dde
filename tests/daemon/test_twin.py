"""The whole way through the twin: join, update to the server, ACK back, leave; and what outlives a kill."""

import os
import signal
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from olafctl.control import devices
from olafctl.control.deploy import find
from olafctl.control.desired import desired
from olafctl.control.destroy import destroy
from olafctl.control.regroup import regroup
from olafctl.control.store import Store, folder_of
from olafctl.daemon.api.client import Client
from olafctl.daemon.daemon import serving
from olafctl.daemon.messages.datagram import signed
from olafctl.daemon.operate.backup import backup
from olafctl.daemon.operate.stores import changing, reading
from olafctl.daemon.site import Deployment
from olafctl.errors import OlafError
from olafctl.ports.host import HostPort, open_host_port
from olafctl.targets import processes, registry
from olafctl.wire import control
from olafctl.wire.control import Action, Reason
from olafctl.wire.frames import unpack
from olafctl.wire.layouts import CONTROL_TOS, FrameType
from olafctl.wire.scapy_layers import Olaf
from tests.daemon.conftest import DEADLINE, lab

_TESTBED = """
name: lab
engine: {indices: 4, slots: 2, beats: 4}
ports: [{number: 1, name: ps, transport: unix}, {number: 2, name: w, transport: unix}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
"""
KEY = "ab" * 32
WORKER, SERVER = ("02:00:0a:00:01:01", "10.0.1.1", 41000), ("02:00:0a:00:00:fe", "10.0.0.254", 20300)
Host = tuple[str, str, int]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a daemon that owns a twin."""
    if missing := registry.get("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(folder))
        store = Store(folder_of("lab"))
        site = Deployment(store, lab(_TESTBED), lambda step: None)
        try:
            with serving([site], f"unix:{folder}/d/olaf.sock") as server, Client(server.address) as client:
                yield client
        finally:
            destroy(store)


def frame(source: Host, to: Host, payload: bytes, tos: int = 0) -> bytes:
    headers = Ether(src=source[0], dst=to[0]) / IP(src=source[1], dst=to[1], tos=tos)
    return bytes(headers / UDP(sport=source[2], dport=to[2], chksum=0) / Raw(payload))


def ports() -> dict[int, HostPort]:
    _, running = find(Store(folder_of("lab")))
    assert running is not None
    return {each.number: open_host_port(each) for each in running.attachments}


def received(port: HostPort) -> bytes:
    got = port.receive(DEADLINE)
    assert got is not None
    return got


def asked(port: HostPort, action: Action, nonce: int) -> dict[str, int]:
    layout = control.JOIN if action is Action.JOIN else control.LEAVE
    name = int.from_bytes(b"red".ljust(32, b"\0"), "big")
    message = signed(
        layout, {"action": action, "cluster": name, "nonce": nonce}, KEY, IPv4Address(WORKER[1]), WORKER[2]
    )
    port.send(frame(WORKER, SERVER, message, CONTROL_TOS))
    return unpack(control.ACK, bytes(Ether(received(port))[UDP].payload))


def test_a_worker_joins_trains_and_leaves_nothing(client: Client) -> None:
    client.call("CreateCluster", name="red", key=KEY)
    hosts = ports()
    told = asked(hosts[2], Action.JOIN, 1)
    assert told["reason"] == Reason.OK
    gradient = np.arange(16, dtype="<f4").tobytes()
    update = Olaf(frame_type=FrameType.UPDATE, epoch=told["epoch"], count=1, seq=5)
    hosts[2].send(frame(WORKER, SERVER, bytes(update) + gradient))
    arrived = Olaf(bytes(Ether(received(hosts[1]))[UDP].payload))
    assert (arrived.seq, arrived.count) == (5, 1)
    ack = Olaf(frame_type=FrameType.ACK, epoch=told["epoch"], count=1, seq=5)
    hosts[1].send(frame(SERVER, WORKER, bytes(ack) + gradient))
    answered = Olaf(bytes(Ether(received(hosts[2]))[UDP].payload))
    assert (answered.seq, answered.flags & 2) == (5, 2)  # the queue's status is in it
    assert asked(hosts[2], Action.LEAVE, 2)["reason"] == Reason.OK
    client.call("DeleteCluster", cluster="red")
    _, running = find(Store(folder_of("lab")))
    assert running is not None
    with devices.watching(running) as sessions:
        assert devices.read(running, sessions, []).devices == desired(lab(_TESTBED)).devices
    for port in hosts.values():
        port.close()


def test_no_other_olafctl_changes_what_a_daemon_owns(client: Client) -> None:
    with pytest.raises(OlafError, match="another olafctl is at work on this deployment"):
        regroup(Store(folder_of("lab")), "w", 0)


def test_a_killed_twin_is_started_again_with_everything(client: Client) -> None:
    client.call("CreateCluster", name="blue", open=True)
    client.call("Join", cluster="blue", ip="10.0.1.2", port=2, name="w2")
    _, before = find(Store(folder_of("lab")))
    assert before is not None
    for process in processes.of(folder_of("lab")):
        os.kill(process.pid, signal.SIGKILL)
    for number in range(3, 200):  # the first may meet the stream just ending, or the twin just starting
        try:
            client.call("Join", cluster="blue", ip=f"10.0.1.{number}", port=2, name="again")
            break
        except OlafError:
            continue
    _, running = find(Store(folder_of("lab")))
    assert running is not None
    with devices.watching(running) as sessions:
        workers = {entry.match["worker_addr"] for entry in sessions["vnp4_1"].entries("workers")}
    assert len(workers) == 2
    client.call("DeleteCluster", cluster="blue")


def test_a_daemon_is_backed_up_while_it_runs_and_not_restored_under_it(
    client: Client, tmp_path: Path
) -> None:
    client.call("CreateCluster", name="kept")
    try:
        with reading("lab", None, None) as store:
            assert backup(store, "lab", tmp_path / "backup.json") > 0
        assert '"cluster/kept"' in (tmp_path / "backup.json").read_text()
        with pytest.raises(OlafError, match="another olafctl is at work"), changing("lab", None, None):
            raise AssertionError("the daemon owns it")
        with pytest.raises(OlafError, match="no daemon has kept its membership"), reading("x", None, None):
            raise AssertionError("there is none")
    finally:
        client.call("DeleteCluster", cluster="kept")
