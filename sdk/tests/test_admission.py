"""How many learners run: as many as the network carries, steadily, and within bounds whatever it says."""

from __future__ import annotations

from random import Random

import pytest

from olaf.elastic import Admission, Carried, Ledger, Warm


class Link:
    """``carries`` gradients in the time that one learner needs for one: more are merged into its frames."""

    def __init__(self, carries: float, seed: int = 1) -> None:
        self.carries, self.frames, self.updates, self.staleness = carries, 0, 0, 0
        self._random = Random(seed)

    def run_link(self, admission: Admission, looks: int, waiting: int = 0) -> list[int]:
        """Return the numbers that were admitted; each gradient is ``waiting`` versions staler than n - 1."""
        found = []
        for _ in range(looks):
            for _ in range(max(16, 2 * admission.learners)):
                many = max(admission.learners / self.carries, 1.0)
                count = int(many) + (self._random.random() < many % 1)
                self.frames, self.updates = self.frames + 1, self.updates + count
                self.staleness += count * (admission.learners - 1 + waiting)
            found.append(admission.look(Carried(self.frames, self.updates, self.staleness)))
        return found


@pytest.mark.parametrize("carries", [1, 2, 3, 5, 8, 12, 16])
def test_as_many_learn_as_the_output_carries(carries: int) -> None:
    admission = Admission(16)
    found = Link(carries).run_link(admission, 400)
    assert all(carries * 3 // 4 <= number <= 2 * carries + 1 for number in found[10:])
    assert sum(found[100:]) / 300 >= carries - 0.1
    changes = sum(one != other for one, other in zip(found[100:], found[101:]))
    assert changes <= 40  # of 300


def test_withdrawn_learners_return_with_more_capacity() -> None:
    admission = Admission(8)
    link = Link(2)
    assert link.run_link(admission, 50)[-1] <= 4
    link.carries = 8
    assert link.run_link(admission, 100)[-1] == 8


def test_waiting_unmerged_gradients_count_as_too_many() -> None:
    admission = Admission(8)
    assert Link(100).run_link(admission, 1, waiting=0) == [8]
    assert Link(100).run_link(Admission(8), 1, waiting=12) == [3]


def test_held_updates_bound_the_learners_and_free_them() -> None:
    admission, link = Admission(8), Link(100)
    for _ in range(10):
        admission.chance(0.5)
        assert link.run_link(admission, 1) == [4]  # however often it is said: P_s does not follow from n
    assert link.run_link(admission, 10)[-1] == 8


def test_few_frames_decide_nothing_and_segments_do_not_count() -> None:
    admission = Admission(8, segments=7)
    assert admission.look(Carried(7 * 15, 7 * 60)) == 8
    assert admission.look(Carried(7 * 16, 7 * 64)) == 2


def test_between_the_bounds_nothing_changes() -> None:
    for share in (0.51, 0.6, 0.69):
        admission = Admission(8)
        admission.learners = 4
        frames = 0
        for _ in range(50):
            frames += 1000
            assert admission.look(Carried(frames, round(frames / share))) == 4


@pytest.mark.parametrize("seed", range(20))
def test_the_number_stays_within_its_bounds_for_any_input(seed: int) -> None:
    random = Random(seed)
    most = random.randrange(1, 40)
    admission, frames, updates, stale = Admission(most), 0, 0, 0
    for _ in range(500):
        before = admission.learners
        frames += random.choice((0, 1, 10, 100, -50))
        updates += random.choice((0, 1, 100, 10000, -50))
        stale += random.choice((0, -1000, 65536, 1 << 40))
        if random.random() < 0.3:
            admission.chance(random.random())
        number = admission.look(Carried(frames, updates, stale))
        assert 1 <= number <= min(most, before + 1)


@pytest.mark.parametrize(("most", "segments"), [(0, 1), (4, 0)])
def test_none_to_admit_are_refused(most: int, segments: int) -> None:
    with pytest.raises(ValueError, match="learners"):
        Admission(most, segments)


def test_a_learner_invoked_in_time_is_warm_and_in_the_ledger() -> None:
    ledger = Ledger(2.0, 2)
    warm = Warm(ledger, cold=1.0, keep_alive=10.0)
    first = warm.begin(0, 5.0)
    assert first.start == 6.0
    warm.end(first, 8.0)
    again = warm.begin(0, 17.0)
    assert again.start == 17.0
    warm.end(again, 18.0)
    late = warm.begin(0, 30.0)
    assert late.start == 31.0
    warm.end(late, 32.0, killed=True)
    other = warm.begin(1, 32.0)
    warm.end(other, 35.0)
    warm.close(40.0)
    warm.close(50.0)
    report = ledger.report(40.0)
    assert (report.invocations, report.killed, report.batches) == (4, 1, 3)
    assert report.busy == 2 + 1 + 1 + 2
    assert report.cold == 3.0
    assert report.idle == 9 + 10 + 5
    assert report.invoked == pytest.approx(sum(each.cost(40.0) for each in ledger.invocations)) == 12
    assert report.whole == 2 * (6 + 3 + 24)


@pytest.mark.parametrize(("cold", "keep_alive"), [(-1.0, 0.0), (0.0, float("nan"))])
def test_impossible_times_are_refused(cold: float, keep_alive: float) -> None:
    with pytest.raises(ValueError, match="give 0 or more"):
        Warm(Ledger(1.0, 1), cold, keep_alive)
