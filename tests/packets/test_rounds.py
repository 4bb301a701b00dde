"""iSwitch's synchronous aggregation (iSwitch §3): rounds of one contribution of each member, exactly once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from olafctl.membership.model import Cluster, Member
from olafctl.queue.registers import Command
from olafctl.wire import control
from olafctl.wire.control import ControlAction
from olafctl.wire.frames import unpack_header
from olafctl.wire.layouts import Flag, FrameType, Refusal
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, OlafError
from tests.packets.frames import Got, Gradient, at, contribution, gradient, update
from tests.packets.live import Arrivals, Live


def results(live: Live, cluster: Cluster, arrived: Arrivals) -> list[Got]:
    """Return the results that arrived, after checking that exactly the members got each of them."""
    per_member = [at(arrived, worker) for worker in cluster.workers]
    assert {len(got) for got in per_member} == {len(per_member[0])}
    assert sum(len(frames) for frames in arrived.values()) == sum(map(len, per_member))
    for worker, got in zip(cluster.workers, per_member, strict=True):
        for result in got:
            frame = result.ether
            assert frame[IP].dst == str(worker.ip)
            assert frame[IP].src == str(live.engine.ip)
            assert (frame[UDP].sport, frame[UDP].dport) == (live.testbed.udp_port, worker.udp_port)
            assert frame[IP].chksum == Ether(bytes(_without_checksum(frame)))[IP].chksum
    payloads = {bytes(got.ether[UDP].payload) for member in per_member for got in member}
    assert len(payloads) <= len(per_member[0])
    return per_member[0]


def contributions(
    live: Live, workers: Sequence[Member], round_: int, segment: int = 0
) -> list[tuple[Member, Packet]]:
    """Return contributions to one round, with values that depend on the member."""
    return [
        (worker, contribution(live, worker, gradient(worker.number, 64), round_, segment))
        for worker in workers
    ]


def test_the_sum_of_a_round_is_broadcast_to_exactly_the_members(live: Live) -> None:
    """When H contributions are in, the sum goes to every member, and nothing to a parameter server."""
    cluster = live.round_cluster(workers=2)
    values = [gradient(nth, 64) for nth in range(len(cluster.workers))]
    with live.counting() as counted:
        arrived = live.exchange(
            *(
                (worker, contribution(live, worker, values[nth], 7, gen_time=100 + nth, reward=float(nth)))
                for nth, worker in enumerate(cluster.workers)
            )
        )
    [result] = results(live, cluster, arrived)
    total = values[0]
    for others in values[1:]:
        total = total + others
    header = result.olaf
    assert result.values.tobytes() == total.tobytes()
    assert (header.frame_type, header.flags) == (FrameType.RESULT, Flag.AGGREGATED)
    assert (header.seq, header.count, header.segment) == (7, len(cluster.workers), 0)
    assert (header.gen_time, header.reward) == (99 + len(cluster.workers), len(cluster.workers) - 1)
    assert (counted["appended"], counted["merged"]) == (1, len(cluster.workers) - 1)


def test_nothing_leaves_before_the_last_contribution(live: Live) -> None:
    cluster = live.round_cluster(workers=2)
    *others, last = cluster.workers
    assert live.exchange(*contributions(live, others, 1)) == {}
    assert live.registers.read("accumulating") == 1
    [result] = results(live, cluster, live.exchange(*contributions(live, [last], 1)))
    assert result.olaf.count == len(cluster.workers)
    assert live.registers.read("accumulating") == 0


def test_a_repeated_contribution_is_counted_and_not_added(live: Live) -> None:
    cluster = live.round_cluster(workers=2)
    first, *others = cluster.workers
    with live.counting() as counted:
        assert live.exchange(*contributions(live, [first, first], 1)) == {}
        [result] = results(live, cluster, live.exchange(*contributions(live, others, 1)))
    assert counted["dropped_duplicate"] == 1
    assert result.values.tobytes() == _sum(cluster).tobytes()


def test_a_contribution_to_a_finished_round_is_not_added(live: Live) -> None:
    cluster = live.round_cluster(workers=2)
    results(live, cluster, live.exchange(*contributions(live, cluster.workers, 1)))
    with live.counting() as counted:
        assert live.exchange(*contributions(live, [cluster.workers[0]], 1)) == {}
    assert counted["dropped_late"] == 1
    [result] = results(live, cluster, live.exchange(*contributions(live, cluster.workers, 2)))
    assert (result.olaf.seq, result.values.tobytes()) == (2, _sum(cluster).tobytes())


def test_a_newer_round_replaces_one_that_is_never_finished(live: Live) -> None:
    cluster = live.round_cluster(workers=2)
    with live.counting() as counted:
        assert live.exchange(*contributions(live, cluster.workers[:1], 1)) == {}
        [result] = results(live, cluster, live.exchange(*contributions(live, cluster.workers, 2)))
    assert counted["dropped_superseded"] == 1
    assert (result.olaf.seq, result.values.tobytes()) == (2, _sum(cluster).tobytes())


def test_rounds_count_on_beyond_their_largest_number(live: Live) -> None:
    """Rounds are compared as serial numbers: 0 follows 2^32 - 1."""
    cluster = live.round_cluster(workers=2)
    for round_ in (2**32 - 1, 0):
        [result] = results(live, cluster, live.exchange(*contributions(live, cluster.workers, round_)))
        assert result.olaf.seq == round_


def test_fbcast_releases_the_partial_sum_now(live: Live) -> None:
    cluster = live.round_cluster(workers=2)
    live.exchange(*contributions(live, cluster.workers[:1], 3))
    with live.counting() as counted:
        live.ask("FBcast", cluster=cluster.name, segment=0)
    [result] = results(live, cluster, live.arrivals())
    assert (result.olaf.count, result.olaf.seq) == (1, 3)
    assert result.values.tobytes() == gradient(cluster.workers[0].number, 64).tobytes()
    assert counted["forced"] == 1


def test_fbcast_of_nothing_does_nothing(live: Live) -> None:
    cluster = live.round_cluster()
    live.ask("FBcast", cluster=cluster.name, segment=None)
    assert live.arrivals() == {}


def test_reset_discards_the_partial_sum(live: Live) -> None:
    cluster = live.round_cluster(workers=2)
    live.exchange(*contributions(live, cluster.workers[:1], 1))
    with live.counting() as counted:
        live.ask("Reset", cluster=cluster.name, segment=None)
    assert counted["dropped_reset"] == 1
    [result] = results(live, cluster, live.exchange(*contributions(live, cluster.workers, 1)))
    assert result.values.tobytes() == _sum(cluster).tobytes()


def test_reset_forgets_the_finished_round(live: Live) -> None:
    """No member has its result: their contributions, sent again, make it again."""
    cluster = live.round_cluster(workers=2)
    live.exchange(*contributions(live, cluster.workers, 5))
    live.ask("Reset", cluster=cluster.name, segment=0)
    [result] = results(live, cluster, live.exchange(*contributions(live, cluster.workers, 5)))
    assert (result.olaf.seq, result.values.tobytes()) == (5, _sum(cluster).tobytes())


def test_set_h_while_accumulating_releases_what_is_enough(live: Live) -> None:
    cluster = live.round_cluster(workers=3)
    count = len(cluster.workers)
    live.exchange(*contributions(live, cluster.workers[:-1], 1))
    try:
        live.ask("SetThreshold", cluster=cluster.name, threshold=count - 1)
        [result] = results(live, cluster, live.arrivals())
        assert result.olaf.count == count - 1
    finally:
        live.ask("SetThreshold", cluster=cluster.name, threshold=count)


@pytest.mark.parametrize("beyond", [1, 1000])
def test_an_h_that_no_round_can_have_is_refused(live: Live, beyond: int) -> None:
    cluster = live.round_cluster()
    workers = len(cluster.workers)
    with pytest.raises(BadInput, match=f"give 1 … {workers}"):
        live.ask("SetThreshold", cluster=cluster.name, threshold=workers + beyond)


def test_a_halted_cluster_keeps_its_partial_sum(live: Live) -> None:
    cluster = live.round_cluster(workers=2)
    first, *others = cluster.workers
    live.exchange(*contributions(live, [first], 1))
    with live.counting() as counted, _halted(live, cluster):
        for worker in cluster.workers:
            assert unpack_header(control.HALT, live.next_message(worker))["halted"] == 1
        assert live.exchange(*contributions(live, others, 1)) == {}
    assert counted["dropped_halted"] == len(others)
    for worker in cluster.workers:
        assert unpack_header(control.HALT, live.next_message(worker))["halted"] == 0
    [result] = results(live, cluster, live.exchange(*contributions(live, others, 1)))
    assert result.values.tobytes() == _sum(cluster).tobytes()


def test_help_is_passed_on_to_the_other_members(live: Live) -> None:
    cluster = live.round_cluster(workers=2)
    asker, *others = cluster.workers
    assert list(live.ask("Help", cluster=cluster.name, segment=0, round=9, worker=asker.name).asked) == [
        worker.name for worker in others
    ]
    for other in others:
        fields = unpack_header(control.HELP, live.next_message(other))
        assert (fields["action"], fields["segment"], fields["round"]) == (ControlAction.HELP, 0, 9)
        assert (fields["asker_addr"], fields["asker_port"]) == (int(asker.ip), asker.udp_port)


def test_only_the_engine_speaks_for_itself(live: Live) -> None:
    """A result in the engine's name that comes in by any front port is forged."""
    cluster = live.round_cluster(workers=2)
    frame = contribution(live, cluster.workers[0], gradient(1, 64), 4, frame_type=FrameType.RESULT, count=9)
    frame[IP].src, frame[IP].dst = frame[IP].dst, str(cluster.workers[0].ip)
    frame[UDP].sport = live.testbed.udp_port
    forged = bytes(_without_checksum(frame))
    with live.refusing() as refused:
        for port in live.ports:
            live.send_at(port, Ether(forged))
        assert live.arrivals() == {}
    assert refused == {Refusal.PORT: len(live.ports)}


