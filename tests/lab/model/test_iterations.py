"""Iterations of distributed training, against what a few frames take by hand."""

from dataclasses import replace

import numpy as np
import pytest

from olafctl.wire.layouts import GRADIENT_OFFSET
from olaflab.model.iterations import Approach, IterationJob, IterationNetwork, Software, simulate_job
from olafswitch.errors import BadInput

NETWORK = IterationNetwork()
DELAY = NETWORK.delay
FRAME = (GRADIENT_OFFSET + NETWORK.payload) * 8 / 10
"""ns of a whole frame on a link of 10 Gb/s."""
ONE = IterationJob(Approach.SERVER, 4, [NETWORK.payload])
"""A gradient of one frame."""


def time_job(job: IterationJob) -> float:
    return float(simulate_job(job).updates[0])


def test_a_parameter_server_answers_every_frame_with_one() -> None:
    """A link, four frames into the server, four out, and a link."""
    assert time_job(ONE) == pytest.approx((1 + 4 + 4 + 1) * FRAME + 4 * DELAY)


def test_a_ring_sends_a_part_at_every_step() -> None:
    part = (GRADIENT_OFFSET + NETWORK.payload / 4) * 8 / 10
    assert time_job(replace(ONE, approach=Approach.RING)) == pytest.approx(6 * (2 * part + 2 * DELAY))


def test_a_ring_over_racks_crosses_the_root_where_it_must() -> None:
    """With four workers in racks of two, every part passes two links within a rack, or four."""
    racks = replace(NETWORK, each_rack=2, trunk=10e9)
    part = (GRADIENT_OFFSET + NETWORK.payload / 4) * 8 / 10
    step = 2 * part + 2 * DELAY
    found = time_job(replace(ONE, approach=Approach.RING, network=racks))
    assert 6 * step < found <= 6 * (4 * part + 4 * DELAY)


def test_segments_are_summed_on_the_fly() -> None:
    """However long the gradient, it takes its own length once, and a frame's way besides."""
    frames = 100
    long = replace(ONE, approach=Approach.ENGINE, messages=[frames * NETWORK.payload])
    assert frames * FRAME + FRAME + 2 * DELAY < time_job(long) < (frames + 1) * FRAME + 2 * DELAY + 1000


def test_software_costs_a_message_and_a_byte_at_both_ends() -> None:
    software = Software(message=1000, byte=2)
    plain, dear = (replace(ONE, approach=Approach.ENGINE, software=each) for each in (Software(), software))
    assert time_job(dear) - time_job(plain) == pytest.approx(2 * (1000 + 2 * NETWORK.payload))


def test_a_message_handled_whole_waits_for_its_last_byte() -> None:
    """Two workers: software of one and of the server twice each way; 20 frames into the server, 10 to the
    last worker, and each way a frame's first link."""
    frames, byte = 10, 3.0
    once = frames * NETWORK.payload * byte
    job = replace(ONE, workers=2, messages=[frames * NETWORK.payload])
    whole, flowing = (
        time_job(replace(job, software=Software(byte=byte, whole=each, duplex=True)))
        for each in (True, False)
    )
    assert whole == pytest.approx(6 * once + (20 + 1 + 10) * FRAME + 4 * DELAY)
    assert flowing < whole - once


def test_a_server_is_three_updates_ahead_of_four_workers() -> None:
    found = simulate_job(replace(ONE, approach=Approach.SERVER_ASYNC, compute=1e6, iterations=400))
    assert found.staleness[3] > 390 and found.discarded == 0
    assert found.period == pytest.approx((1e6 + 4 * (FRAME + DELAY)) / 4, rel=0.02)


def test_a_serial_server_finishes_each_workers_exchange() -> None:
    software = Software(message=1e6)
    job = replace(
        ONE, approach=Approach.SERVER_ASYNC, compute=1e5, iterations=100, software=software, in_turn=True
    )
    assert simulate_job(job).period == pytest.approx(4e6 + 4 * (FRAME + DELAY), rel=0.001)


def test_what_is_too_stale_is_not_used() -> None:
    found = simulate_job(replace(ONE, approach=Approach.SERVER_ASYNC, compute=1e6, iterations=50, bound=1))
    assert found.staleness[2:].sum() == 0 and found.discarded == 48


def test_asynchronous_sums_hide_the_aggregation() -> None:
    """An iteration takes what a gradient takes, and the gradient is as old as the aggregation lets it be."""
    job = IterationJob(Approach.ENGINE_ASYNC, 4, [40_000], compute=1e6, jitter=0.1, iterations=200)
    found = simulate_job(job)
    assert found.period == pytest.approx(1e6, rel=0.01)
    assert found.mean_staleness == pytest.approx(1, abs=0.05) and found.staleness[4:].sum() == 0
    synchronous = simulate_job(replace(job, approach=Approach.ENGINE, jitter=0.0))
    assert synchronous.period == pytest.approx(float(synchronous.updates[0]), rel=0.001)
    assert synchronous.period > found.period + 30_000


def test_asynchronous_sums_go_up_a_tree_of_engines() -> None:
    network = IterationNetwork(each_rack=3)
    found = simulate_job(
        IterationJob(Approach.ENGINE_ASYNC, 7, [40_000, 4], 1e6, 0.5, network=network, iterations=50)
    )
    assert found.period == pytest.approx(1e6, rel=0.03)
    assert found.staleness.sum() >= 7 * 49


def test_one_seed_repeats() -> None:
    job = IterationJob(Approach.ENGINE_ASYNC, 4, [4000], compute=1e5, jitter=0.5, iterations=50)
    assert np.array_equal(simulate_job(job).updates, simulate_job(job).updates)
    assert not np.array_equal(simulate_job(job).updates, simulate_job(replace(job, seed=1)).updates)


@pytest.mark.parametrize(
    ("job", "what"),
    [
        (replace(ONE, workers=1), "1 workers"),
        (replace(ONE, bound=-1), "S -1"),
        (replace(ONE, approach=Approach.ENGINE, workers=65), "65 workers"),
        (
            replace(ONE, approach=Approach.ENGINE_ASYNC, messages=[3_000_000]),
            "segments, and room for 1000 sums",
        ),
    ],
)
def test_a_job_that_cannot_be_is_refused(job: IterationJob, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        simulate_job(job)
