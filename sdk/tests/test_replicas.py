"""Replicas: all members have the same bits, whatever the network loses and whichever member dies."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from olaf.replicas.replica import Replica
from olaf.replicas.trained import Descent
from olaf.transport import wire
from olaf.transport.port import Address
from olaf.transport.segments import Vector
from olaf.transport.virtual import VirtualNetwork
from tests.engines import SumNetwork
from tests.testnet import SERVER, gradient, worker_address

RATE = 0.125


class Script:
    """A member's computing: a gradient takes ``pace`` seconds, then it is committed."""

    def __init__(self, job: Job, address: Address, **options: Any) -> None:
        self.job, self.address = job, address
        self.stale: list[int] = []
        self.number = 0
        self.computing = False
        self.alive = True
        self.replica = Replica(
            f"{SERVER[0]}:{SERVER[1]}",
            Descent(options.pop("weights", job.first), options.pop("rate", RATE)),
            port=job.network.port(address),
            peers=[other for other in job.addresses if other != address],
            stepped=self._look,
            **{**job.options, **options},
        )

    def _look(self) -> None:
        self.job.network.at(self.job.network.time, self._compute)

    def _compute(self) -> None:
        if self.computing or not self.alive or not self.replica.ready:
            return
        self.computing = True
        version, weights = self.replica.weights()
        one = self.job.compute(self.address, self.number, version, weights)
        self.number += 1
        pause = self.job.pace * (0.5 + self.job.medium.random.random())
        self.job.network.at(self.job.network.time + pause, lambda: self._commit(one, version))

    def _commit(self, one: Vector, version: int) -> None:
        self.computing = False
        if self.alive:
            lag = self.replica.version - version
            if self.replica.commit(one, version):
                self.stale.append(lag)
            self._compute()

    def kill(self) -> None:
        """End without a message."""
        self.alive = False
        self.replica._port.close()


