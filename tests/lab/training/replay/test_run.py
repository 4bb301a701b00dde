"""Whole replays, through a queue in C++; the twin's own are in tests/targets and the demo."""

from collections.abc import Iterator
from dataclasses import replace as replaced
from pathlib import Path

import numpy as np
import pytest

from olafctl.queue.registers import IndexSettings, rate_word
from olafctl.queue.settings import IndexRange
from olafctl.targets.interface import TimedFrame
from olafctl.wire.modes import Mode
from olaflab.training.replay import report
from olaflab.training.replay import report as plot
from olaflab.training.replay import trace as traces
from olaflab.training.replay.run import ReplayOutcome, Setting, replay_trace
from olaflab.training.replay.trace import ReplayLoad, ReplaySchedule, Trace, schedule_updates
from olafswitch.errors import BadInput, OlafError
from tests.lab.training.replay import small
from tests.lab.training.replay.lone_queue import LoneQueue, in_cpp

TESTBED = small.small_testbed("nine-clusters")
LOAD = ReplayLoad(60e9, 100e9, 256)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traces.load_trace(small.SHIPPED)


@pytest.fixture(scope="module")
def plan(trace: Trace) -> ReplaySchedule:
    return schedule_updates(trace, np.arange(27), LOAD, updates=60)


@pytest.fixture(scope="module")
def outcomes(trace: Trace, plan: ReplaySchedule) -> dict[Mode, ReplayOutcome]:
    return {
        mode: replay_trace(in_cpp(TESTBED), TESTBED, trace, plan, LOAD.blocks, Setting(mode, 20 * 10**9))
        for mode in (Mode.OLAF, Mode.FIFO)
    }


def test_nothing_is_unaccounted_for(outcomes: dict[Mode, ReplayOutcome]) -> None:
    for outcome in outcomes.values():
        figures = outcome.measurement
        assert figures.violations == ()
        assert figures.sent == 27 * 60
        assert (
            sum(size * frames for size, frames in figures.counts.items()) == figures.received + figures.merged
        )
        assert figures.received + figures.merged + figures.replaced + figures.lost == figures.sent


def test_olaf_loses_less_and_is_fresher_than_fifo(outcomes: dict[Mode, ReplayOutcome]) -> None:
    fifo, olaf = (outcomes[mode].measurement for mode in (Mode.FIFO, Mode.OLAF))
    assert fifo.merged == fifo.replaced == 0
    assert olaf.lost * 5 < fifo.lost
    assert olaf.average_age is not None and fifo.average_age is not None
    assert olaf.average_age < 0.6 * fifo.average_age


def test_the_engine_is_put_back_as_it_was(trace: Trace, plan: ReplaySchedule) -> None:
    engine = in_cpp(TESTBED)
    engine.queues["engine"].configure(0, 15, IndexSettings(Mode.FIFO))
    engine.queues["engine"].write("rate", rate_word(5 * 10**9))
    replay_trace(engine, TESTBED, trace, plan, LOAD.blocks, Setting(Mode.OLAF, None))
    assert engine.queues["engine"].settings() == (IndexRange(0, 15, IndexSettings(Mode.FIFO)),)
    assert engine.queues["engine"].read("rate") == rate_word(5 * 10**9)


def test_the_engine_is_put_back_after_a_failure(trace: Trace, plan: ReplaySchedule) -> None:
    class Broken(LoneQueue):
        def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
            raise OlafError("has no virtual time")

    engine = Broken(TESTBED, in_cpp(TESTBED).model)
    engine.queues["engine"].configure(0, 15, IndexSettings(Mode.FIFO))
    with pytest.raises(OlafError, match="no virtual time"):
        replay_trace(engine, TESTBED, trace, plan, LOAD.blocks, Setting(Mode.OLAF, None))
    assert engine.queues["engine"].settings() == (IndexRange(0, 15, IndexSettings(Mode.FIFO)),)


