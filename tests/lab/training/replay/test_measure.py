import numpy as np
import pytest

from olafctl.queue.registers import REGISTERS
from olaflab.training.replay.frames import Receptions
from olaflab.training.replay.run import cumulative_counts, find_violations, measure_replay, relative_reduction

SENT = np.array([0, 10, 20, 30, 40, 100])
CLUSTERS = np.array([0, 1, 0, 0, 1, 0])


def make_receptions(*rows: tuple[int, int, int, int]) -> Receptions:
    """Make receptions of rows (time, cluster, count, generated), all of segment 0."""
    time, cluster, count, generated = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    segment = np.zeros(len(rows), dtype=np.int64)
    return Receptions(time, cluster, count, generated, segment=segment)


def make_counters(**values: int) -> dict[str, int]:
    return {register.name: 0 for register in REGISTERS} | values


SEEN = make_receptions((5, 0, 1, 0), (25, 1, 1, 10), (50, 0, 2, 30), (60, 1, 1, 40))
COUNTERS = make_counters(in_updates=6, out_updates=4, merged=1, dropped_full=1)


def test_every_update_has_one_fate() -> None:
    figures = measure_replay(SENT, CLUSTERS, SEEN, COUNTERS)
    assert (figures.sent, figures.received, figures.merged, figures.replaced, figures.lost) == (6, 4, 1, 0, 1)
    assert figures.causes == {"dropped_full": 1}
    assert figures.loss == pytest.approx(1 / 6)
    assert figures.counts == {1: 3, 2: 1}
    assert figures.violations == ()


def test_ages_by_hand() -> None:
    """Cluster 0, over (0, 100]: from 5 to 50 Δ rises from 5 to 50, then from 20 to 70."""
    figures = measure_replay(SENT, CLUSTERS, SEEN, COUNTERS)
    first, second = figures.ages
    assert (first.cluster, first.received) == (0, 2)
    assert first.average == pytest.approx((45 * (5 + 50) / 2 + 50 * (20 + 70) / 2) / 95)
    assert (first.mean_peak, first.highest_peak) == (50, 50)
    assert second.average == pytest.approx((15 + 30) / 2)  # over (10, 40]: received at 25, aged 15
    assert second.highest_peak is None  # what came at 60 came after its last update was sent
    assert first.average is not None
    assert figures.average_age == pytest.approx((first.average + 22.5) / 2)
    assert figures.average_peak is None
    assert figures.fairness == pytest.approx((first.average + 22.5) ** 2 / (2 * (first.average**2 + 22.5**2)))


def test_replaced_updates_are_neither_lost_nor_delivered() -> None:
    counters = make_counters(in_updates=6, out_updates=4, replaced_worker=1, replaced_reward=1)
    figures = measure_replay(SENT, CLUSTERS, make_receptions((5, 0, 1, 0), *[(60, 1, 1, 10)] * 3), counters)
    assert (figures.replaced, figures.lost, figures.merged) == (2, 0, 0)
    assert figures.violations == ()


def test_a_cluster_that_was_never_heard_has_no_age() -> None:
    figures = measure_replay(SENT, CLUSTERS, make_receptions((5, 0, 1, 0)), COUNTERS)
    assert figures.ages[1].average is None
    assert figures.average_age is None
    assert figures.fairness is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"in_updates": 5}, "updates sent, and received by the engine: 6 ≠ 5"),
        ({"merged": 2}, "out + merged + replaced + dropped: 6 ≠ 7"),
        ({"dropped_header": 1}, "out + merged + replaced + dropped: 6 ≠ 7"),
        ({"resident_updates": 1}, "still in the engine, and none: 1 ≠ 0"),
        ({"out_updates": 3}, "frames out of the engine, and at the server: 3 ≠ 4"),
        ({"merged": 0, "dropped_full": 2}, "counted by the frames, and out + merged: 5 ≠ 4"),
    ],
)
def test_counts_that_do_not_add_up_are_reported(wrong: dict[str, int], message: str) -> None:
    assert any(message in line for line in find_violations(6, SEEN, COUNTERS | wrong))


def test_replaced_or_saturated_merges_do_not_bind_counts() -> None:
    kept = {"in_updates": 6, "out_updates": 4}
    assert find_violations(6, SEEN, make_counters(**kept, replaced_reward=1, merged=1)) == []
    assert find_violations(6, SEEN, make_counters(**kept, saturations=1, merged=2)) == []


def test_a_cdf_by_hand() -> None:
    counts, shares = cumulative_counts({3: 1, 1: 6, 2: 3})
    assert counts == [1, 2, 3]
    assert shares == pytest.approx([0.6, 0.9, 1.0])


@pytest.mark.parametrize(
    ("before", "after", "share"), [(100.0, 25.0, 0.75), (None, 1.0, None), (1.0, None, None)]
)
def test_reductions(before: float | None, after: float | None, share: float | None) -> None:
    assert relative_reduction(before, after) == share
