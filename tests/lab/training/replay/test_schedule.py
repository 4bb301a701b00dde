import numpy as np
import pytest

from olaflab.training.replay import trace as traces
from olaflab.training.replay.trace import ReplayLoad, schedule_updates, spread_times
from olafswitch.errors import BadInput
from tests.lab.training.replay import small

FAST = 1e15
"""A link that never delays."""


def test_times_are_scaled_by_one_factor_to_the_offered_rate() -> None:
    plan = schedule_updates(small.small_trace(), np.arange(2), ReplayLoad(8 * 100 * 8 / 1600e-9, FAST, 100))
    assert plan.time.tolist() == [0, 100, 200, 400, 500, 600, 800, 1600]
    assert plan.worker.tolist() == [0, 1, 0, 1, 1, 0, 0, 1]
    assert plan.seq.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert plan.duration == 1600


def test_only_the_first_updates_are_kept() -> None:
    plan = schedule_updates(small.small_trace(), np.arange(2), ReplayLoad(1e9, FAST, 100), updates=2)
    assert sorted(zip(plan.worker.tolist(), plan.seq.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]


def test_a_busy_link_delays_until_it_is_free() -> None:
    """One frame takes 150 ns: 0, 100→150, 200→300, 400→450, 500→600, 600→750, 800→900, 1600."""
    plan = schedule_updates(
        small.small_trace(), np.arange(2), ReplayLoad(8 * 100 * 8 / 1600e-9, 100 * 8 / 150e-9, 100)
    )
    assert plan.time.tolist() == [0, 150, 300, 450, 600, 750, 900, 1600]
    assert plan.worker.tolist() == [0, 1, 0, 1, 1, 0, 0, 1]


def test_fewer_workers_than_recorded_are_the_first_ones() -> None:
    plan = schedule_updates(small.small_trace(), np.arange(1), ReplayLoad(1e9, FAST, 100))
    assert set(plan.worker.tolist()) == {0}
    assert np.array_equal(plan.update, np.arange(4))


def test_more_workers_turn_the_recorded_ones_round() -> None:
    """5 workers of 2 recorded: 3 rounds, so turned by 0, 4·1//3 = 1 and 4·2//3 = 2 updates."""
    time, source, update = spread_times(small.small_trace(), 5)
    assert source.tolist() == [0, 1, 0, 1, 0]
    assert update.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 3, 0], [1, 2, 3, 0], [2, 3, 0, 1]]
    assert time[0].tolist() == [100, 200, 400, 500]
    assert time[2].tolist() == [100, 300, 400, 500]  # gaps 100, 200, 100 and then the first, 100
    assert time[4].tolist() == [200, 300, 400, 500]


def test_a_hundred_clusters_from_the_shipped_trace() -> None:
    plan = schedule_updates(traces.load_trace(small.SHIPPED), np.arange(300), ReplayLoad(60e9, 100e9, 256))
    assert len(plan.time) == 300 * 500
    assert np.array_equal(np.bincount(plan.worker), np.full(300, 500))
    assert np.diff(plan.time).min() >= 20  # 256 bytes at 100 Gb/s, in whole ns
    assert len(plan.time) * 2048 / plan.duration == pytest.approx(60, rel=1e-3)


def test_every_workers_updates_stay_in_order() -> None:
    plan = schedule_updates(
        traces.load_trace(small.SHIPPED), np.arange(27), ReplayLoad(60e9, 100e9, 256), updates=60
    )
    for worker in range(27):
        assert plan.seq[plan.worker == worker].tolist() == list(range(60))


@pytest.mark.parametrize(
    ("updates", "link", "message"),
    [(5, FAST, "5 updates of each worker, but the trace holds 4"), (4, 1e8, "slower than what they offer")],
)
def test_what_cannot_be_scheduled_is_refused(updates: int, link: float, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        schedule_updates(small.small_trace(), np.arange(2), ReplayLoad(1e9, link, 100), updates)


def test_a_single_update_has_no_rate() -> None:
    with pytest.raises(BadInput, match="a single update has no rate"):
        schedule_updates(small.small_trace(), np.arange(1), ReplayLoad(1e9, FAST, 100), updates=1)


def test_clusters_in_turn_begin_after_the_last_update() -> None:
    """Worker 0 ends at 500; worker 1, of another cluster, begins then: 650, 800, 850, 1400."""
    bits = 8 * 100 * 8
    plan = schedule_updates(
        small.small_trace(), np.arange(2), ReplayLoad(bits / 1300e-9, FAST, 100, at_once=1)
    )
    assert plan.time.tolist() == [0, 100, 300, 400, 550, 700, 750, 1300]
    assert plan.worker.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("at_once", [2, 3])
def test_with_room_for_every_cluster_all_begin_together(at_once: int) -> None:
    plans = [
        schedule_updates(small.small_trace(), np.arange(2), ReplayLoad(1e9, FAST, 100, room))
        for room in (None, at_once)
    ]
    assert np.array_equal(plans[0].time, plans[1].time)


def test_a_place_goes_to_the_next_cluster_whole() -> None:
    """Both workers of the second cluster begin together, whichever of the first one's ended last."""
    plan = schedule_updates(
        small.small_trace(), np.array([0, 0, 1, 1]), ReplayLoad(1e9, FAST, 100, at_once=1)
    )
    assert set(plan.worker[:8].tolist()) == {0, 1}
    assert set(plan.worker[8:].tolist()) == {2, 3}


def test_the_order_is_dealt_by_its_seed() -> None:
    def begins(order: int | None) -> list[int]:
        plan = schedule_updates(
            small.small_trace(), np.arange(20), ReplayLoad(1e9, FAST, 100, at_once=1, order=order)
        )
        return list(dict.fromkeys(plan.worker.tolist()))

    assert begins(None) == list(range(20))
    assert begins(1) == begins(1) != begins(2)
    assert sorted(begins(1)) == list(range(20))
