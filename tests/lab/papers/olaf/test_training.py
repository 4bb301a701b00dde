"""Trainings: runs that are kept, figures as files, and figure 7's counting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olafctl import paths
from olafctl.targets import testbeds
from olafctl.wire.modes import Mode
from olaflab.papers.figure import FigureTable
from olaflab.papers.olaf import delivery, speedup
from olaflab.papers.summary import Summary, estimate_mean, pack_summary, unpack_section
from olaflab.training.replay import trace as traces
from tests.targets.conftest import quietly, why_not

# The geometry of the laptop testbed: one build for both.
NINE = """
name: delivery
engine: {indices: 16, slots: 8, beats: 24, active_window: 10 ms}
ports: [{number: 1, name: ps}, {number: 2, name: tor}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: [{count: 9, workers: 3, name: nine, port: 2, ip: 10.0.1.1}]
"""
UPDATES = 10


@pytest.fixture(scope="module")
def lab() -> Iterator[delivery.DeliveryLab]:
    if reason := why_not("twin"):
        pytest.skip(reason)
    trace = traces.load_trace(paths.sources() / delivery.TRACE)
    testbed = testbeds.load_testbed(Path("delivery.yaml"), NINE)
    with delivery.run_trace_twin(testbed, trace, quietly) as found:
        yield found


def test_an_update_counts_once_it_is_part_of_a_frame_that_arrives(lab: delivery.DeliveryLab) -> None:
    fifo, olaf, control, frames = (lab.run_case(case, 20, UPDATES, 1) for case in speedup.CASES[:4])
    for run in (fifo, olaf, control, frames):
        assert run.sent <= run.offered
        assert run.contained + run.lost + run.replaced <= run.sent
    assert fifo.frames == fifo.contained >= 27 * UPDATES
    assert olaf.frames < olaf.contained
    assert olaf.contained >= 27 * UPDATES
    assert control.sent < control.offered
    assert frames.contained >= 27 * UPDATES
    assert frames.seconds > control.seconds
    assert olaf.seconds < fifo.seconds
    assert control.ready == fifo.ready <= control.seconds < frames.seconds


def test_control_that_tolerates_no_silence_sends_more_and_without_a_slope_less(
    lab: delivery.DeliveryLab,
) -> None:
    controls = (delivery.RecordedControl(delta_t=0.01, v=100), delivery.RecordedControl(v=0))
    at_once, never = (
        lab.run_case(delivery.DeliveryCase("counted", Mode.OLAF, control, folded=False), 20, UPDATES, 1)
        for control in controls
    )
    assert never.sent / never.offered < at_once.sent / at_once.offered < 1


def test_one_seed_repeats_exactly(lab: delivery.DeliveryLab) -> None:
    case = speedup.CASES[2]
    assert lab.run_case(case, 20, 3, 5) == lab.run_case(case, 20, 3, 5) != lab.run_case(case, 20, 3, 6)


def test_an_interval_is_students() -> None:
    found = estimate_mean(np.array([1.0, 2.0, 3.0]))
    assert found.mean == 2
    assert found.interval == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert np.isnan(estimate_mean(np.array([1.0])).interval)


def test_a_summary_packs_into_points_and_its_section_comes_from_them() -> None:
    found = Summary(
        title="nothing",
        settings={"seeds": 2},
        heads=("queue", "reward"),
        rows=[("FIFO", estimate_mean(np.array([1.0, 3.0])))],
        verdicts={"more is more": "holds", "less is more": "not shown"},
        columns=("queue", "seed"),
        points=[("FIFO", 1), ("FIFO", 2)],
        tables=[FigureTable("more", ("a", "b"), [("1", "2")])],
    )
    points = pack_summary(found)
    assert points["columns"]["seed"].tolist() == [1, 2]
    shown = unpack_section(points)
    assert [table.title for table in shown.tables.values()] == ["nothing; 2 seeds", "more"]
    assert shown.tables["summary"].rows == [["FIFO", "2.0 ± 12.7"]]
    assert shown.verdicts == {"more is more": "holds", "less is more": "not shown"}


def test_a_run_is_made_once_unless_its_settings_change(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra [train] is not installed")
    pytest.importorskip("gymnasium", reason="the extra [train] is not installed")
    from olaflab.papers.olaf.lab import TwinRun
    from olaflab.papers.runs import Runs, final_reward

    made: list[int] = []

    def train_once(reward: float) -> TwinRun:
        made.append(1)
        return TwinRun([0.0] * 18 + [reward] * 2, [1.0] * 20, 20, 20, 20, 0, 0, 0, 0.1)

    runs = Runs(TwinRun, tmp_path, quietly)
    first = runs.run_of("olaf", 1, {"rate": (1, 2)}, lambda: train_once(5.0))
    assert runs.run_of("olaf", 1, {"rate": (1, 2)}, lambda: train_once(6.0)) == first
    assert final_reward([first]).tolist() == [5.0]
    assert runs.run_of("olaf", 1, {"rate": (1, 3)}, lambda: train_once(7.0)).rewards[-1] == 7.0
    (kept,) = (tmp_path / "runs").iterdir()
    kept.write_text(kept.read_text()[:40])
    assert runs.run_of("olaf", 1, {"rate": (1, 3)}, lambda: train_once(8.0)).rewards[-1] == 8.0
    assert len(made) == 3


def test_figure_8_trains_every_queue_once_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the extra [train] is not installed")
    pytest.importorskip("gymnasium", reason="the extra [train] is not installed")
    from olaflab.papers.olaf import congestion
    from olaflab.papers.olaf.lab import TwinRun

    queues = []

    class Twin:
        def train_queue(self, queue: Any, plan: Any) -> TwinRun:
            queues.append((queue, plan.control))
            rewards = np.linspace(-200, 0 if queue.rate is None else -20, plan.updates)
            return TwinRun(rewards.tolist(), [1.0] * plan.updates, 60, 30, 60, 0, 0, 0, 0.1)

    monkeypatch.setattr(congestion, "run_lab_twin", lambda *_: nullcontext(Twin()))
    found = [congestion.compare_outputs(20, 2, tmp_path, quietly) for _ in range(2)]
    assert len(queues) == 2 * len(congestion.OUTPUTS) and found[0] == found[1]
    assert all(control is (queue.mode is Mode.OLAF) for queue, control in queues)
    assert [row[0] for row in found[0].rows] == list(congestion.OUTPUTS)
