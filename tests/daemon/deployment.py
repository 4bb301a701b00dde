"""A deployment that a daemon keeps, and hosts at its front ports: workers, the parameter server."""

import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from olafctl.control import devices
from olafctl.control.deploy import find_deployment
from olafctl.control.desired import desired_state
from olafctl.control.destroy import destroy_deployment
from olafctl.control.plan import plan_changes
from olafctl.control.store import Store, folder_of
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.daemon import serve_deployments
from olafctl.daemon.site import Deployment
from olafctl.targets import testbeds
from olafctl.targets.interface import Running
from olafctl.testbed.model import Testbed
from olafctl.wire import control
from olafctl.wire.authentication import sign_message
from olafctl.wire.control import ControlAction
from olafctl.wire.frames import Values, unpack_header
from olafctl.wire.layouts import CONTROL_TOS, FrameType, HeaderLayout
from olafctl.wire.scapy_layers import Olaf
from olafswitch.p4runtime.entities import Entity
from olafswitch.p4runtime.failures import P4RuntimeFailed
from olafswitch.p4runtime.protocol import p4runtime_pb2, p4runtime_stub
from olafswitch.p4runtime.session import Change
from olafswitch.ports.host import HostPort
from olaftest.daemon.daemon_process import wait_until
from tests.targets.conftest import need_target

DEADLINE = 60.0
"""The seconds after which an event that must happen counts as missing."""
Host = tuple[str, str, int]
"""A host's MAC and IPv4 address, and its UDP port."""
SERVER: Host = ("02:00:0a:00:00:fe", "10.0.0.254", 20300)
ENGINE: Host = ("02:00:0a:00:00:fa", "10.0.0.250", 20300)
KEY = "5e" * 32
_nonces = itertools.count(time.time_ns())


@dataclass(frozen=True)
class KeptDeployment:
    """A deployment, and a client of the daemon that keeps it."""

    testbed: Testbed
    store: Store
    client: DaemonClient
    page: str
    """The address of the page, as HOST:PORT."""

    def running(self) -> Running:
        _, running = find_deployment(self.store)
        assert running is not None
        return running


@contextmanager
def keep_deployment(text: str, target: str, folder: Path, **served: Any) -> Iterator[KeptDeployment]:
    """Keep the testbed ``text``, with its {target} and {transport} filled in, its state in ``folder``, and
    ``served`` for :func:`serve_deployments`. Skip the test where the target cannot run."""
    need_target(target)
    transport = ", transport: unix" if target == "twin" else ""
    testbed = testbeds.load_testbed("lab.yaml", text.format(target=target, transport=transport))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(folder))
        store = Store(folder_of(testbed.name))
        site = Deployment(store, testbed, lambda step: None)
        try:
            address = f"unix:{folder}/d/olaf.sock"
            with (
                serve_deployments([site], address, **served) as server,
                DaemonClient(server.address) as client,
            ):
                yield KeptDeployment(testbed, store, client, server.page)
        finally:
            destroy_deployment(store)