def test_frames_that_fit_no_slot_are_refused_before_any_is_sent(trace: Trace, plan: ReplaySchedule) -> None:
    narrow = replaced(TESTBED, engines=(replaced(TESTBED.root, beats=3),))
    engine = LoneQueue(narrow, in_cpp(TESTBED).model)
    with pytest.raises(BadInput, match="frames of 256 bytes, but a slot of the engine holds 192"):
        replay_trace(engine, narrow, trace, plan, LOAD.blocks, Setting(Mode.OLAF, None))
    assert engine.queues["engine"].read("in_updates") == 0


@pytest.mark.slow
def test_many_clusters_are_cut_to_the_stalest(trace: Trace) -> None:
    testbed = small.small_testbed("hundred-clusters")
    plan = schedule_updates(trace, np.arange(300), ReplayLoad(60e9, 100e9, 256), updates=3)
    outcome = replay_trace(in_cpp(testbed), testbed, trace, plan, LOAD.blocks, Setting(Mode.FIFO, 40 * 10**9))
    lines = report.format_replay(outcome.setting, outcome.measurement).splitlines()
    assert lines[-1] == "  the 10 stalest of 100 clusters; --json has all"
    assert len(lines) < 25


def test_the_table_and_the_json_say_the_same(outcomes: dict[Mode, ReplayOutcome]) -> None:
    outcome = outcomes[Mode.OLAF]
    data = report.as_json(outcome.setting, outcome.measurement)
    text = report.format_replay(outcome.setting, outcome.measurement)
    assert text.startswith("Olaf, output 20 Gb/s\n")
    for name in ("sent", "received", "merged", "replaced", "lost"):
        assert f"{data[name]:7}" in text
    assert data["lost"] == sum(data["causes"].values())
    assert [row["cluster"] for row in data["clusters"]] == list(range(9))
    assert f"{data['aom_average'] / 1000:.3f} µs" in text


def test_pictures_name_the_scenario_and_label_their_axes(
    outcomes: dict[Mode, ReplayOutcome], plan: ReplaySchedule, tmp_path: Path
) -> None:
    plot.draw_ages(list(outcomes.values()), TESTBED, plan, LOAD, tmp_path / "ages.svg")
    plot.updates_per_frame([outcomes[Mode.OLAF]], TESTBED, plan, LOAD, tmp_path / "cdf.svg")
    ages, cdf = ((tmp_path / name).read_text() for name in ("ages.svg", "cdf.svg"))
    for picture in (ages, cdf):
        assert "nine-clusters: 27 workers in 9 clusters, 1620 updates of 256 bytes" in picture
    assert ages.count(">virtual time, µs<") == 3
    assert ">worker updates in one outgoing update<" in cdf


def test_a_picture_has_the_format_its_name_ends_with(
    outcomes: dict[Mode, ReplayOutcome], plan: ReplaySchedule, tmp_path: Path
) -> None:
    paths = [tmp_path / f"cdf.{kind}" for kind in ("png", "svg", "pdf")]
    plot.updates_per_frame([outcomes[Mode.OLAF]], TESTBED, plan, LOAD, *paths)
    starts = (b"\x89PNG", b"<?xml", b"%PDF")
    assert [path.read_bytes().startswith(start) for path, start in zip(paths, starts, strict=True)] == [
        True
    ] * 3
    with pytest.raises(BadInput, match=r"cdf\.jpg"):
        plot.updates_per_frame([outcomes[Mode.OLAF]], TESTBED, plan, LOAD, tmp_path / "cdf.jpg")


def test_a_picture_that_cannot_be_written_is_reported(
    outcomes: dict[Mode, ReplayOutcome], plan: ReplaySchedule, tmp_path: Path
) -> None:
    with pytest.raises(OlafError, match="cannot write the picture"):
        plot.updates_per_frame([outcomes[Mode.OLAF]], TESTBED, plan, LOAD, tmp_path / "absent" / "cdf.png")
