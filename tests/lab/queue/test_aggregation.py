"""iSwitch's rounds in the real queue next to a ring and a parameter server, on the same links."""

from pathlib import Path

import pytest

from olafctl.queue.verilate import build_queue
from olaflab.queue import aggregation
from olaflab.queue.links import Link

FRAME_NS = 8960 * 8 / 10
"""A whole segment on a link of 10 Gb/s."""
PPO = next(workload for workload in aggregation.WORKLOADS if workload.name == "PPO")


@pytest.fixture(scope="module")
def library() -> Path:
    return build_queue(aggregation.GEOMETRY)


def test_a_link_sends_one_frame_after_the_other() -> None:
    link = Link(10e9, 500)
    assert link.carry(0, 1250) == 1500
    assert link.carry(200, 1250) == 2500
    assert link.carry(5000, 1250) == 6500


def test_a_parameter_server_carries_every_gradient_twice_over_its_link() -> None:
    """One segment of four workers: a link, four frames into the server, four out, and a link."""
    size = 4 * 2224
    whole = aggregation.server(size, (4,))
    assert whole == pytest.approx((1 + 4 + 4 + 1) * FRAME_NS + 4 * aggregation.DELAY)


def test_a_ring_sends_a_part_at_every_step() -> None:
    """4 workers: 6 steps of a quarter each, over two links."""
    part = (64 + 4 * 2224) * 8 / 10
    assert aggregation.reduce(4 * 4 * 2224, (4,)) == pytest.approx(6 * (2 * part + 2 * aggregation.DELAY))


def test_rounds_take_a_link_up_the_queue_and_a_link_down(library: Path) -> None:
    """Segments follow each other, so only the last one's way adds to the gradient's own length."""
    time = aggregation.rounds(library, PPO.size, (4,))
    links = sum(size * 8 / 10 for size in aggregation.frame_sizes(PPO.size)) + 2 * aggregation.DELAY
    assert links < time < links + FRAME_NS + 10_000


def test_iswitch_is_faster_than_either_and_hardly_slower_with_more_racks(library: Path) -> None:
    one = aggregation.times(library, PPO.size, (4,))
    assert one.switch < one.reduce < one.server
    small, large = (
        aggregation.times(library, PPO.size, aggregation.racks_of(workers, 3)) for workers in (4, 12)
    )
    assert large.switch < 1.05 * small.switch
    assert large.server > 2.5 * small.server


def test_racks_are_filled_in_turn() -> None:
    assert [aggregation.racks_of(workers, 3) for workers in (4, 6, 9)] == [(3, 1), (3, 3), (3, 3, 3)]


def test_the_paper_s_speedups_follow_from_its_hours() -> None:
    for workload in aggregation.WORKLOADS:
        server, reduce, switch = workload.iteration
        assert workload.speedup == pytest.approx((server / reduce, server / switch), rel=0.05)
