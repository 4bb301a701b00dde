"""Learners in virtual time: invoked for rows, paid for while they learn; killed ones lose no rows."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any, Callable

import pytest

from olaf.elastic import Learners, Ledger
from olaf.errors import LearnerFailed
from olaf.transport.virtual import VirtualNetwork

PRICE = 3.06 / 3600 / 4
"""$ of a second of a learner, four of which share a machine."""


class Simulated:
    """A runner in virtual time: a learner starts in 2 s and computes for as long as its rows say."""

    def __init__(self, network: VirtualNetwork) -> None:
        self.network = network
        self.learners: Learners
        self.lives: Counter[int] = Counter()
        """How many learners have died in each slot."""

    def start(self, slot: int) -> None:
        self._after(2.0, slot, lambda: self.learners.ready(slot))

    def give(self, slot: int, weights: Any, rows: float) -> None:
        self._after(rows, slot, lambda: self.learners.finished(slot, rows))

    def stop(self, slot: int) -> None:
        self.lives[slot] += 1

    def kill(self, slot: int) -> None:
        self.stop(slot)
        self.learners.died(slot, "killed")

    def _after(self, seconds: float, slot: int, event: Callable[[], object]) -> None:
        life = self.lives[slot]
        self.network.at(self.network.time + seconds, lambda: self.lives[slot] == life and event())


class Plant:
    """Learners in virtual time, and what they learnt."""

    def __init__(self, capacity: int, keep_alive: float = 600.0) -> None:
        self.network, self.waiting, self.learnt = VirtualNetwork(), deque[float](), list[float]()
        runner = Simulated(self.network)
        self.ledger = Ledger(PRICE, capacity)
        self.learners = Learners(
            runner, self._take, lambda: None, self.learnt.append, self.ledger, self._now, capacity, keep_alive
        )
        runner.learners, self.runner = self.learners, runner

    def put(self, *rows: float) -> None:
        self.waiting.extend(rows)
        self.learners.wake()

    def _take(self) -> float | None:
        return self.waiting.popleft() if self.waiting else None

    def _now(self) -> float:
        return self.network.time


def test_eight_busy_learners_cost_as_much_as_reserved_ones() -> None:
    plant = Plant(8)
    plant.put(*[5.0] * 8 * 2000)
    plant.network.run(9000.0)
    report = plant.ledger.report(9000.0)
    assert report.reserved == pytest.approx(8 * 9000 * PRICE)
    assert report.invoked == pytest.approx(report.reserved, rel=1e-3)
    assert report.cold == 8 * 2.0
    assert report.whole == pytest.approx(report.reserved)
    assert report.invoked == pytest.approx(sum(each.cost(9000.0) for each in plant.ledger.invocations))


def test_an_idle_learner_ends_after_its_keep_alive() -> None:
    plant = Plant(4, keep_alive=10.0)
    assert (plant.learners.alive, plant.learners.busy) == (0, 0)
    plant.put(3.0, 4.0)
    assert (plant.learners.alive, plant.learners.busy) == (2, 2)  # at once
    plant.network.run(7.0)
    assert (plant.learners.alive, plant.learners.busy) == (2, 0)
    assert plant.learners.tick() == 15.0
    plant.network.run(15.5)
    assert plant.learners.tick() == 16.0
    assert plant.learners.alive == 1
    plant.put(1.0)  # the one that is warm
    plant.network.run(20.0)
    report = plant.ledger.report(20.0)
    assert (report.invocations, report.batches, report.cold) == (3, 3, 4.0)
    assert report.busy == 3 + 4 + 1
    assert report.idle == pytest.approx(10.5 + 9.5)
    assert report.whole == pytest.approx((8 + 4 + 20) * PRICE)


def test_what_is_started_beforehand_is_there_at_once() -> None:
    plant = Plant(2)
    plant.learners.prewarm(5)
    plant.network.run(5.0)
    assert plant.learners.alive == 2
    plant.put(1.0)
    plant.network.run(6.0)
    assert plant.learnt == [1.0]


def test_only_admitted_learners_learn_without_interruption() -> None:
    plant = Plant(4)
    plant.put(*[10.0] * 12)
    plant.network.run(5.0)
    plant.learners.admit(1)
    assert plant.learners.busy == 4
    plant.network.run(12.5)  # four are done: one goes on
    assert (plant.learners.busy, len(plant.learnt)) == (1, 4)
    plant.network.run(33.0)
    assert (plant.learners.busy, len(plant.learnt)) == (1, 7 - 1)
    plant.learners.admit(9)
    assert plant.learners.busy == 4
    plant.network.run(1e4)
    assert len(plant.learnt) == 12


def test_rows_of_a_killed_learner_are_learnt_exactly_once() -> None:
    plant = Plant(2)
    rows = [1.0 + number / 100 for number in range(50)]
    plant.put(*rows)
    for time_of_death in (2.5, 9.1, 30.0):  # while starting again, too
        plant.network.run(time_of_death)
        plant.runner.kill(next(iter(plant.learners._slots)))
    plant.network.run(1e6)
    assert Counter(plant.learnt) == Counter(rows)
    assert plant.ledger.report(1e6).killed >= 2


def test_rows_that_no_learner_survives_are_not_given_for_ever() -> None:
    plant = Plant(1)
    plant.put(1.0)
    for _ in range(2):
        plant.network.run(plant.network.time + 2.0)
        plant.runner.kill(0)
    plant.network.run(plant.network.time + 2.0)
    with pytest.raises(LearnerFailed, match="3 learners died of the same rows, the last one: killed"):
        plant.runner.kill(0)


@pytest.mark.parametrize(("capacity", "keep_alive"), [(0, 1.0), (1, -1.0), (1, float("nan"))])
def test_impossible_learners_are_refused(capacity: int, keep_alive: float) -> None:
    with pytest.raises(ValueError, match="learners"):
        Plant(capacity, keep_alive)
