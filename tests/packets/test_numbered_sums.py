"""iSwitch's asynchronous aggregation (iSwitch §4): H contributions of any members make a result, and results
have numbers."""

from collections.abc import Iterator

import numpy as np
import pytest
from scapy.layers.inet import UDP

from olafctl.daemon.api import olaf_pb2
from olafctl.membership.model import Cluster, Member
from olafctl.testbed.topology import Topology
from olafctl.wire import control
from olafctl.wire.control import ControlAction
from olafctl.wire.frames import unpack_header
from olafctl.wire.layouts import Flag, FrameType
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput
from tests.packets.frames import Got, at, contribution
from tests.packets.live import Live

Sent = tuple[Member, int]
"""A member, and the number of its contribution."""


@pytest.fixture
def cluster(live: Live) -> Iterator[Cluster]:
    """Provide a cluster whose sums are numbered, or else one of rounds with numbered sums for the test."""
    for candidate in live.testbed.clusters:
        own = live.testbed.mode_of(candidate) is Mode.ISWITCH_ASYNC
        if own and candidate.h == len(candidate.workers) > 1 and len(live.testbed.engines) == 1:
            yield candidate
            live.ask("SetThreshold", cluster=candidate.name, threshold=candidate.threshold)
            return
    yield from _numbered(live, live.round_cluster(workers=2))


@pytest.fixture
def spread(tree: Live) -> Iterator[Cluster]:
    """Provide a cluster with numbered sums and members at several engines."""
    topology = Topology(tree.testbed)
    for candidate in tree.testbed.clusters:
        if tree.testbed.mode_of(candidate) is Mode.ISWITCH and topology.is_spread(candidate):
            yield from _numbered(tree, candidate)
            return
    pytest.skip("needs a cluster of mode iswitch with workers at several engines")


def _numbered(live: Live, cluster: Cluster) -> Iterator[Cluster]:
    live.ask("SetMode", cluster=cluster.name, mode=olaf_pb2.ISWITCH_ASYNC)
    try:
        yield cluster
    finally:
        live.ask("SetThreshold", cluster=cluster.name, threshold=0)
        live.ask("SetMode", cluster=cluster.name, mode=olaf_pb2.ISWITCH)


def exchange(live: Live, cluster: Cluster, *sent: Sent, segment: int = 0) -> list[Got]:
    """Send contributions of one value each, 1000 times the member plus the number; return the results."""
    frames = [
        (member, contribution(live, member, np.full(64, _value(member, number), np.float32), number, segment))
        for member, number in sent
    ]
    arrived = live.exchange(*frames)
    first, *others = (at(arrived, worker) for worker in cluster.workers)
    for other in others:
        assert [bytes(got.ether[UDP].payload) for got in other] == [
            bytes(got.ether[UDP].payload) for got in first
        ]
    assert sum(map(len, arrived.values())) == len(cluster.workers) * len(first)
    return first


def seen(found: list[Got]) -> list[tuple[int, int, float]]:
    """Return (number, count, sum) of each result."""
    assert all(got.olaf.frame_type == FrameType.RESULT for got in found)
    assert all(got.olaf.flags == Flag.AGGREGATED for got in found)
    assert all(len({*got.values}) == 1 for got in found)
    return [(got.olaf.seq, got.olaf.count, float(got.values[0])) for got in found]


def _value(member: Member, number: int) -> float:
    return 1000 * member.number + number % 1000


def total(*sent: Sent) -> float:
    return sum(_value(member, number) for member, number in sent)


def test_the_next_h_contributions_of_any_members_make_a_result(live: Live, cluster: Cluster) -> None:
    count = len(cluster.workers)
    first, second = cluster.workers[:2]
    one = [(first, 7 + nth) for nth in range(count)]
    other = [(second, 900 + nth) for nth in range(count)]
    assert seen(exchange(live, cluster, *one, *other)) == [(1, count, total(*one)), (2, count, total(*other))]


def test_a_repeated_contribution_counts_once_in_all_results(live: Live, cluster: Cluster) -> None:
    count = len(cluster.workers)
    first, second = cluster.workers[:2]
    sent = [(first, 1), (first, 1), *((second, 1 + nth) for nth in range(count - 1)), (first, 1)]
    once = {*sent}
    with live.counting() as counted:
        assert seen(exchange(live, cluster, *sent)) == [(1, count, total(*once))]
    assert counted["dropped_duplicate"] == 2


def test_contributions_may_overtake_each_other_within_the_window(live: Live, cluster: Cluster) -> None:
    """One of the sixteen before the newest still counts, an earlier one is late."""
    first = cluster.workers[0]
    live.ask("SetThreshold", cluster=cluster.name, threshold=2)
    with live.counting() as counted:
        found = exchange(live, cluster, (first, 100), (first, 83), (first, 84), (first, 84))
    assert seen(found) == [(1, 2, total((first, 100), (first, 84)))]
    assert (counted["dropped_late"], counted["dropped_duplicate"]) == (1, 1)


def test_h_may_be_more_than_the_members(live: Live, cluster: Cluster) -> None:
    wanted = 2 * len(cluster.workers)
    assert live.ask("SetThreshold", cluster=cluster.name, threshold=wanted).threshold == wanted
    sent = [(worker, number) for number in (5, 6) for worker in cluster.workers]
    assert exchange(live, cluster, *sent[:-1]) == []
    assert seen(exchange(live, cluster, sent[-1])) == [(1, wanted, total(*sent))]


