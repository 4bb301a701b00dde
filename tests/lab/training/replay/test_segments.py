"""Whole models replayed in segments, through a queue in C++ (OLAF §10, update fragmentation)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olafctl.queue.verilate import build_queue
from olafctl.targets import testbeds
from olafctl.targets.interface import TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaflab.training.replay import report
from olaflab.training.replay import report as plot
from olaflab.training.replay import trace as traces
from olaflab.training.replay.frames import encode_updates, whole_model
from olaflab.training.replay.run import ReplayOutcome, Setting, replay_trace
from olaflab.training.replay.trace import ReplayLoad, ReplaySchedule, Trace, schedule_updates
from olafswitch.errors import BadInput
from olaftest.frames import OlafFrame
from olaftest.queue.model import QueueModel
from tests.lab.training.replay import small
from tests.lab.training.replay.lone_queue import LoneQueue, in_cpp

SEGMENTS = 134
FRAME = 64 + 4 * 360  # an update in an IP packet of 1500 bytes, with room for a status
EACH = (FRAME - 64) // 4
VALUES = EACH * (SEGMENTS - 1) + 7
LOAD = ReplayLoad(60e9, 100e9, FRAME, model=VALUES)

TEXT = f"""
name: three
engine: {{indices: 256, slots: 96, beats: 24}}
ports: [{{numbers: 1-4, name: p}}]
parameter_servers: [{{name: ps, port: 1, ip: 10.0.0.254}}]
clusters: [{{name: big, workers: 3, count: 1, ports: 2-4, ip: 10.0.1.1, values: {VALUES}, epoch: 5}}]
"""


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Testbed:
    return testbeds.load_testbed(tmp_path_factory.mktemp("t") / "three.yaml", TEXT)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traces.load_trace(small.SHIPPED)


@pytest.fixture(scope="module")
def plan(trace: Trace) -> ReplaySchedule:
    return schedule_updates(trace, np.zeros(3, dtype=np.int64), LOAD, updates=5)


@pytest.fixture(scope="module")
def outcomes(testbed: Testbed, trace: Trace, plan: ReplaySchedule) -> dict[Mode, ReplayOutcome]:
    return {
        mode: replay_trace(in_cpp(testbed), testbed, trace, plan, LOAD.blocks, Setting(mode, 20 * 10**9))
        for mode in (Mode.OLAF, Mode.FIFO)
    }


def test_a_model_travels_as_all_its_segments_in_order(
    testbed: Testbed, trace: Trace, plan: ReplaySchedule
) -> None:
    assert whole_model(testbed) == VALUES
    frames = [OlafFrame.decode(timed.frame) for timed in encode_updates(testbed, trace, plan, LOAD.blocks)]
    mine = [frame for frame in frames if frame.source.ip == testbed.workers[1].ip and frame.seq == 2]
    assert [frame.segment for frame in mine] == list(range(SEGMENTS))
    assert {frame.gen_time for frame in mine} == {
        int(plan.generated[(plan.worker == 1) & (plan.seq == 2)][0])
    }
    assert {frame.epoch for frame in frames} == {5}
    assert [len(frame.gradient) for frame in mine] == [EACH] * (SEGMENTS - 1) + [7]
    whole = np.concatenate([frame.gradient for frame in mine])
    recorded = trace.gradients(np.array([1]), np.array([2]), trace.values)[0]
    assert whole.tobytes() == np.resize(recorded, VALUES).tobytes()


def test_workers_that_send_at_one_time_take_turns(plan: ReplaySchedule) -> None:
    assert np.all(np.diff(plan.time) > 0)
    first = plan.worker[:300]
    assert np.count_nonzero(first[1:] != first[:-1]) > 150
    assert plan.updates == 15
    assert len(plan.time) == 15 * SEGMENTS


def test_every_frame_is_the_exact_sum_of_the_updates_it_counts(outcomes: dict[Mode, ReplayOutcome]) -> None:
    for outcome in outcomes.values():
        assert outcome.measurement.violations == ()
        assert outcome.measurement.sent == 15 * SEGMENTS
    assert outcomes[Mode.OLAF].measurement.merged > 100
    assert outcomes[Mode.FIFO].measurement.merged == 0


def test_the_model_is_as_old_as_its_oldest_segment(
    outcomes: dict[Mode, ReplayOutcome], plan: ReplaySchedule
) -> None:
    """It is held from when its last segment has come; until then the cluster has no age."""
    outcome = outcomes[Mode.OLAF]
    arrived = outcome.receptions
    complete = max(int(arrived.time[arrived.segment == segment].min()) for segment in range(SEGMENTS))
    [age] = outcome.measurement.ages
    assert age.average is not None
    held = [
        int(arrived.generated[(arrived.segment == segment) & (arrived.time <= complete)].max())
        for segment in range(SEGMENTS)
    ]
    assert complete - min(held) <= (age.highest_peak or 0) or age.highest_peak is None
    assert age.average >= np.mean(arrived.time - arrived.generated) / 2


def test_a_wrong_sum_is_reported(testbed: Testbed, trace: Trace, plan: ReplaySchedule) -> None:
    class OneBitOff(LoneQueue):
        def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
            for number, timed in enumerate(super().replay(frames)):
                frame = timed.frame
                if number == 100:
                    frame = frame[:-4] + bytes([frame[-4] ^ 1]) + frame[-3:]
                yield replace(timed, frame=frame)

    outcome = replay_trace(
        OneBitOff(testbed, in_cpp(testbed).model),
        testbed,
        trace,
        plan,
        LOAD.blocks,
        Setting(Mode.OLAF, 20 * 10**9),
    )
    [line] = outcome.measurement.violations
    assert "is no sum of" in line


def test_a_cluster_of_fewer_segments_is_refused(testbed: Testbed, trace: Trace, plan: ReplaySchedule) -> None:
    longer = replace(LOAD, model=VALUES + EACH)
    with pytest.raises(BadInput, match="135 segments, but cluster big has 134"):
        replay_trace(in_cpp(testbed), testbed, trace, plan, longer.blocks, Setting(Mode.OLAF, None))


def test_models_of_unknown_or_different_length_are_refused() -> None:
    with pytest.raises(BadInput, match="does not give one length for all models"):
        whole_model(small.small_testbed("nine-clusters"))


def test_reports_and_pictures_name_the_segments(
    outcomes: dict[Mode, ReplayOutcome], testbed: Testbed, trace: Trace, plan: ReplaySchedule, tmp_path: Path
) -> None:
    text = report.source_text(trace, plan, 3, LOAD)
    assert "15 updates of 3 workers" in text
    assert f"134 segments, {SEGMENTS * 64 + 4 * VALUES} bytes" in text
    plot.draw_ages(list(outcomes.values()), testbed, plan, LOAD, tmp_path / "ages.svg")
    assert "134 segments" in (tmp_path / "ages.svg").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("rate", [40, 20])
def test_olaf_loses_less_and_is_fresher_in_the_verilog_queue(
    testbed: Testbed, trace: Trace, rate: int
) -> None:
    """Every sum is exact to the bit; a model is as old as its oldest segment."""
    plan = schedule_updates(trace, np.zeros(3, dtype=np.int64), LOAD, updates=12)
    library = build_queue(testbed.root.geometry)
    figures = {}
    for mode in (Mode.OLAF, Mode.FIFO):
        with QueueModel(library) as model:
            setting = Setting(mode, rate * 10**9)
            queue = LoneQueue(testbed, model)
            figures[mode] = replay_trace(queue, testbed, trace, plan, LOAD.blocks, setting).measurement
    fifo, olaf = figures[Mode.FIFO], figures[Mode.OLAF]
    assert fifo.violations == olaf.violations == ()
    assert olaf.merged > olaf.sent / 5
    assert 5 * olaf.lost < fifo.lost
    assert olaf.average_age is not None
    assert fifo.average_age is None or olaf.average_age < 0.8 * fifo.average_age
