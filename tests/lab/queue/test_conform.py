"""Implementations of the queue against each other, and the figures that the design promises."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from olafctl.queue.software import build_software_queue
from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olafctl.wire.modes import Mode
from olaflab.model.agreement.queue import compare_gradient
from olaflab.queue import aggregation, performance
from olaflab.queue.aggregation import VirtualLink
from olafswitch.errors import BadInput
from olaftest.queue import conform
from olaftest.queue.clockless import ClocklessQueue, build_clockless
from olaftest.queue.comparison import QueueComparison
from olaftest.queue.conform import GEOMETRIES
from olaftest.queue.golden import GoldenQueue, Unexplained
from olaftest.queue.in_cpp import compare_loads, run_seed, run_shards
from olaftest.queue.model import Instant, QueueModel
from olaftest.queue.traffic import Frame, Traffic


def test_every_byte_and_every_counter_agree() -> None:
    coverage = conform.run_conformance(frames=22_400, per_seed=1_400)
    assert coverage.frames >= 22_400
    rare = {rule for rule in coverage.unmet_rules if rule.startswith("repaired ")}
    assert set(coverage.unmet_rules) <= rare


@pytest.mark.parametrize("of", ["golden", "in C++"])
@pytest.mark.parametrize("what", ["byte", "sidecar", "status", "counter"])
def test_a_difference_is_seen(what: str, of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison itself: falsify what is expected, or what the queue in C++ says; it must object."""
    geometry = Geometry()
    clockless = ClocklessQueue(build_clockless(geometry))
    with QueueModel(build_queue(geometry)) as model:
        comparison = QueueComparison(model, geometry, clockless)
        traffic = Traffic(3, geometry, 4, 100)
        for _ in range(50):
            comparison.offer(*traffic.next_frame())
        other: GoldenQueue | ClocklessQueue = comparison.golden if of == "golden" else clockless
        update, status, counter = other.next_update, other.status, clockless.counter

        def falsified() -> Frame:
            sidecar, frame = update()
            if what == "byte":
                return sidecar, frame[:-1] + bytes([frame[-1] ^ 1])
            return replace(sidecar, size=sidecar.size + 1), frame

        if what == "status":
            monkeypatch.setattr(other, "status", lambda: (status()[0] + 1, *status()[1:]))
        elif what != "counter":
            monkeypatch.setattr(other, "next_update", falsified)
        elif of == "golden":
            comparison.golden.counters["merged"] += 1
        else:
            monkeypatch.setattr(clockless, "counter", lambda name: counter(name) + (name == "merged"))
        with pytest.raises(Unexplained, match=r"in C\+\+" if of == "in C++" else None):
            comparison.settle()
            comparison.check_counters()


def _make_instant(cycle: int, **what: bool) -> Instant:
    names = ("begun", "left", "decided", "settled", "status", "admitted", "refused")
    return Instant(cycle, *(what.get(name, False) for name in names))


@pytest.mark.parametrize("impossible", ["begun", "left", "decided", "settled"])
def test_the_golden_model_objects_to_what_cannot_be(impossible: str) -> None:
    with pytest.raises(Unexplained):
        GoldenQueue(Geometry()).at(_make_instant(5, **{impossible: True}))


def test_an_overlong_frame_may_wait_for_a_blocked_output() -> None:
    """In this seed one is still to be offered when the output is blocked; that is no difference."""
    geometry = Geometry()
    with QueueModel(build_queue(geometry)) as model:
        assert conform.run_seed(model, geometry, seed=1016, frames=1000).frames >= 1000


@pytest.mark.parametrize("seed", range(22, 28))
def test_the_same_frames_leave_in_the_same_cycles(seed: int) -> None:
    found = compare_loads(loads=10, frames=600, seed=seed)
    assert found.frames > 2000
    assert found.other_frames == found.other_times == found.other_statuses == found.other_counters == 0


def test_jumbo_frames_do_too() -> None:
    found = compare_loads(
        loads=3, frames=150, seed=1, geometry=Geometry(indices=9, slots=8, beats=142, adder_latency=5)
    )
    assert found.frames > 100
    assert found.other_frames == found.other_times == 0


