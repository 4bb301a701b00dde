"""Jobs at fixed addresses, without a control plane: what is lost is had again, or all members say why not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from olaf.errors import NoAnswer
from olaf.rounds import Rounds
from olaf.rounds.lane import Reduction
from olaf.transport import wire
from olaf.transport.port import Address
from olaf.transport.segments import Vector
from tests.test_rounds import Job
from tests.testnet import SERVER, vector, worker_address

SOON = 15.0
"""Seconds in which a job that cannot go on fails."""


def is_result(datagram: bytes) -> bool:
    return datagram[0] == wire.VERSION << 4 | wire.FrameType.RESULT


def reduced(job: Job, members: list[Rounds], step: int, late: float = 0.0) -> None:
    """Reduce once, with the last member ``late``: all have the same sum, and the right one."""
    vectors = [vector(2500, 100 * step + number) for number in range(len(members))]
    results = [one.copy() for one in vectors]
    running = [member.start(one) for member, one in zip(members[:-1], results)]
    job.network.run(job.network.time + late)
    running.append(members[-1].start(results[-1]))
    assert job.network.run(job.network.time + 60.0, lambda: all(one.done for one in running))
    assert np.allclose(results[0], np.sum(vectors, axis=0, dtype=np.float64), atol=1e-4)
    assert all(np.array_equal(one, results[0]) for one in results)


def failures(job: Job, members: list[Rounds], vectors: list[Vector]) -> list[str]:
    """Return what members raise that begin a reduction now."""
    running: list[Reduction] = []
    messages = []
    for member, one in zip(members, vectors):
        try:
            running.append(member.start(one))
        except NoAnswer as failure:
            messages.append(str(failure))
    job.network.run(job.network.time + SOON, lambda: all(one.failure for one in running))
    return messages + [str(one.failure) for one in running]


class Losses:
    """Loses the datagrams of these places in the order of sending, all results of the first round besides."""

    def __init__(self, places: tuple[int, ...], first: bool) -> None:
        self.places, self.first = places, first
        self.seen = 0
        self._number: bytes | None = None

    def __call__(self, source: Address, to: Address, datagram: bytes) -> bool:
        self.seen += 1
        if self.first and source == SERVER and is_result(datagram):
            number = datagram[4:8]
            self._number = self._number or number
            if number == self._number:
                return True
        return self.seen - 1 in self.places


@pytest.mark.parametrize("late", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("first", [False, True])
def test_any_two_datagrams_may_be_lost(first: bool, late: float) -> None:
    def summed(*places: int) -> Losses:
        losses = Losses(places, first)
        job = Job(2, lost=losses)
        members = job.fixed()
        for step in range(2):
            reduced(job, members, step, late)
        return losses

    number = summed().seen
    assert number >= 12
    for places in combinations(range(number), 2):
        summed(*places)


@pytest.mark.parametrize("seed", range(60))
def test_no_sum_is_wrong_after_loss_repetition_or_delay(seed: int) -> None:
    size = 2 + seed % 3
    job = Job(size, segments=2, loss=seed % 4 / 10, repeat=0.2, spread=seed % 5 / 10, seed=seed)
    members = job.fixed()
    for step in range(6):
        order = members[step % size :] + members[: step % size]
        reduced(job, order, step, late=job.medium.random.random())


@pytest.mark.parametrize(("way", "most"), [(0.001, 1), (0.3, 3)])
def test_a_round_whose_result_reaches_no_member_is_made_again(way: float, most: int) -> None:
    """``way``: seconds a datagram is under way."""
    job = Job(3, lost=Losses((), first=True))
    job.medium.arrival = lambda network: network.time + way  # type: ignore[method-assign]
    members = job.fixed()
    reduced(job, members, 0)
    assert job.network.time < 3.0
    assert {1, most} >= {member.counters.remade for member in members}
    before = job.network.time
    reduced(job, members, 1)
    assert job.network.time - before < 3 * way


def test_members_that_wait_for_one_do_not_flood_one_another() -> None:
    losses = Losses((), first=False)
    job = Job(3, lost=losses)
    for member in job.fixed()[1:]:
        member.start(np.ones(3, np.float32))
    job.network.run(60.0)
    assert losses.seen < 2 * 70 * 5  # a contribution, two questions and their answers, each second


@pytest.mark.parametrize("seed", range(8))
def test_a_dead_member_fails_all_others_in_seconds_by_name(seed: int) -> None:
    size = 2 + seed % 3
    job = Job(size, segments=2, loss=0.05, seed=seed)
    members = job.fixed()
    for member in members:
        member.open([0, 1], 8 * seed, 0.5)
    vectors = [vector(9000, number) for number in range(size)]
    for member, one in zip(members, vectors):
        member.start(one.copy())
    job.network.run(job.network.time + 0.0002 * job.medium.random.random())
    members[0]._port.close()
    host, number = job.addresses[0]
    for reason in failures(job, members[1:], vectors[1:]):
        assert f"member {host}:{number} has not answered" in reason or "has given up" in reason
        assert "no result of round" in reason


def test_a_member_that_is_slow_is_waited_for() -> None:
    job = Job(3, loss=0.1, seed=1)
    members = job.fixed()
    for step in range(3):
        reduced(job, members, step, late=25.0 if step == 1 else 0.0)


def test_a_slow_member_that_others_cannot_reach_is_awaited() -> None:
    job = Job(2, lost=lambda source, to, datagram: SERVER not in (source, to))
    reduced(job, job.fixed(), 0, late=20.0)


@pytest.mark.parametrize("size", [2, 4])
def test_a_member_that_leaves_fails_the_others_at_once(size: int) -> None:
    job = Job(size)
    members = job.fixed()
    reduced(job, members, 0)
    members[0].leave()
    before = job.network.time
    messages = failures(job, members[1:], [np.ones(3, np.float32)] * (size - 1))
    assert all("has left the job" in one or "has given up" in one for one in messages)
    assert job.network.time - before < 2.0


def test_a_member_that_leaves_still_gives_the_last_result() -> None:
    job = Job(2, lost=lambda source, to, datagram: (source, to) == (SERVER, worker_address(1)))
    members = job.fixed()
    vectors = [np.ones(3, np.float32) for _ in members]
    running = [member.start(one) for member, one in zip(members, vectors)]
    job.network.run(job.network.time + 1.0, lambda: running[0].done)
    members[0].leave()
    assert job.network.run(job.network.time + 2.0, lambda: running[1].done)
    assert vectors[1].tolist() == [2.0] * 3


def test_results_that_reach_no_member_fail_all_in_seconds() -> None:
    job = Job(3, lost=lambda source, to, datagram: source == SERVER)
    members = job.fixed()
    messages = failures(job, members, [np.ones(3, np.float32)] * 3)
    assert any("8 sums in turn reached no member" in one for one in messages)
    assert all("8 sums in turn" in one or "has given up" in one for one in messages)
    with pytest.raises(NoAnswer, match="no result of round"):
        members[0].start(np.ones(3, np.float32))