@dataclass
class KeptHosts:
    """A deployment that a daemon keeps, with the hosts outside its front ports."""

    kept: KeptDeployment
    client: DaemonClient
    running: Running
    hosts: dict[int, HostPort] = field(default_factory=dict)
    heard: dict[tuple[int, bool], list[bytes]] = field(default_factory=dict)
    """The frames that came before an awaited frame."""

    @property
    def testbed(self) -> Testbed:
        return self.kept.testbed

    def send(self, port: int, source: Host, to: Host, payload: bytes, tos: int = 0) -> None:
        self.hosts[port].send(make_frame(source, to, payload, tos))

    def hear_datagram(self, port: int, answers: bool = False) -> bytes:
        """Return the next datagram's payload, of answers to control messages or of other datagrams."""
        heard = self.heard.setdefault((port, answers), [])
        while not heard:
            got = self.hosts[port].receive(DEADLINE)
            assert got is not None, f"nothing at port {port}"
            if (packet := Ether(got)).haslayer(UDP):
                payload = bytes(packet[UDP].payload)
                self.heard.setdefault((port, payload[0] == ControlAction.ACK), []).append(payload)
        return heard.pop(0)

    def drain_ports(self, seconds: float) -> None:
        """Take the frames that are left at the ports, until none comes for ``seconds``."""
        self.heard.clear()
        for host in self.hosts.values():
            while host.receive(seconds) is not None:
                pass

    def ask_daemon(self, port: int, source: Host, action: ControlAction, **values: Any) -> Values:
        """Send a control message and return the answer."""
        self.send(port, source, SERVER, make_message(source, action, **values), CONTROL_TOS)
        return unpack_header(control.ACK, self.hear_datagram(port, answers=True))

    def send_update(
        self, port: int, source: Host, epoch: int, seq: int, value: float, to: Host = SERVER
    ) -> None:
        header = Olaf(frame_type=FrameType.UPDATE, epoch=epoch, count=1, seq=seq)
        self.send(port, source, to, bytes(header) + np.full(16, value, "<f4").tobytes())

    def await_register(self, engine: str, name: str, value: int) -> None:
        registers = self.running.queues[engine]
        wait_until(lambda: registers.read_all()[name] == value)

    def find_drift(self, testbed: Testbed) -> list[str]:
        """Return the differences of devices and queues from ``testbed``."""
        wanted = desired_state(testbed)
        with watch_devices(self.running) as sessions:
            actual = devices.read_state(self.running, sessions, wanted)
        return list(plan_changes(actual, wanted).lines())


def worker_of(number: int) -> Host:
    return f"02:00:0a:00:01:{number:02x}", f"10.0.1.{number}", 41000


def make_frame(source: Host, to: Host, payload: bytes, tos: int = 0) -> bytes:
    headers = Ether(src=source[0], dst=to[0]) / IP(src=source[1], dst=to[1], tos=tos)
    return bytes(headers / UDP(sport=source[2], dport=to[2], chksum=0) / Raw(payload))


def make_fields(action: ControlAction, values: dict[str, Any]) -> tuple[HeaderLayout, Values]:
    """Return the layout and the fields of a control message, with a new nonce; ``cluster`` is a name."""
    fields: Values = {"action": action, "nonce": next(_nonces), **values}
    if "cluster" in values:
        fields["cluster"] = int.from_bytes(values["cluster"].encode().ljust(32, b"\0"), "big")
    return next(each for each in control.ALL if each.name == action.name.lower()), fields


def make_message(source: Host, action: ControlAction, **values: Any) -> bytes:
    """Return a control message of ``source``, signed with KEY."""
    return sign_message(*make_fields(action, values), KEY, IPv4Address(source[1]), source[2])


@contextmanager
def watch_devices(running: Running) -> Iterator[devices.Sessions]:
    """Yield sessions that only read, once BMv2 has forgotten the last observers."""
    end = time.monotonic() + DEADLINE
    with ExitStack() as stack:
        sessions: devices.Sessions = {}
        while not sessions:
            try:
                sessions = stack.enter_context(devices.watch_devices(running))
            except P4RuntimeFailed as error:
                assert "already exists" in str(error) and time.monotonic() < end
        yield sessions


def behind_its_back(running: Running, name: str, change: Change, entity: Entity) -> None:
    """Write to a device as its primary controller, whose election id anyone can read."""
    [device] = [each for each in running.devices if each.name == name]
    with watch_devices(running) as sessions, grpc.insecure_channel(device.address) as channel:
        session = sessions[name]
        request = p4runtime_pb2.WriteRequest(device_id=device.device_id)
        request.election_id.high = session.highest_election_id >> 64
        request.election_id.low = session.highest_election_id & (1 << 64) - 1
        encoded = p4runtime_pb2.Entity.FromString(session.encoded(entity))
        request.updates.add(type=change.value, entity=encoded)
        p4runtime_stub(channel).Write(request)
