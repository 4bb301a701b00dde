"""Replacement (OLAF §3): a newer update subsumes the unaggregated older one of the same worker."""

from olafctl.wire.layouts import Flag
from tests.packets.conftest import need_slots
from tests.packets.frames import at, gradient, update
from tests.packets.live import Live


def test_a_newer_update_replaces_the_waiting_one_of_its_worker(live: Live) -> None:
    """The acceleration engine replaces the older update in the queue by the new one."""
    worker = live.cluster(1).workers[0]
    older = update(live, worker, gradient(1), seq=1, reward=9.0)
    newer = update(live, worker, gradient(2), seq=2, reward=1.0)
    with live.counting() as counted, live.held():
        live.exchange((worker, older), (worker, newer))
    assert live.arrivals() == {live.server.port: [bytes(newer)]}
    assert (counted["appended"], counted["replaced_worker"], counted["merged"]) == (1, 1, 0)


def test_an_aggregate_is_not_replaced_by_one_of_its_workers(live: Live) -> None:
    """Replacement occurs if and only if two unaggregated models of the same worker meet in the queue."""
    first, second = live.cluster(2).workers[:2]
    values = [gradient(nth) for nth in range(3)]
    with live.counting() as counted, live.held():
        live.exchange(
            (first, update(live, first, values[0], seq=1)),
            (second, update(live, second, values[1], seq=2)),
            (first, update(live, first, values[2], seq=3)),
        )
    [got] = at(live.arrivals(), live.server)
    assert got.values.tobytes() == (values[0] + values[1] + values[2]).tobytes()
    assert (got.olaf.count, got.olaf.flags) == (3, Flag.AGGREGATED)
    assert (counted["merged"], counted["replaced_worker"]) == (2, 0)


def test_a_replacement_keeps_its_place_in_the_queue(live: Live) -> None:
    """The new update inherits the position of the old update within the departure sequence order."""
    need_slots(live, 2)
    one, other = live.cluster(1).workers[0], live.cluster(1, 1).workers[0]
    newer, behind = update(live, one, gradient(3), seq=2), update(live, other, gradient(2))
    with live.held():
        live.exchange((one, update(live, one, gradient(1), seq=1)), (other, behind), (one, newer))
    assert live.arrivals() == {live.server.port: [bytes(newer), bytes(behind)]}


def test_a_replaced_update_may_then_be_aggregated(live: Live) -> None:
    first, second = live.cluster(2).workers[:2]
    newer, other = gradient(2), gradient(3)
    with live.held():
        live.exchange(
            (first, update(live, first, gradient(1), seq=1)),
            (first, update(live, first, newer, seq=2)),
            (second, update(live, second, other, seq=1)),
        )
    [got] = at(live.arrivals(), live.server)
    assert got.values.tobytes() == (newer + other).tobytes()
    assert got.olaf.count == 2
