"""A full queue (OLAF §4): only an update that finds no free slot and none of its cluster is dropped."""

import pytest

from tests.packets.frames import at, gradient, update
from tests.packets.live import Live


def test_a_full_queue_drops_an_update_of_a_cluster_without_one(live: Live) -> None:
    """The queue only drops an incoming update if it is full and holds no update of the same cluster."""
    slots = live.slots
    workers = [live.cluster(1, nth).workers[0] for nth in range(slots + 1)]
    sent = [(worker, update(live, worker, gradient(nth))) for nth, worker in enumerate(workers)]
    with live.counting() as counted, live.held():
        live.exchange(*sent)
        assert live.registers.read("occupancy") == slots
    assert live.arrivals() == {live.server.port: [bytes(frame) for _, frame in sent[:slots]]}
    assert (counted["appended"], counted["dropped_full"]) == (slots, 1)


def test_a_full_queue_still_merges_and_replaces(live: Live) -> None:
    """When the queue is full, Olaf does not immediately drop: it aggregates with a waiting cluster."""
    slots = live.slots
    clusters = [live.cluster(2, nth) for nth in range(slots)]
    with live.counting() as counted, live.held():
        for nth, cluster in enumerate(clusters):
            live.exchange((cluster.workers[0], update(live, cluster.workers[0], gradient(nth))))
        first, second = clusters[0].workers[:2]
        live.exchange(
            (first, update(live, first, gradient(90))), (second, update(live, second, gradient(91)))
        )
    got = at(live.arrivals(), live.server)
    assert [frame.olaf.count for frame in got] == [2] + [1] * (slots - 1)
    assert got[0].values.tobytes() == (gradient(90) + gradient(91)).tobytes()
    assert (counted["dropped_full"], counted["replaced_worker"], counted["merged"]) == (0, 1, 1)


def test_a_congested_queue_never_holds_up_other_traffic(live: Live) -> None:
    """A full queue drops or merges, it never back-pressures the wire."""
    slots = live.slots
    workers = [live.cluster(1, nth).workers[0] for nth in range(slots + 1)]
    with live.held():
        for round_ in range(5):
            for nth, worker in enumerate(workers):
                live.send(worker, update(live, worker, gradient(nth), seq=round_))
        with live.counting() as counted:
            live.barrier()
        assert counted["out_bypass"] >= len(live.ports)
    assert len(at(live.arrivals(), live.server)) == slots


@pytest.mark.parametrize("values", [0, 1, 16, 17])
def test_every_update_that_was_appended_leaves(live: Live, values: int) -> None:
    worker = live.cluster(1).workers[0]
    sent = update(live, worker, gradient(1, values))
    with live.held():
        live.exchange((worker, sent))
    assert live.arrivals() == {live.server.port: [bytes(sent)]}
