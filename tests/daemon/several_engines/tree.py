"""A tree of three engines that a daemon keeps, for tests."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from olafctl.daemon.api.convert import clusters_of
from olafctl.targets.interface import Registers
from olafctl.wire.layouts import FrameType
from olafctl.wire.scapy_layers import Olaf
from olafswitch.ports.host import open_host_port
from olaftest.daemon.daemon_process import wait_until
from tests.daemon.deployment import SERVER, Host, KeptHosts

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


class Tree(KeptHosts):
    """TESTBED with the hosts outside its front ports."""

    def attach_hosts(self) -> None:
        """Open the host sides of the running front ports."""
        self.running = running = self.kept.running()
        self.hosts = {each.number: open_host_port(each) for each in running.attachments}

    def detach_hosts(self) -> None:
        for port in self.hosts.values():
            port.close()

    def is_silent(self, port: int) -> bool:
        return self.hosts[port].receive(0.05) is None

    def join(self, cluster: str, source: Host, port: int, name: str = "") -> int:
        """Create a cluster by the API and return its epoch."""
        mac, ip, udp_port = source
        self.client.call("Join", cluster=cluster, ip=ip, mac=mac, udp_port=udp_port, port=port, name=name)
        return self.epoch_of(cluster)

    def epoch_of(self, cluster: str) -> int:
        [status] = self.client.call("GetStatus").deployments
        return next(int(each.epoch) for each in status.clusters if each.name == cluster)

    def next_arrived(self) -> tuple[int, float]:
        """Return the count and value of the next update at the parameter server."""
        payload = self.hear_datagram(1)
        return Olaf(payload).count, float(np.frombuffer(payload[22:86], "<f4")[0])

    def send_ack(self, to: Host, epoch: int, seq: int) -> None:
        header = Olaf(frame_type=FrameType.ACK, epoch=epoch, count=1, seq=seq)
        self.send(1, SERVER, to, bytes(header) + bytes(64))

    def ready(self) -> bool:
        return bool(self.client.call("GetStatus").deployments[0].ready)

    def read_queues(self) -> Mapping[str, Registers]:
        return self.running.queues

    def find_differences(self) -> list[str]:
        """Return differences between the daemon's membership and the state of devices and queues."""
        [status] = self.client.call("GetStatus").deployments
        return self.find_drift(replace(self.testbed, clusters=clusters_of(status)))

    def await_settled(self) -> None:
        """Wait until all engines have the state of the membership: engines above a worker that has just left
        another cluster know it a second later."""
        wait_until(lambda: self.find_differences() == [])