def test_an_h_that_the_members_can_never_meet_is_refused(live: Live, cluster: Cluster) -> None:
    workers = len(cluster.workers)
    with pytest.raises(BadInput, match=f"{workers} workers, each with up to 16 .*give 1 … {16 * workers}"):
        live.ask("SetThreshold", cluster=cluster.name, threshold=16 * workers + 1)


def test_numbers_go_on_after_a_new_h_forced_sums_and_halt(live: Live, cluster: Cluster) -> None:
    first = cluster.workers[0]
    live.ask("SetThreshold", cluster=cluster.name, threshold=1)
    assert [got.olaf.seq for got in exchange(live, cluster, (first, 1))] == [1]
    live.ask("SetThreshold", cluster=cluster.name, threshold=3)
    assert exchange(live, cluster, (first, 2)) == []
    live.ask("FBcast", cluster=cluster.name, segment=0)
    assert seen(exchange(live, cluster)) == [(2, 1, total((first, 2)))]
    live.ask("FBcast", cluster=cluster.name, segment=0)
    assert exchange(live, cluster, (first, 3)) == []
    for call, halted in (("Halt", 1), ("Resume", 0)):
        live.ask(call, cluster=cluster.name)
        for worker in cluster.workers:
            assert unpack_header(control.HALT, live.next_message(worker))["halted"] == halted
        if halted:
            assert exchange(live, cluster, (first, 4)) == []
    # Contributions that were dropped while it was halted may come again.
    sent = [(first, number) for number in (3, 4, 5)]
    assert seen(exchange(live, cluster, *sent[1:])) == [(3, 3, total(*sent))]


def test_reset_begins_at_number_1_and_takes_everything_again(live: Live, cluster: Cluster) -> None:
    count = len(cluster.workers)
    sent = [(worker, 9) for worker in cluster.workers]
    assert seen(exchange(live, cluster, *sent, (sent[0][0], 10))) == [(1, count, total(*sent))]
    live.ask("Reset", cluster=cluster.name, segment=0)
    assert seen(exchange(live, cluster, *sent)) == [(1, count, total(*sent))]


def test_segments_have_numbers_of_their_own(live: Live, cluster: Cluster) -> None:
    if cluster.segments < 2:
        pytest.skip("needs a model of two segments")
    sent = [(worker, 1) for worker in cluster.workers]
    again = [(worker, 2) for worker in cluster.workers]
    assert [got.olaf.seq for got in exchange(live, cluster, *sent, *again)] == [1, 2]
    [result] = exchange(live, cluster, *sent, segment=1)
    assert (result.olaf.seq, result.olaf.segment) == (1, 1)


def test_help_is_passed_on_and_nothing_is_reset_by_it(live: Live, cluster: Cluster) -> None:
    count = len(cluster.workers)
    sent = [(worker, 1) for worker in cluster.workers]
    assert len(exchange(live, cluster, *sent)) == 1
    for asker in cluster.workers:
        live.ask("Help", cluster=cluster.name, segment=0, round=1, worker=asker.name)
        for other in cluster.workers:
            if other is not asker:
                fields = unpack_header(control.HELP, live.next_message(other))
                assert (fields["action"], fields["round"]) == (ControlAction.HELP, 1)
    again = [(worker, 2) for worker in cluster.workers]
    assert seen(exchange(live, cluster, *again)) == [(2, count, total(*again))]


def test_engines_number_what_they_pass_on(tree: Live, spread: Cluster) -> None:
    """A child's result is its own contribution to its parent's next result; the root's go down to all."""
    count = len(spread.workers)
    for number in (1, 2, 3):
        sent = [(worker, number) for worker in reversed(spread.workers)]
        assert seen(exchange(tree, spread, *sent)) == [(number, count, total(*sent))]


def test_one_rack_may_make_a_whole_result(tree: Live, spread: Cluster) -> None:
    """No sum waits for a certain member or engine: here one member contributes for all others."""
    topology = Topology(tree.testbed)
    top = topology.top(spread)
    rack = next(topology.home(worker) for worker in spread.workers if topology.home(worker) != top)
    own = [worker for worker in spread.workers if topology.home(worker) == rack]
    sent = [(worker, number) for number in range(len(spread.workers)) for worker in own]
    found = exchange(tree, spread, *sent)
    assert [got.olaf.seq for got in found] == [*range(1, len(found) + 1)]
    assert all(got.olaf.count >= len(spread.workers) for got in found)
    complete = sum(got.olaf.count for got in found)
    assert sum(seen([got])[0][2] for got in found) == total(*sent[:complete])


def test_reset_begins_again_at_every_engine(tree: Live, spread: Cluster) -> None:
    sent = [(worker, 1) for worker in spread.workers]
    for number in (1, 2):
        again = [(worker, number) for worker in spread.workers]
        assert [got.olaf.seq for got in exchange(tree, spread, *again)] == [number]
    tree.ask("Reset", cluster=spread.name, segment=None)
    assert seen(exchange(tree, spread, *sent)) == [(1, len(sent), total(*sent))]


def test_a_mode_that_changes_begins_again_at_every_engine(tree: Live, spread: Cluster) -> None:
    sent = [(worker, 1) for worker in spread.workers]
    assert seen(exchange(tree, spread, *sent)) == [(1, len(sent), total(*sent))]
    for mode in (olaf_pb2.ISWITCH, olaf_pb2.ISWITCH_ASYNC):
        tree.ask("SetMode", cluster=spread.name, mode=mode)
        assert seen(exchange(tree, spread, *sent)) == [(1, len(sent), total(*sent))]
