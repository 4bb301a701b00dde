"""Reverse-path signalling (OLAF §5, §7): ACKs carry the state of the queue {N, Q_max, Q_n} to the workers."""

import pytest
from scapy.layers.inet import IP, UDP

from olafctl.wire.layouts import STATUS, StatusFlag
from tests.packets.frames import Got, ack, at, gradient, update
from tests.packets.live import Live

LONG = (1 << 31) - 1
"""Clock cycles: 8.6 s, longer than a test takes to send its updates."""


def status_after(live: Live, clusters: int) -> Got:
    """Return the ACK that a worker gets while one update of each of this many clusters waits."""
    worker = live.cluster(1).workers[0]
    with live.held():
        for nth in range(clusters):
            sender = live.cluster(1, nth).workers[0]
            live.exchange((sender, update(live, sender, gradient(nth))))
        arrived = live.exchange((live.server, ack(live, worker, gradient(99))))
    live.arrivals()
    return at(arrived, worker)[0]


def test_an_ack_carries_waiting_updates_and_free_slots(live: Live) -> None:
    """The ACK delivers Q_n and Q_max."""
    slots = live.slots
    waiting = min(len([cluster for cluster in live.merging if cluster.workers]), slots)
    assert status_after(live, 0).status.occupancy == 0
    got = status_after(live, waiting)
    assert (got.status.occupancy, got.status.slots) == (waiting, slots)


def test_an_ack_carries_the_number_of_active_clusters(live: Live) -> None:
    """The ACK delivers N, the number of clusters that sent within the window."""
    sending = len([cluster for cluster in live.merging if cluster.workers])
    with live.settings(active_window=LONG):
        assert status_after(live, sending).status.active_clusters == sending


def test_a_cluster_that_is_silent_for_the_window_is_not_active(live: Live) -> None:
    worker = live.cluster(1).workers[0]
    with live.settings(active_window=1):
        live.exchange((worker, update(live, worker, gradient(1))))
        live.wait(lambda now: now["active_clusters"] == 0)
        assert status_after(live, 0).status.active_clusters == 0


def test_flags_say_full_and_congested(live: Live) -> None:
    """FULL when every slot is taken, CONGESTED when more clusters are active than there are slots."""
    slots = live.slots
    live.cluster(1, slots)
    with live.settings(active_window=LONG):
        got = status_after(live, slots + 1)
    assert got.status.occupancy == slots
    assert got.status.active_clusters > slots
    assert got.status.flags == StatusFlag.FULL | StatusFlag.CONGESTED
    with live.settings(active_window=1):
        live.wait(lambda now: now["active_clusters"] == 0)
        assert status_after(live, 0).status.flags == 0


@pytest.mark.parametrize("values", [0, 1, 300])
def test_lengths_and_checksums_of_an_ack_with_status_are_right(live: Live, values: int) -> None:
    """The status header follows the Olaf header, and every length counts it."""
    worker = live.cluster(1).workers[0]
    sent = ack(live, worker, gradient(5, values), seq=12)
    [got] = at(live.exchange((live.server, sent)), worker)
    ether = got.ether
    longer = STATUS.size
    assert (ether[IP].len, ether[UDP].len) == (sent[IP].len + longer, sent[UDP].len + longer)
    assert len(got.frame) == len(sent) + longer
    rebuilt = ether.copy()
    del rebuilt[IP].chksum
    assert bytes(rebuilt) == got.frame
    assert (ether[UDP].chksum, got.olaf.seq) == (0, 12)
    assert got.values.tobytes() == gradient(5, values).tobytes()


def test_acks_never_wait_behind_updates(live: Live) -> None:
    """Olaf forwards them without queue interaction."""
    worker = live.cluster(1).workers[0]
    with live.counting() as counted, live.held():
        live.exchange((worker, update(live, worker, gradient(1))))
        assert at(live.exchange((live.server, ack(live, worker, gradient(2)))), worker)
    live.arrivals()
    assert (counted["in_updates"], counted["out_bypass"] > 0) == (1, True)