def test_a_worker_counts_for_one(live: Live) -> None:
    """Otherwise one worker could end a round for all."""
    cluster = live.round_cluster(workers=2)
    worker, count = cluster.workers[0], len(cluster.workers)
    with live.counting() as counted, live.refusing() as refused:
        for fields in ({"count": count}, {"flags": Flag.AGGREGATED}):
            assert live.exchange((worker, contribution(live, worker, gradient(5, 64), 1, **fields))) == {}
    assert (counted["in_updates"], refused) == (0, {Refusal.MERGED: 2})


def test_segments_of_a_round_finish_by_themselves(live: Live) -> None:
    cluster = live.round_cluster(workers=2, segments=2)
    *others, last = cluster.workers
    with live.settings(accumulate_quota=live.testbed.root.slots):
        assert live.exchange(*contributions(live, others, 1, 0), *contributions(live, others, 1, 1)) == {}
        [second] = results(live, cluster, live.exchange(*contributions(live, [last], 1, 1)))
        [first] = results(live, cluster, live.exchange(*contributions(live, [last], 1, 0)))
    assert (first.olaf.segment, second.olaf.segment) == (0, 1)
    assert first.values.tobytes() == second.values.tobytes() == _sum(cluster).tobytes()


def test_rounds_never_take_more_slots_than_their_quota(live: Live) -> None:
    cluster = live.round_cluster(workers=2, segments=2)
    with live.settings(accumulate_quota=1):
        with live.counting() as counted:
            sent = [
                frame for segment in (0, 1) for frame in contributions(live, cluster.workers[:1], 1, segment)
            ]
            assert live.exchange(*sent) == {}
        assert (counted["appended"], counted["dropped_quota"]) == (1, 1)
        worker = live.cluster(1).workers[0]
        frame = update(live, worker, gradient(1))
        assert live.exchange((worker, frame)) == {live.server.port: [bytes(frame)]}