@pytest.mark.parametrize(
    ("geometry", "seed", "frames", "shards"),
    [
        *((GEOMETRIES[0], each, 600, each) for each in (1, 2, 4)),
        pytest.param(GEOMETRIES[3], 58, 1000, 4, marks=pytest.mark.slow),
    ],
)
def test_shards_are_one_queue_while_indices_move(
    geometry: Geometry, seed: int, frames: int, shards: int
) -> None:
    """In the last one an index moves on while several of its updates leave."""
    with QueueModel(build_queue(geometry)) as model:
        moves = run_seed(model, build_software_queue(geometry), geometry, seed, frames, shards)
    assert moves > 0 or shards == 1


def test_a_run_goes_on_where_it_was_ended(tmp_path: Path) -> None:
    """Its seeds are those of a run in one piece."""
    kept = tmp_path / "run.json"
    run_shards(60, 2, lambda done: None, kept)
    ended = json.loads(kept.read_text())
    assert (ended["frames"], ended["seeds"]) == (60, 1)
    begun: list[int] = []
    whole = run_shards(100, 2, lambda done: begun.append(done.seeds), kept)
    assert (whole.frames, whole.seeds, begun) == (100, 2, [2])
    with pytest.raises(BadInput, match=r"run\.json.* does not hold a run of these queues and options"):
        run_shards(100, 3, lambda done: None, kept)
    kept.write_text("{")
    with pytest.raises(BadInput, match="does not hold"):
        run_shards(100, 2, lambda done: None, kept)


FRAME_NS = 8960 * 8 / 10
"""A whole segment on a link of 10 Gb/s."""
SIZE = 40_020


@pytest.fixture(scope="module")
def library() -> Path:
    return build_queue(aggregation.GEOMETRY)


def test_a_link_sends_one_frame_after_the_other() -> None:
    link = VirtualLink(10e9, 500)
    assert link.carry(0, 1250) == 1500
    assert link.carry(200, 1250) == 2500
    assert link.carry(5000, 1250) == 6500


@pytest.mark.slow
def test_rounds_take_a_link_up_the_queue_and_a_link_down(library: Path) -> None:
    """Segments follow each other, so only the last one's way adds to the gradient's own length."""
    time = aggregation.time_round(library, SIZE, (4,))
    links = sum(size * 8 / 10 for size in aggregation.frame_sizes(SIZE)) + 2 * aggregation.DELAY
    assert links < time < links + FRAME_NS + 10_000


@pytest.mark.slow
@pytest.mark.parametrize("racks", [(4,), (3, 1), (3, 3, 3, 3)])
def test_the_event_level_model_equals_the_verilated_queue(library: Path, racks: tuple[int, ...]) -> None:
    found = compare_gradient(library, SIZE, racks)
    assert found.modelled == found.verilated


FRAMES = 150
JUMBO = Geometry(indices=16, slots=8, beats=142)


@pytest.mark.parametrize("rate", performance.RATES)
@pytest.mark.parametrize("mix", performance.MIXES)
@pytest.mark.parametrize("size", performance.SIZES)
def test_one_beat_a_cycle_whatever_the_output_does(size: int, mix: str, rate: int | None) -> None:
    measured = performance.measure_throughput(build_queue(JUMBO), size, mix, rate, FRAMES)
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
    measured = performance.measure_rounds(build_queue(JUMBO), size, workers, None, FRAMES, mode)
    assert measured.stalls == measured.dropped == 0
    assert measured.beats_per_cycle >= 0.98
    assert measured.merged >= FRAMES * (workers - 1) // workers - workers


@pytest.mark.slow
def test_a_model_in_segments_takes_one_beat_a_cycle() -> None:
    library = build_queue(Geometry(indices=performance.SEGMENTS, slots=performance.SEGMENTS, beats=142))
    measured = performance.measure_throughput(library, 1500, performance.MODEL_MIX, 20_000_000_000, 600)
    assert measured.stalls == measured.dropped == 0
    assert measured.beats_per_cycle >= 0.98
    assert measured.merged > 0


def test_latency_of_a_jumbo_update() -> None:
    delay = performance.measure_latency(build_queue(JUMBO), 9036)
    assert 0 < delay.first_ns <= 40
    assert 0 < delay.last_ns <= 600


@pytest.mark.parametrize("mode", [Mode.OLAF, Mode.FIFO])
@pytest.mark.parametrize("gbps", [5, 20, 40])
def test_the_rate_limit_is_exact(gbps: int, mode: Mode) -> None:
    frames = 4000
    measured = performance.measure_throughput(
        build_queue(Geometry()), 1500, performance.MIXES[0], gbps * 10**9, frames, mode
    )
    assert measured.out_gbps == pytest.approx(gbps, rel=0.01)
