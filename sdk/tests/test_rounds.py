"""Sums over an iswitch cluster: every member's contribution exactly once, whatever the network does."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

from olaf.errors import JoinRefused, NoAnswer
from olaf.rounds import Rounds
from olaf.transport import wire
from olaf.transport.address import Cluster
from olaf.transport.port import Address
from olaf.transport.segments import JUMBO_MTU, Vector
from olaf.transport.virtual import VirtualNetwork, VirtualPort
from tests.engines import EngineMedium, QueueEngine
from tests.testnet import SERVER, Tap, of, vector, worker_address

CONTROL: Address = ("10.0.0.253", wire.UDP_PORT)
LANDER = Cluster("lander", CONTROL)


class Job:
    """Members of one cluster below one engine."""

    def __init__(self, members: int, segments: int = 1, key: bytes = b"", **faults: Any) -> None:
        self.engine = QueueEngine(SERVER, members, segments, key)
        self.medium = EngineMedium(self.engine, CONTROL, **faults)
        self.network = VirtualNetwork(self.medium)
        self.addresses = [worker_address(number) for number in range(members)]

    def fixed(self, epoch: int = 0, mtu: int = JUMBO_MTU) -> list[Rounds]:
        return [
            Rounds(
                self.network.port(address),
                SERVER,
                len(self.addresses),
                segments=self.engine.segments,
                mtu=mtu,
                epoch=epoch,
                peers=[other for other in self.addresses if other != address],
                limit=30.0,
            )
            for address in self.addresses
        ]

    def joined(self, key: str = "") -> list[Rounds]:
        size = len(self.addresses)
        return [Rounds(self.network.port(a), LANDER, size, mtu=JUMBO_MTU, key=key) for a in self.addresses]

    def reduce(self, members: list[Rounds], vectors: list[Vector], seconds: float = 60.0) -> list[Vector]:
        results = [vector.copy() for vector in vectors]
        running = [member.start(result) for member, result in zip(members, results)]
        assert self.network.run(self.network.time + seconds, lambda: all(r.done for r in running))
        return results


def test_two_members_get_the_sum_bit_for_bit() -> None:
    job = Job(2, segments=3)
    members = job.fixed()
    for size in (1, 2241, 2242, 20_000):
        vectors = [vector(size, seed) for seed in range(2)]
        for result in job.reduce(members, vectors):
            assert np.array_equal(result, vectors[0] + vectors[1])
    assert members[0].counters.again == 0


def test_an_mtu_of_1500_gives_the_same_sums() -> None:
    job = Job(2, segments=4)
    vectors = [vector(9797, seed) for seed in range(2)]
    for result in job.reduce(job.fixed(mtu=1500), vectors):
        assert np.array_equal(result, vectors[0] + vectors[1])


def test_more_members_get_the_same_bits_within_the_stated_bound() -> None:
    members, spread = 7, 0.01
    job = Job(members, spread=spread, seed=4)
    vectors = [vector(5000, seed) for seed in range(members)]
    results = job.reduce(job.fixed(), vectors)
    assert all(np.array_equal(result, results[0]) for result in results)
    in_order = np.zeros(5000, np.float32)
    for one in vectors:
        in_order = in_order + one
    bound = 2 * (members - 1) * 2.0**-24 * np.abs(vectors).sum(axis=0, dtype=np.float64)
    assert (np.abs(results[0].astype(np.float64) - in_order) <= bound).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("way", ["fixed", "joined"])
def test_loss_repetition_and_reordering_change_no_bit(way: str, seed: int) -> None:
    job = Job(2, segments=2, loss=0.1, repeat=0.1, spread=0.01, seed=seed)
    members = job.fixed() if way == "fixed" else job.joined()
    for step in range(30):
        vectors = [vector(9000, 100 * step + number) for number in range(2)]
        for result in job.reduce(members, vectors):
            assert np.array_equal(result, vectors[0] + vectors[1])
    assert sum(member.counters.again for member in members) > 0
    assert sum(member.counters.helps for member in members) > 0
    assert sum(member.counters.helped for member in members) > 0
    assert sum(member.counters.repeated for member in members) > 0
    assert all(member.counters.partial == 0 for member in members)


def test_an_opening_sums_whole_segments() -> None:
    sizes: list[int] = []

    def lost(source: Address, to: Address, frame: bytes) -> list[bytes]:
        sizes.append(len(frame))
        return []

    network = VirtualNetwork(Tap(lost))
    member = Rounds(network.port(worker_address(0)), SERVER, 2, mtu=1500)
    assert member.open([0], 8, 0.01) == {0: 0}
    assert set(sizes) == {wire.OLAF_BYTES + 4 * wire.packet_values(1500)}
    assert "OLAF_MTU" in member.unopened([0], [])


def test_h_is_the_number_of_members_before_the_first_round() -> None:
    job = Job(3, segments=2, key=bytes.fromhex("5ec7e7"))
    job.engine.threshold = 1
    for index in job.engine.indices:
        index.threshold = 1
    members = job.joined(key="5ec7e7")
    assert job.engine.seen["threshold"] == 1
    vectors = [vector(500, seed) for seed in range(3)]
    for result in job.reduce(members, vectors):
        assert np.array_equal(result, vectors[0] + vectors[1] + vectors[2])
    assert all(member.counters.partial == 0 for member in members)


def test_three_members_with_loss_agree_on_every_bit() -> None:
    job = Job(3, segments=2, loss=0.05, repeat=0.05, spread=0.005, seed=1)
    members = job.joined()
    for step in range(30):
        results = job.reduce(members, [vector(9000, 100 * step + number) for number in range(3)])
        assert all(np.array_equal(result, results[0]) for result in results)


def test_a_member_ahead_waits_for_a_slow_one() -> None:
    job = Job(2)
    fast, slow = job.fixed()
    ones = [np.ones(10, np.float32) for _ in range(2)]
    first = fast.start(ones[0])
    job.network.run(2.0)
    assert not first.done
    last = slow.start(ones[1])
    assert job.network.run(5.0, lambda: first.done and last.done)
    assert ones[0].tolist() == ones[1].tolist() == [2.0] * 10
    assert job.engine.seen["duplicate"] > 0


def test_a_result_lost_to_everyone_is_made_again() -> None:
    job = Job(2)
    members = job.joined()
    vectors = [vector(100, seed) for seed in range(2)]
    running = [member.start(one) for member, one in zip(members, vectors)]
    expected = vectors[0] + vectors[1]
    job.network.run(job.network.time + 5e-5)  # contributions have arrived; results are under way
    job.network._events.clear()
    for member in members:
        member._port.wake()
    assert job.network.run(10.0, lambda: all(r.done for r in running))
    assert all(np.array_equal(one, expected) for one in vectors)
    assert job.engine.seen["reset"] >= 1


def test_an_engine_restart_within_a_round_loses_nothing() -> None:
    job = Job(2)
    members = job.joined()
    for step in range(5):
        vectors = [vector(3000, 10 * step + number) for number in range(2)]
        results = [one.copy() for one in vectors]
        first = members[0].start(results[0])
        job.network.run(job.network.time + 1.0)
        job.engine.restart()
        second = members[1].start(results[1])
        assert job.network.run(job.network.time + 10.0, lambda: first.done and second.done)  # noqa: B023
        assert all(np.array_equal(result, vectors[0] + vectors[1]) for result in results)


def test_a_second_job_never_gets_the_first_ones_sums() -> None:
    job = Job(2, spread=0.02, repeat=0.5, seed=3)
    first = job.fixed(epoch=1)
    job.engine.new_job(epoch=1)
    for step in range(5):
        job.reduce(first, [vector(100, step), vector(100, step)])
    leftovers = list(job.network._events)  # late and repeated frames of the first job
    for member in first:
        member.close()
    job.engine.new_job(epoch=2)
    second = job.fixed(epoch=2)
    job.network._events = leftovers
    for step in range(5):
        vectors = [vector(100, 50 + step), vector(100, 60 + step)]
        for result in job.reduce(second, vectors):
            assert np.array_equal(result, vectors[0] + vectors[1])


def test_results_of_the_last_job_are_refused_by_their_epoch() -> None:
    job = Job(2)
    member = job.fixed(epoch=2)[0]
    member.start(np.ones(2, np.float32))
    old = wire.Olaf(1, wire.FrameType.RESULT, 1, 1, 2, 0, 0.0, 0, 0, 0)
    member.receive(of(old.pack() + bytes(8)), SERVER)
    assert member.counters.results == 0
    assert member.counters.refused == 1


def test_a_restarted_control_plane_with_a_new_epoch_is_followed() -> None:
    job = Job(2)
    members = job.joined()
    job.reduce(members, [np.ones(10, np.float32)] * 2)
    job.engine.new_job(epoch=5)
    for result in job.reduce(members, [np.ones(10, np.float32)] * 2):
        assert result.tolist() == [2.0] * 10


def test_a_forced_partial_sum_is_scaled_and_counted() -> None:
    job = Job(4)
    member = job.fixed()[0]
    mine = np.ones(3, np.float32)
    running = member.start(mine)
    forced = wire.Olaf(1, wire.FrameType.RESULT, 0, 1, 3, 0, 0.0, 0, 0, 0)
    member.receive(of(forced.pack() + np.full(3, 3.0, "<f4").tobytes()), SERVER)
    assert running.done
    assert mine.tolist() == [4.0] * 3
    assert member.counters.partial == 1


def test_garbage_is_counted_and_changes_nothing() -> None:
    job = Job(2)
    members = job.fixed()
    stranger = job.network.port(("10.9.9.9", 1))
    for garbage in (
        b"",
        b"\x06",
        b"\x06" * 37,
        bytes(100),
        b"\x14" * 22,
        b"\xff" * 1500,
        b"\x14\x01" + b"\0" * 40,
    ):
        stranger.send(job.addresses[0], garbage)
    vectors = [vector(100, seed) for seed in range(2)]
    for result in job.reduce(members, vectors):
        assert np.array_equal(result, vectors[0] + vectors[1])


def test_a_round_that_does_not_end_says_what_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    job = Job(2)
    member = job.fixed()[0]
    with (
        caplog.at_level(logging.WARNING, "olaf"),
        pytest.raises(NoAnswer, match=r"round 0 of segment 0.*10\.0\.0\.254"),
    ):
        member.reduce(np.ones(3, np.float32))
    assert "round 0 of segment 0" in caplog.text
    with pytest.raises(NoAnswer, match="round 0"):
        member.start(np.ones(3, np.float32))


def test_a_reduction_after_a_failing_round_fails_too() -> None:
    job = Job(2)
    network = job.network

    class Contended(VirtualPort):
        """A caller gets the lock only after the thread that serves the port has worked for a minute."""

        @property
        def lock(self) -> AbstractContextManager[object]:
            network.run(network.time + 60.0)
            return super().lock

    port = network.port(job.addresses[0])
    member = Rounds(port, SERVER, 2, limit=30.0)
    member.start(vector(3, 1))
    port.__class__ = Contended
    with pytest.raises(NoAnswer, match="round 0"):
        member.start(vector(3, 2))


def test_join_gives_what_the_control_plane_says() -> None:
    job = Job(2, segments=3, key=bytes.fromhex("5ec7e7"))
    job.engine.epoch = 9
    members = job.joined(key="5ec7e7")
    vectors = [vector(20_000, seed) for seed in range(2)]
    for result in job.reduce(members, vectors):
        assert np.array_equal(result, vectors[0] + vectors[1])
    for member in members:
        member.close()
    job.network.run(job.network.time + 1.0)
    assert job.engine.seen["left"] == 2


def test_a_refused_join_says_why() -> None:
    job = Job(1, key=bytes.fromhex("5ec7e7"))
    with pytest.raises(JoinRefused, match="key"):
        job.joined(key="9e55")
    with pytest.raises(JoinRefused, match="the cluster does not exist"):
        Rounds(job.network.port(("10.0.9.9", 1)), Cluster("other", CONTROL), 1, key="5ec7e7")


def test_a_control_plane_that_is_silent_is_named() -> None:
    job = Job(1)
    job.engine.silent = True
    with pytest.raises(NoAnswer, match=r"lander at 10\.0\.0\.253.*daemon"):
        job.joined()
