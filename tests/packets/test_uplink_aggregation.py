"""Uplink (OLAF §3, §7): updates of one cluster that meet in the queue are merged into a single update."""

from collections.abc import Callable

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from olafctl.wire.layouts import Flag
from tests.packets.conftest import need_slots
from tests.packets.frames import Got, at, gradient, update
from tests.packets.live import Live


def test_a_lone_update_is_forwarded_unmodified(live: Live) -> None:
    """The outgoing update is forwarded unmodified by VNP4₂ to the parameter server."""
    worker = live.cluster(1).workers[0]
    sent = update(live, worker, gradient(1), seq=9, reward=-3.5)
    assert live.exchange((worker, sent)) == {live.server.port: [bytes(sent)]}


def test_a_udp_checksum_is_dropped_as_the_payload_may_be_summed(live: Live) -> None:
    worker = live.cluster(1).workers[0]
    sent = update(live, worker, gradient(1))
    summed = sent.copy()
    del summed[UDP].chksum
    assert Ether(bytes(summed))[UDP].chksum != 0
    assert live.exchange((worker, summed)) == {live.server.port: [bytes(sent)]}


@pytest.mark.parametrize("workers", [2, 3])
def test_waiting_updates_of_a_cluster_are_summed_exactly(live: Live, workers: int) -> None:
    """If there are other updates from the same cluster in the queue, it is merged with the waiting update."""
    senders = live.cluster(workers).workers[:workers]
    values = [gradient(10 + nth) for nth in range(workers)]
    sent = [
        (
            worker,
            update(live, worker, values[nth], seq=5 + nth, reward=[2.0, 7.0, 4.0][nth], gen_time=100 + nth),
        )
        for nth, worker in enumerate(senders)
    ]
    with live.counting() as counted, live.held():
        assert live.exchange(*sent) == {}
    arrived = live.arrivals()
    assert list(arrived) == [live.server.port]
    [got] = at(arrived, live.server)
    total = values[0]
    for others in values[1:]:
        total = total + others
    assert got.values.tobytes() == total.tobytes()
    header = got.olaf
    assert (header.count, header.flags) == (workers, Flag.AGGREGATED)
    assert (header.reward, header.seq, header.gen_time) == (7.0, 4 + workers, 99 + workers)
    assert (counted["appended"], counted["merged"]) == (1, workers - 1)


def test_a_merged_update_is_a_correct_frame_of_its_newest_worker(live: Live) -> None:
    """Around the Olaf header it is byte for byte the frame of the newest constituent."""
    first, second = live.cluster(2).workers[:2]
    newest = update(live, second, gradient(2), gen_time=300)
    with live.held():
        live.exchange((first, update(live, first, gradient(1), gen_time=200)), (second, newest))
    [got] = at(live.arrivals(), live.server)
    headers = len(Ether()) + len(IP()) + len(UDP())
    assert got.frame[:headers] == bytes(newest)[:headers]
    assert len(got.frame) == len(newest)


def test_the_newest_is_the_one_generated_last(live: Live) -> None:
    first, second = live.cluster(2).workers[:2]
    with live.held():
        live.exchange(
            (first, update(live, first, gradient(1), gen_time=900, seq=50)),
            (second, update(live, second, gradient(2), gen_time=200, seq=60)),
        )
    [got] = at(live.arrivals(), live.server)
    assert (got.olaf.gen_time, got.olaf.seq, got.olaf.count) == (900, 50, 2)


def test_updates_of_different_clusters_are_never_merged(live: Live) -> None:
    """Different clusters each have their own update, which leave in the order of their arrival."""
    need_slots(live, 2)
    one, other = live.cluster(1).workers[0], live.cluster(1, 1).workers[0]
    sent = [update(live, one, gradient(1)), update(live, other, gradient(2))]
    with live.held():
        live.exchange((one, sent[0]), (other, sent[1]))
    assert live.arrivals() == {live.server.port: [bytes(frame) for frame in sent]}


def test_a_full_slot_of_gradients_is_summed_to_its_last_value(live: Live) -> None:
    """The update is as large as a slot, and its last beat is full."""
    first, second = live.cluster(2).workers[:2]
    mtu = 1500 - 20 - 8 - 22
    values = min((live.testbed.root.beats - 1) * 16, mtu // 4)
    one, other = gradient(3, values), gradient(4, values)
    with live.held():
        live.exchange((first, update(live, first, one)), (second, update(live, second, other)))
    [got] = at(live.arrivals(), live.server)
    assert got.values.tobytes() == (one + other).tobytes()


SPECIAL = np.array([0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan, 1.0], np.float32)


@pytest.mark.parametrize(
    "spread", [lambda v: v, np.flip, lambda v: np.roll(v, 3)], ids=["same", "flip", "roll"]
)
def test_sums_of_special_values_are_those_of_numpy(live: Live, spread: Callable[..., np.ndarray]) -> None:
    """Signed zeros, subnormals, overflow, infinities and NaN, bit for bit; a NaN is the canonical one."""
    first, second = live.cluster(2).workers[:2]
    other = np.ascontiguousarray(spread(SPECIAL))
    with live.held():
        live.exchange((first, update(live, first, SPECIAL)), (second, update(live, second, other)))
    [got] = at(live.arrivals(), live.server)
    with np.errstate(all="ignore"):
        expected = SPECIAL + other
    expected[np.isnan(expected)] = np.array(0x7FC00000, np.uint32).view(np.float32)
    assert got.values.view(np.uint32).tolist() == expected.view(np.uint32).tolist()


def test_what_arrives_is_never_more_than_what_was_sent(live: Live) -> None:
    """Without a bottleneck no update waits long enough to be lost: the counts add up to the number sent."""
    senders = live.cluster(2).workers[:2]
    sent = [(senders[nth % 2], update(live, senders[nth % 2], gradient(nth), seq=nth)) for nth in range(20)]
    with live.counting() as counted:
        arrived = live.exchange(*sent)
    got: list[Got] = at(arrived, live.server)
    replaced = counted["replaced_worker"]
    assert sum(frame.olaf.count for frame in got) + replaced == 20
