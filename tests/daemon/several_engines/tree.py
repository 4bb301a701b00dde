"""A tree of three engines that a daemon keeps, as tests use it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether

from olafctl.control import devices
from olafctl.control.desired import desired_state
from olafctl.control.plan import plan_changes
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.api.convert import clusters_of
from olafctl.targets.interface import Registers, Running
from olafctl.testbed.model import Testbed
from olafctl.wire import control
from olafctl.wire.control import ControlAction
from olafctl.wire.frames import Values, unpack_header
from olafctl.wire.layouts import CONTROL_TOS, FrameType
from olafctl.wire.scapy_layers import Olaf
from olafswitch.ports.host import HostPort, open_host_port
from olaftest.daemon.daemon_process import wait_until
from tests.daemon.conftest import DEADLINE, watch_devices
from tests.daemon.deployment import SERVER, Host, KeptDeployment, make_frame, make_message

TESTBED = """
name: tree
target: {target}
engines:
  - {{name: root, indices: 4, slots: 2, beats: 4, address: 10.0.0.250,
      ports: [{{number: 1, name: ps{transport}}}, {{numbers: 2-3, name: down}}]}}
  - {{name: left, indices: 4, slots: 2, beats: 4,
      ports: [{{numbers: 11-12, name: a{transport}}}, {{number: 13, name: up1}}]}}
  - {{name: right, indices: 4, slots: 2, beats: 4, mode: fifo, reward_threshold: 2,
      ports: [{{number: 21, name: b{transport}}}, {{number: 22, name: up2}}]}}
links:
  - {{ends: [left.up1, root.down2], rate: 1 Gb/s}}
  - {{ends: [right.up2, root.down3], rate: 1 Gb/s}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{name: home, workers: [{{name: old, port: 12, ip: 10.0.2.1}}]}}
"""
OLAF, ISWITCH = 1, 3
LEFT, RIGHT = 11, 21


@dataclass
class Tree:
    """TESTBED with what is outside its front ports."""

    kept: KeptDeployment
    client: DaemonClient
    running: Running
    hosts: dict[int, HostPort] = field(default_factory=dict)

    @property
    def testbed(self) -> Testbed:
        return self.kept.testbed

    def attach_hosts(self) -> None:
        """Open what is outside the front ports of what runs now."""
        self.running = running = self.kept.running()
        self.hosts = {each.number: open_host_port(each) for each in running.attachments}

    def detach_hosts(self) -> None:
        for port in self.hosts.values():
            port.close()

    def send(self, port: int, source: Host, to: Host, payload: bytes, tos: int = 0) -> None:
        self.hosts[port].send(make_frame(source, to, payload, tos))

    def hear_datagram(self, port: int, *, controls: bool = False) -> bytes:
        """Return the next datagram's payload at a front port: an answer to a control message, or anything
        else."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            got = self.hosts[port].receive(DEADLINE)
            assert got is not None, f"nothing at port {port}"
            if (packet := Ether(got)).haslayer(UDP):
                payload = bytes(packet[UDP].payload)
                if (payload[0] == ControlAction.ACK) == controls:
                    return payload
        raise AssertionError(f"nothing of ours at port {port}")

    def is_silent(self, port: int) -> bool:
        return self.hosts[port].receive(0.05) is None

    def ask_daemon(self, port: int, source: Host, action: ControlAction, **values: Any) -> Values:
        """Send a control message; its answer."""
        self.send(port, source, SERVER, make_message(source, action, **values), CONTROL_TOS)
        return unpack_header(control.ACK, self.hear_datagram(port, controls=True))

    def join(self, cluster: str, source: Host, port: int, name: str = "") -> int:
        """Create a cluster by the API and return its epoch."""
        mac, ip, udp_port = source
        self.client.call("Join", cluster=cluster, ip=ip, mac=mac, udp_port=udp_port, port=port, name=name)
        return self.epoch_of(cluster)

    def epoch_of(self, cluster: str) -> int:
        [status] = self.client.call("GetStatus").deployments
        return next(int(each.epoch) for each in status.clusters if each.name == cluster)

    def send_update(
        self, port: int, source: Host, epoch: int, seq: int, value: float, to: Host = SERVER
    ) -> None:
        header = Olaf(frame_type=FrameType.UPDATE, epoch=epoch, count=1, seq=seq)
        self.send(port, source, to, bytes(header) + np.full(16, value, "<f4").tobytes())

    def next_arrived(self) -> tuple[int, float]:
        """Count and value of the next update at the parameter server."""
        payload = self.hear_datagram(1)
        return Olaf(payload).count, float(np.frombuffer(payload[22:86], "<f4")[0])

    def send_ack(self, to: Host, epoch: int, seq: int) -> None:
        header = Olaf(frame_type=FrameType.ACK, epoch=epoch, count=1, seq=seq)
        self.send(1, SERVER, to, bytes(header) + bytes(64))

    def ready(self) -> bool:
        return bool(self.client.call("GetStatus").deployments[0].ready)

    def read_queues(self) -> Mapping[str, Registers]:
        return self.running.queues

    def await_register(self, engine: str, name: str, value: int) -> None:
        end = time.monotonic() + DEADLINE
        while (now := self.read_queues()[engine].read_all()[name]) != value:
            assert time.monotonic() < end, f"{name} at {engine} is {now} and never became {value}"

    def find_differences(self) -> list[str]:
        """Between what the daemon says of the membership and what the devices and queues hold."""
        [status] = self.client.call("GetStatus").deployments
        return self.restart_against(replace(self.testbed, clusters=clusters_of(status)))

    def await_settled(self) -> None:
        """Wait until all engines have what the membership asks for: those above a worker that has just left
        another cluster know it a second later."""
        wait_until(lambda: self.find_differences() == [])

    def restart_against(self, testbed: Testbed) -> list[str]:
        wanted = desired_state(testbed)
        with watch_devices(self.running) as sessions:
            actual = devices.read_state(self.running, sessions, wanted)
        return list(plan_changes(actual, wanted).lines())
