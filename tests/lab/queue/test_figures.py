"""The figures the design promises, on fewer frames than ``olaflab bench queue`` takes."""

import pytest

from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olafctl.wire.modes import Mode
from olaflab.queue import performance

FRAMES = 150
JUMBO = Geometry(indices=16, slots=8, beats=142)


@pytest.mark.parametrize("rate", performance.RATES)
@pytest.mark.parametrize("mix", performance.MIXES)
@pytest.mark.parametrize("size", performance.SIZES)
def test_one_beat_a_cycle_whatever_the_output_does(size: int, mix: str, rate: int | None) -> None:
    measured = performance.throughput(build_queue(JUMBO), size, mix, rate, FRAMES)
    assert measured.frames >= FRAMES - 2
    assert measured.beats_per_cycle >= 0.98
    assert measured.stalls == 0
    if rate is None:
        assert measured.merged == measured.dropped == measured.replaced == 0
    else:
        assert measured.merged > 0


@pytest.mark.parametrize("mode", [Mode.ISWITCH, Mode.ISWITCH_ASYNC])
@pytest.mark.parametrize("workers", performance.ROUND_WORKERS)
@pytest.mark.parametrize("size", performance.SIZES)
def test_sums_take_one_beat_a_cycle(size: int, workers: int, mode: Mode) -> None:
    measured = performance.rounds(build_queue(JUMBO), size, workers, None, FRAMES, mode)
    assert measured.stalls == measured.dropped == 0
    assert measured.beats_per_cycle >= 0.98
    assert measured.merged >= FRAMES * (workers - 1) // workers - workers


@pytest.mark.slow
def test_a_model_in_segments_takes_one_beat_a_cycle() -> None:
    library = build_queue(Geometry(indices=performance.SEGMENTS, slots=performance.SEGMENTS, beats=142))
    measured = performance.throughput(library, 1500, performance.MODEL_MIX, 20_000_000_000, 600)
    assert measured.stalls == measured.dropped == 0
    assert measured.beats_per_cycle >= 0.98
    assert measured.merged > 0


def test_latency_of_a_jumbo_update() -> None:
    delay = performance.latency(build_queue(JUMBO), 9036)
    assert 0 < delay.first_ns <= 40
    assert 0 < delay.last_ns <= 600


@pytest.mark.parametrize("mode", [Mode.OLAF, Mode.FIFO])
@pytest.mark.parametrize("gbps", [5, 20, 40])
def test_the_rate_limit_is_exact(gbps: int, mode: Mode) -> None:
    frames = 4000
    measured = performance.throughput(
        build_queue(Geometry()), 1500, performance.MIXES[0], gbps * 10**9, frames, mode
    )
    assert measured.out_gbps == pytest.approx(gbps, rel=0.01)
