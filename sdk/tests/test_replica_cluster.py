"""Replicas that join a cluster: epoch, segments, H and the other members are the control plane's to say."""

from __future__ import annotations

import numpy as np

from olaf.replicas.replica import Replica
from olaf.replicas.trained import Descent
from olaf.transport import wire
from olaf.transport.port import Address
from olaf.transport.virtual import VirtualNetwork
from tests.engines import QueueEngine, SumNetwork
from tests.testnet import SERVER, gradient, worker_address

CONTROL: Address = ("10.0.0.253", wire.UDP_PORT)


class ReplicaCluster:
    """An engine and its control plane."""

    def __init__(self, members: int, threshold: int, segments: int) -> None:
        self.data = SumNetwork(
            SERVER, [[worker_address(number) for number in range(members)]], threshold, segments
        )
        self.control = QueueEngine(SERVER, members, segments)
        self.control.threshold = threshold

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        if to != CONTROL:
            self.data.carry(network, source, to, datagram, tos)
            return
        for member, answer in self.control.receive(datagram, source):
            network.arrive(network.time + 1e-4, CONTROL, member, answer)


def test_members_find_one_another_through_the_control_plane() -> None:
    cluster = ReplicaCluster(4, 3, 2)
    network = VirtualNetwork(cluster)
    first = gradient(1, 500)
    replicas = [
        Replica(
            f"olaf://lander@{CONTROL[0]}",
            Descent(first, 0.125),
            members=4,
            until=20,
            port=network.port(worker_address(number)),
        )
        for number in range(4)
    ]
    assert all(replica.segments.count == 2 for replica in replicas)
    assert network.run(30.0, lambda: all(replica.joined for replica in replicas))
    assert cluster.control.seen["help"] > 0
    while not all(replica.done for replica in replicas) and network.time < 60.0:
        for number, replica in enumerate(replicas):
            if replica.ready:
                replica.commit(gradient(100 * replica.version + number, 500), replica.version)
        network.run(network.time + 0.01)
    ends = [replica.weights() for replica in replicas]
    assert [version for version, _ in ends] == [20] * 4
    assert all(np.array_equal(weights, ends[0][1]) for _, weights in ends)
    assert not np.array_equal(ends[0][1], first)


def test_what_is_halted_is_not_sent() -> None:
    cluster = ReplicaCluster(2, 2, 1)
    network = VirtualNetwork(cluster)
    replicas = [
        Replica(
            f"olaf://lander@{CONTROL[0]}",
            Descent(gradient(1, 100), 0.125),
            members=2,
            port=network.port(worker_address(number)),
        )
        for number in range(2)
    ]
    assert network.run(30.0, lambda: all(replica.joined for replica in replicas))
    for number in range(2):
        halt = wire.Halt(wire.ControlAction.HALT, 1, 1 << 62, bytes(wire.MAC_BYTES)).pack()
        network.arrive(network.time, CONTROL, worker_address(number), halt)
    network.run(network.time + 1.0)
    before = cluster.data.results[0]
    for replica in replicas:
        replica.commit(gradient(7, 100), replica.version)
    network.run(network.time + 5.0)
    assert cluster.data.results[0] == before
    assert all(replica.version == 0 and replica.failure is None for replica in replicas)