def test_clusters_of_both_modes_share_the_engine(live: Live) -> None:
    """A waiting update of one is never added to the other's."""
    cluster = live.round_cluster(workers=2)
    first, second = live.cluster(2).workers[:2]
    one, other = gradient(21), gradient(22)
    live.exchange(*contributions(live, cluster.workers[:-1], 1))
    with live.held():
        live.exchange((first, update(live, first, one)), (second, update(live, second, other)))
    [merged] = at(live.arrivals(), live.server)
    assert merged.values.tobytes() == (one + other).tobytes()
    [result] = results(live, cluster, live.exchange(*contributions(live, cluster.workers[-1:], 1)))
    assert result.values.tobytes() == _sum(cluster).tobytes()


def test_leaving_the_mode_discards_the_partial_sum(live: Live) -> None:
    cluster = live.round_cluster(workers=2)
    live.exchange(*contributions(live, cluster.workers[:1], 1))
    with live.counting() as counted, live.configured(cluster, mode=Mode.OLAF, threshold=1):
        pass
    assert counted["dropped_reset"] == 1
    assert live.arrivals() == {}


def test_a_command_beyond_the_indices_is_refused(live: Live) -> None:
    indices = live.testbed.root.indices
    before = live.registers.settings()
    with pytest.raises(OlafError, match=f"0 … {indices - 1}"):
        live.registers.command(Command.RESET, 0, indices)
    assert live.registers.settings() == before


def _sum(cluster: Cluster) -> Gradient:
    total = gradient(cluster.workers[0].number, 64)
    for worker in cluster.workers[1:]:
        total = total + gradient(worker.number, 64)
    return total


@contextmanager
def _halted(live: Live, cluster: Cluster) -> Iterator[None]:
    live.ask("Halt", cluster=cluster.name)
    try:
        yield
    finally:
        live.ask("Resume", cluster=cluster.name)


def _without_checksum(frame: Packet) -> Packet:
    copy = frame.copy()
    del copy[IP].chksum
    return copy
