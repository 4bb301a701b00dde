"""Downlink multicast (OLAF §7): an ACK goes to all workers of the cluster, and to no other host."""

import pytest

from tests.packets.frames import Got, ack, delivered, gradient
from tests.packets.live import Live


@pytest.mark.parametrize("nth", [0, 1, 2])
def test_an_ack_reaches_exactly_the_members_of_its_cluster(live: Live, nth: int) -> None:
    """VNP4₂ multicasts the ACKs to all workers in the corresponding Cluster_ID using preconfigured groups.

    Each copy is addressed to its member; no other frame arrives at any port.
    """
    cluster = live.cluster(1, nth, merging=False)
    sent = ack(live, cluster.workers[0], gradient(nth))
    arrived = live.exchange((live.server, sent))
    status = Got(next(iter(arrived.values()))[0]).status
    expected = [(worker.port, bytes(delivered(sent, worker, status))) for worker in cluster.workers]
    assert sorted((port, frame) for port, frames in arrived.items() for frame in frames) == sorted(expected)


def test_any_member_may_get_the_parameter_servers_answer(live: Live) -> None:
    """The PS sends ACKs addressed to each cluster, not individual workers."""
    first, second = live.cluster(2, merging=False).workers[:2]
    reached = []
    for worker in (first, second):
        arrived = live.exchange((live.server, ack(live, worker, gradient(1))))
        reached.append({port: len(frames) for port, frames in arrived.items()})
    assert reached[0] == reached[1]
    assert sum(reached[0].values()) == len(live.cluster(2, merging=False).workers)
