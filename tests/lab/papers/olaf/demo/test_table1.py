"""Table 1 from the shipped trace, through an event-level engine: the twin's own figures are the demo's."""

import json
from pathlib import Path

import numpy as np
import pytest

from olafctl.wire.modes import Mode
from olaflab.papers.olaf.demo import experiment, table1
from olaflab.papers.olaf.demo.experiment import Experiment
from tests.lab.training.replay import small
from tests.lab.training.replay.lone_queue import in_cpp

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def steps() -> list[str]:
    return []


@pytest.fixture(scope="module")
def done(steps: list[str]) -> Experiment:
    testbed = small.small_testbed("nine-clusters")
    return experiment.run_experiment(in_cpp(testbed), testbed, experiment.in_turn(), steps.append)


def test_every_setting_is_replayed_in_every_run(done: Experiment, steps: list[str]) -> None:
    for run in done.runs:
        assert [outcome.setting for outcome in run.outcomes] == list(experiment.SETTINGS)
    assert steps == [
        f"replaying 13500 updates through FIFO and Olaf, 4 clusters at a time, run {run} of 5"
        for run in range(1, 6)
    ]
    assert not np.array_equal(done.runs[0].plan.worker, done.runs[1].plan.worker)


def test_table_1_has_its_shape(done: Experiment) -> None:
    """FIFO loses about half and three quarters, Olaf at least five times less, and is much fresher."""
    ours = table1.make_rows(done)
    assert 50 < ours[Mode.FIFO, 40].lost < 60
    assert 70 < ours[Mode.FIFO, 20].lost < 80
    for rate in (40, 20):
        assert 5 * ours[Mode.OLAF, rate].lost <= ours[Mode.FIFO, rate].lost
        less = table1.age_reduction(done, rate)
        assert less is not None
        assert 55 < less.least <= less.mean <= less.most


def test_a_row_is_the_mean_of_the_runs(done: Experiment) -> None:
    row = table1.make_rows(done)[Mode.OLAF, 40]
    runs = [outcome.measurement for outcome in done.outcomes_of(Mode.OLAF, 40 * experiment.G)]
    ages = [run.average_age for run in runs if run.average_age is not None]
    assert len(set(ages)) == len(runs) == experiment.RUNS
    assert row.received == pytest.approx(sum(run.received for run in runs) / len(runs))
    assert row.age == pytest.approx(sum(ages) / len(runs))


def test_the_paper_stands_next_to_ours(done: Experiment) -> None:
    lines = table1.format_table(done).splitlines()
    assert len(lines) == 6
    for line, (mode, rate) in zip(lines[2:], table1.PAPER, strict=True):
        figures = table1.make_rows(done)[mode, rate]
        words = line.split()
        assert words[1:5] == [
            str(rate),
            "Gb/s",
            str(table1.PAPER[mode, rate].received),
            f"{figures.received:.0f}",
        ]
        assert f"{figures.lost:.1f}" in words


def test_the_data_are_json(done: Experiment) -> None:
    data = json.loads(json.dumps(table1.make_data(done)))
    assert [row["received"] for row in table1.published_rows()] == [6109, 4823, 3476, 2604]
    assert (data["at_once"], len(data["runs"])) == (4, 5)
    assert data["rows"][1]["merged"] == table1.make_rows(done)[Mode.OLAF, 40].merged
    assert set(data["aom_reduction"]) == {"40G", "20G"}


def test_the_plots_are_saved(done: Experiment, tmp_path: Path) -> None:
    pictures = experiment.save_plots(done, tmp_path)
    assert [picture.suffix for picture in pictures] == [".png", ".svg"] * 2
    for picture in pictures:
        assert picture.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<?xml"}[picture.suffix])
