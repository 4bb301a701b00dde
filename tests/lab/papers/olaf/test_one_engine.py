"""Small cases of table 1 and of figures 6 and 7."""

import numpy as np
import pytest

pytest.importorskip("olaf", reason="the SDK is not installed (pip install ./sdk)")

from olafctl.wire.modes import Mode
from olaflab.papers.olaf import one_engine, table1
from olaflab.papers.olaf.one_engine import G, make_load, make_plan, replay_plan


def test_every_update_of_the_recorded_training_has_one_outcome() -> None:
    wanted = make_load(4, 1)
    for mode in (Mode.FIFO, Mode.OLAF):
        found = replay_plan(make_plan(wanted), wanted.frame_bytes, mode, 20 * G)
        assert found.sent == 27 * 500 == found.received + found.merged + found.replaced + found.lost
        assert sum(count * frames for count, frames in found.counts.items()) == found.received + found.merged


def test_all_together_the_counts_are_those_of_the_twin() -> None:
    """`olafctl demo` on the twin: FIFO 5730 and 3138 frames; Olaf 5721 and 3129, merged 7700 and 9998."""
    wanted = make_load(None, 0)
    plan = make_plan(wanted)
    seen = [
        (found.received, found.merged, found.replaced)
        for rate in (40, 20)
        for mode in (Mode.FIFO, Mode.OLAF)
        for found in (replay_plan(plan, wanted.frame_bytes, mode, rate * G),)
    ]
    assert seen == [(5730, 0, 0), (5721, 7700, 42), (3138, 0, 0), (3129, 9998, 48)]


def test_table_1_has_the_papers_rows_and_each_k(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_engine, "KS", (4, 9))
    tables = table1.show_table1(one_engine.measure_table1(2, lambda step: None)).tables
    assert [row[1] for row in tables["in_turn"].rows] == ["6109", "4823", "3476", "2604"]
    assert [row[0] for row in tables["sweep"].rows] == ["4", "9", "paper"]
    assert "±" in tables["in_turn"].rows[0][2] and "±" not in tables["together"].rows[0][2]


def test_a_slower_output_sends_frames_of_more_updates() -> None:
    data = one_engine.measure_figure6(1, lambda step: None)
    shares = [row[2:] for row in table1.show_figure6(data).tables["cdf"].rows[:3]]
    for at_most in range(4):
        fast, middle, slow = (float(row[at_most]) for row in shares)
        assert fast > middle > slow


def test_a_cdf_counts_frames_up_to_each_count() -> None:
    assert table1.to_cdf({"1": 3, "4": 1, "2": 4}) == ([1, 2, 4], [0.375, 0.875, 1.0])


def test_recordings_are_offered_at_60_gbit() -> None:
    gaps = one_engine.recorded_gaps(seed=3, clusters=100)
    assert gaps.shape == (300, 500)
    assert (256 * 8 / gaps.mean(axis=1)).sum() == pytest.approx(60.0)
    plan = one_engine.repeat_gaps(gaps, 200_000)
    assert len(plan.time) * 256 * 8 / 200_000 == pytest.approx(60, rel=0.15)
    assert (np.diff(plan.time) >= 20).all()  # 256 bytes at 100 Gb/s, rounded to ns


def test_olaf_has_so_many_updates_of_each_worker_sooner_than_fifo() -> None:
    times, losses = one_engine.time_to(3, one_engine.recorded_gaps(seed=1, clusters=9), rate=10, slots=8)
    assert 2 * times[Mode.OLAF] < times[Mode.FIFO]
    assert losses[Mode.OLAF] < losses[Mode.FIFO]