class Job:
    """Members of one training below engines."""

    def __init__(
        self,
        members: int,
        h: int | None = None,
        staleness: int = 3,
        until: int = 60,
        values: int = 700,
        segments: int = 2,
        racks: int = 1,
        pace: float = 0.004,
        **faults: Any,
    ) -> None:
        self.addresses = [worker_address(number) for number in range(members)]
        each = -(-members // racks)
        self.medium = SumNetwork(
            SERVER,
            [self.addresses[rack * each : (rack + 1) * each] for rack in range(racks)],
            h or members,
            segments,
            **faults,
        )
        self.network = VirtualNetwork(self.medium, epoch=1_790_000_000_000_000_000)
        self.first = gradient(99, values)
        self.options = {
            "h": h or members,
            "staleness": staleness,
            "until": until,
            "segments": segments,
            "limit": 120.0,
        }
        self.pace, self.until = pace, until
        self.scripts: dict[Address, Script] = {}

    def compute(self, address: Address, number: int, version: int, weights: Vector) -> Vector:
        return gradient(zlib.crc32(f"{address} {number} {version}".encode()), len(weights))

    def begin(self, *numbers: int, **options: Any) -> list[Script]:
        """Begin these members, or all."""
        chosen = [self.addresses[number] for number in numbers] if numbers else self.addresses
        for address in chosen:
            self.scripts[address] = Script(self, address, **options)
        return [self.scripts[address] for address in chosen]

    def run_job(self, seconds: float = 600.0) -> None:
        """Run until all members that are alive are done."""
        alive = [script for script in self.scripts.values() if script.alive]
        ended = self.network.run(
            self.network.time + seconds,
            lambda: all(script.replica.done or script.replica.failure for script in alive),
        )
        assert [script.replica.failure for script in alive] == [None] * len(alive)
        assert ended, [(s.replica.version, s.replica._member.group.me.state) for s in alive]
        end = self.network.time + 30.0
        assert self.network.run(end, lambda: all(script.replica._member.level for script in alive))
        self.equal()

    def until_version(self, version: int, seconds: float = 300.0) -> None:
        alive = [script for script in self.scripts.values() if script.alive]
        assert self.network.run(
            self.network.time + seconds, lambda: all(script.replica.version >= version for script in alive)
        )

    def equal(self) -> None:
        """Check that all members that are alive have the same bits, at the last version."""
        ends = [script.replica.weights() for script in self.scripts.values() if script.alive]
        assert {version for version, _ in ends} == {self.until}
        assert all(np.array_equal(weights, ends[0][1]) for _, weights in ends)
        assert not np.array_equal(ends[0][1], self.first)


def test_members_have_the_same_weights_without_any_loss() -> None:
    job = Job(4)
    scripts = job.begin()
    job.run_job()
    for script in scripts:
        assert max(script.stale) <= 3
        assert script.replica.gaps.voids == 0
        assert sum(script.replica.commits.histogram) == script.replica.commits.commits == len(script.stale)
    assert job.medium.results[0] >= 60


@pytest.mark.parametrize("seed", range(12))
def test_loss_repetition_and_reordering_change_no_bit(seed: int) -> None:
    job = Job(
        2 + seed % 4, segments=1 + seed % 3, loss=(0.01, 0.1, 0.3)[seed % 3], repeat=0.2,
        spread=(0.0, 0.01, 0.1)[seed // 3 % 3], seed=seed, staleness=seed % 4,
    )  # fmt: skip
    job.begin()
    job.run_job()
    assert sum(script.replica.gaps.helps for script in job.scripts.values()) > 0


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_member_returns_and_another_comes_late(seed: int) -> None:
    job = Job(5, h=4, loss=0.05, repeat=0.05, spread=0.002, seed=seed, until=400)
    job.begin(0, 1, 2, 3)
    job.until_version(60)
    killed = job.scripts[job.addresses[seed % 4]]
    killed.kill()
    job.until_version(120)
    (late,) = job.begin(4)
    job.until_version(200)
    (back,) = job.begin(seed % 4)
    job.run_job()
    assert late.replica.counters.snapshots >= 1
    assert back.replica.counters.snapshots >= 1
    assert back.number > 0
    assert all(script.replica.counters.diverged == 0 for script in job.scripts.values())


@pytest.mark.parametrize("segments", [1, 2])
def test_a_member_that_comes_back_contributes_again(segments: int) -> None:
    job = Job(3, h=2, segments=segments, until=400)
    job.begin()
    job.until_version(60)
    job.scripts[job.addresses[2]].kill()
    job.until_version(120)
    (back,) = job.begin(2)
    job.run_job()
    assert back.replica.commits.left_out < back.replica.commits.commits / 4


class SynchronousScript(Job):
    """Its gradients depend on the member, the version and the weights; their sums are exact in any order."""

    def compute(self, address: Address, number: int, version: int, weights: Vector) -> Vector:
        seed = zlib.crc32(f"{address} {version}".encode())
        return np.add(gradient(seed, len(weights)), np.sign(weights), dtype=np.float32)


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_bound_0_and_h_of_all_are_synchronous_training(loss: float) -> None:
    job = SynchronousScript(4, staleness=0, until=40, loss=loss, repeat=loss, spread=0.001, seed=3)
    weights = job.first.copy()
    for version in range(40):
        total = np.zeros(700, np.float32)
        for address in job.addresses:
            total += job.compute(address, 0, version, weights)
        weights -= np.float32(RATE) * (total / np.float32(4))
    scripts = job.begin()
    job.run_job()
    for script in scripts:
        assert np.array_equal(script.replica.weights()[1], weights)
        assert script.replica.commits.histogram == [40]


@pytest.mark.parametrize("staleness", [1, 3, 15])
def test_no_gradient_is_staler_than_the_bound(staleness: int) -> None:
    job = Job(4, staleness=staleness, loss=0.05, seed=staleness, until=150)
    slow = job.begin()[0]
    slow.job.pace = 0.02
    job.run_job()
    for script in job.scripts.values():
        histogram = script.replica.commits.histogram
        assert len(histogram) == staleness + 1
        assert max(script.stale) <= staleness
        assert sum(histogram) == script.replica.commits.commits


class LosesResults:
    """The results of these numbers reach no member, or only the members in ``but``."""

    def __init__(self, numbers: set[int], but: set[Address] | None = None) -> None:
        self.numbers, self.but = numbers, but or set()

    def __call__(self, source: Address, to: Address, datagram: bytes) -> bool:
        if source != SERVER or datagram[0] != wire.VERSION << 4 | wire.FrameType.RESULT:
            return False
        return wire.Olaf.unpack(datagram).seq in self.numbers and to not in self.but


@pytest.mark.parametrize(("h", "staleness"), [(3, 0), (3, 3), (2, 1), (6, 3)])
def test_a_result_that_reached_no_member_is_left_out_by_all(h: int, staleness: int) -> None:
    job = Job(3, h=h, staleness=staleness, lost=LosesResults({10, 11, 30}))
    scripts = job.begin()
    job.run_job()
    assert sum(script.replica.gaps.voids for script in scripts) >= 3


def test_a_result_that_reached_one_member_is_had_from_it_by_all() -> None:
    job = Job(4, lost=LosesResults(set(range(10, 40)), but={worker_address(2)}))
    scripts = job.begin()
    job.run_job()
    assert all(script.replica.gaps.voids == 0 for script in scripts)
    assert scripts[2].replica.gaps.helped >= 30


def test_the_engines_copy_of_a_void_result_comes_too_late() -> None:
    """Promised is promised: results that were under way for seconds are taken by no one."""
    job = Job(3)
    sent: list[tuple[Address, bytes]] = []

    def hold(source: Address, to: Address, datagram: bytes) -> bool:
        held = LosesResults({20, 21})(source, to, datagram)
        if held:
            sent.append((to, datagram))
        return held

    job.medium.lost = hold
    scripts = job.begin()
    job.until_version(22)
    assert sum(script.replica.gaps.voids for script in scripts) >= 2
    for to, datagram in sent:
        job.network.arrive(job.network.time, SERVER, to, datagram)
    job.run_job()
    assert all(script.replica.counters.diverged == 0 for script in scripts)


def test_the_only_holder_of_a_result_dies_and_others_go_on() -> None:
    job = Job(5, h=3, lost=LosesResults({31}, but={worker_address(4)}), until=80)
    scripts = job.begin()
    dying = scripts[4].replica
    assert job.network.run(60.0, lambda: dying.version >= 30)
    scripts[4].kill()
    job.run_job()
    assert sum(script.replica.gaps.banned for script in scripts[:4]) >= 1
    assert sum(script.replica.gaps.voids for script in scripts[:4]) >= 1


def test_a_member_that_returns_promises_like_any_other() -> None:
    losses = LosesResults({31}, but={worker_address(4)})
    job = Job(5, h=3, lost=losses, until=150)
    scripts = job.begin()
    assert job.network.run(60.0, lambda: scripts[4].replica.version >= 30)
    scripts[4].kill()
    assert job.network.run(120.0, lambda: scripts[0].replica.version >= 40)
    job.begin(4)
    job.until_version(50)
    losses.numbers, losses.but = {scripts[0].replica.version + 20}, set()
    voids = scripts[0].replica.gaps.voids
    job.run_job()
    assert scripts[0].replica.gaps.voids > voids


def test_an_excluded_member_takes_a_snapshot_when_it_returns() -> None:
    job = Job(5, h=3, until=300)
    alone = worker_address(4)
    cut = LosesResults({31}, but={alone})
    apart = [False]

    def lost(source: Address, to: Address, datagram: bytes) -> bool:
        between = SERVER not in (source, to) and alone in (source, to)
        return (apart[0] and between) or cut(source, to, datagram)

    job.medium.lost = lost
    scripts = job.begin()
    job.until_version(25)
    apart[0] = True
    assert job.network.run(120.0, lambda: scripts[0].replica.version >= 40)
    assert scripts[4].replica.version >= 31
    apart[0] = False
    job.run_job()
    assert scripts[4].replica.counters.fell_back >= 1


def test_a_job_begins_despite_an_earlier_one_in_the_engine() -> None:
    job = Job(3, first=(1 << 32) - 30)
    for engine in job.medium.engines:
        for index in engine.indices:
            index.total, index.count = np.full(350, 1e9, np.float32), 2
    job.begin()
    job.run_job()


@pytest.mark.parametrize("first", [0, 4_000_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_an_engine_that_begins_again_is_noticed_and_all_go_on(first: int, seed: int) -> None:
    job = Job(4, until=150, seed=seed, loss=0.02, first=first, staleness=seed)
    scripts = job.begin()
    job.until_version(70)
    job.medium.reset()
    job.run_job()
    assert sum(script.replica.counters.opened for script in scripts) >= 2


def test_an_engine_without_sums_is_reported_in_seconds() -> None:
    job = Job(3, lost=lambda source, to, datagram: SERVER in (source, to))
    scripts = job.begin()
    job.network.run(30.0)
    assert "made no sum of 3 updates in segment 0 of 2" in str(scripts[0].replica.failure)
    assert all("has given up" in str(script.replica.failure) for script in scripts[1:])


def test_a_silent_engine_ends_the_training_with_the_reason() -> None:
    job = Job(3)
    job.options["limit"] = 10.0
    scripts = job.begin()
    job.until_version(20)
    job.medium.lost = lambda source, to, datagram: SERVER in (source, to)
    job.network.run(job.network.time + 15.0)
    for script in scripts:
        assert "no result" in str(script.replica.failure)
        with pytest.raises(Exception, match="no result"):
            script.replica.commit(gradient(0, 700), script.replica.version)


def test_a_member_of_another_training_is_refused_with_a_reason() -> None:
    job = Job(4)
    others = job.begin(0, 1, 2)
    job.until_version(10)
    (other,) = job.begin(3, rate=0.5)
    job.network.run(job.network.time + 5.0, lambda: other.replica.failure is not None)
    message = str(other.replica.failure)
    assert "'descent with a rate of 0.125' there, 'descent with a rate of 0.5' here" in message
    assert other.replica.version == 0
    other.alive = False
    job.run_job()
    assert all(script.replica.commits.commits > 0 for script in others)


def test_a_snapshot_goes_on_when_its_giver_dies() -> None:
    job = Job(4, values=200_000, segments=100, until=100, h=2, pace=0.02)
    job.begin(0, 1, 2)
    job.until_version(5)
    (late,) = job.begin(3)
    joining = late.replica._member.joining
    assert job.network.run(job.network.time + 10.0, lambda: bool(joining.taker and joining.taker._pieces))
    assert joining.taker is not None
    job.scripts[joining.taker.giver].kill()
    job.run_job()
    assert late.replica.counters.snapshots >= 1


def test_a_member_far_behind_takes_a_snapshot() -> None:
    job = Job(4, h=3, until=2600, pace=0.002)
    away = worker_address(3)
    apart = [False]
    job.medium.lost = lambda source, to, datagram: apart[0] and away in (source, to)
    scripts = job.begin()
    job.until_version(20)
    apart[0] = True
    assert job.network.run(job.network.time + 60.0, lambda: scripts[0].replica.version >= 1500)
    apart[0] = False
    job.run_job()
    assert scripts[3].replica.counters.snapshots >= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"staleness": -1}, "0 … 15, not -1"),
        ({"staleness": 16}, "0 … 15, not 16"),
        ({"h": 0}, "H must be 1 … 65535, not 0"),
        ({"h": 9, "staleness": 1}, "no result would ever come"),
        ({"segments": 800}, "cannot be divided"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options: dict[str, int], message: str) -> None:
    job = Job(4)
    with pytest.raises(ValueError, match=message) as refused:
        job.begin(0, **options)
    assert "\n" not in str(refused.value)


def test_a_gradient_that_is_none_changes_nothing() -> None:
    job = Job(2)
    script = job.begin()[0]
    job.until_version(5)
    replica = script.replica
    broken = gradient(0, 700)
    broken[3] = np.nan
    assert not replica.commit(broken, replica.version)
    assert replica.commits.broken == 1
    with pytest.raises(ValueError, match="a gradient of shape"):
        replica.commit(gradient(0, 7), replica.version)
    job.run_job()


@pytest.mark.parametrize("seed", range(8))
def test_garbage_is_counted_and_changes_nothing(seed: int) -> None:
    job = Job(3, until=60, loss=0.02, seed=seed)
    scripts = job.begin()
    random = np.random.default_rng(seed)
    talk = [int(action) for action in wire.Talk]

    def throw(number: int) -> None:
        head = bytes([talk[number % len(talk)] if number % 3 else 0x10 | wire.FrameType.RESULT])
        body = random.integers(0, 256, int(random.integers(0, 80)), np.uint8).tobytes()
        job.network.arrive(job.network.time, ("10.9.9.9", 999), worker_address(number % 3), head + body)
        if number:
            job.network.at(job.network.time + 1e-3, lambda: throw(number - 1))

    throw(300)
    job.run_job()
    assert sum(script.replica.counters.refused for script in scripts) > 0
