"""The time at which the engines above may know a worker again that changed its cluster."""

from dataclasses import replace
from ipaddress import IPv4Address

from olafctl.daemon.settling import Settling
from olafctl.membership.model import Cluster
from olafctl.wire.modes import Mode
from tests.daemon.test_order import BED, make_clusters

ADDRESS = IPv4Address("10.0.1.1")


def make_queues(out: int, waiting: int) -> dict[str, dict[str, int]]:
    empty = {"out_updates": 0, "occupancy": 0, "accumulating": 0}
    return {
        "root": {**empty, "occupancy": 4},
        "left": {**empty, "out_updates": out, "occupancy": waiting},
        "right": empty,
        "leaf": empty,
    }


class ManualClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def cluster_at_port(cluster: int, port: int = 11) -> tuple[Cluster, ...]:
    return make_clusters({1: (port, cluster)}, Mode.OLAF)


def test_it_ends_when_what_waited_has_left_and_links_are_empty() -> None:
    clock = ManualClock()
    settling = Settling(BED, clock)
    settling.begin_settling(settling.find_leaving(cluster_at_port(0), cluster_at_port(1)))
    assert settling.take_passed(make_queues(out=7, waiting=2)) == set()
    clock.now += 60
    assert settling.take_passed(make_queues(out=8, waiting=2)) == set()
    assert settling.take_passed(make_queues(out=9, waiting=5)) == set()
    clock.now += 0.99
    assert settling.take_passed(make_queues(out=9, waiting=5)) == set()
    assert settling.addresses == {ADDRESS}
    clock.now += 0.02
    assert settling.take_passed(make_queues(out=9, waiting=5)) == {ADDRESS}
    assert settling.addresses == set()


def test_a_change_in_between_begins_it_again() -> None:
    clock = ManualClock()
    settling = Settling(BED, clock)
    settling.begin_settling(settling.find_leaving(cluster_at_port(0), cluster_at_port(1)))
    settling.take_passed(make_queues(out=0, waiting=0))
    clock.now += 60
    settling.begin_settling(settling.find_leaving(cluster_at_port(1), cluster_at_port(0)))
    assert settling.take_passed(make_queues(out=0, waiting=0)) == set()


def test_who_returns_to_its_cluster_is_known_at_once() -> None:
    settling = Settling(BED)
    settling.begin_settling(settling.find_leaving(cluster_at_port(0), ()))
    assert settling.find_leaving((), cluster_at_port(1)) == {}
    assert settling.addresses == {ADDRESS}
    assert settling.find_leaving((), cluster_at_port(0)) == {}
    assert settling.addresses == set()


def test_another_engine_and_places_at_the_root_leave_nothing() -> None:
    settling = Settling(BED)
    assert settling.find_leaving(cluster_at_port(0), cluster_at_port(0, port=21)) == {}
    assert settling.find_leaving(cluster_at_port(0, port=1), cluster_at_port(1, port=1)) == {}


def test_with_one_engine_no_worker_settles() -> None:
    settling = Settling(replace(BED, engines=BED.engines[:1], links=()))
    assert settling.find_leaving(cluster_at_port(0), cluster_at_port(1)) == {}
