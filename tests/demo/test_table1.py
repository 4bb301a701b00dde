"""Table 1 from the shipped trace, through an event-level engine: the twin's own figures are the demo's."""

import json
from pathlib import Path

import pytest

from olafctl.demo import experiment, table1
from olafctl.demo.experiment import Experiment
from olafctl.testbed.model import Mode
from tests.replay import small
from tests.replay.stand_in import StandIn


@pytest.fixture(scope="module")
def steps() -> list[str]:
    return []


@pytest.fixture(scope="module")
def done(steps: list[str]) -> Experiment:
    testbed = small.testbed("nine-clusters")
    return experiment.run(StandIn(testbed), testbed, steps.append)


def test_every_setting_is_replayed_and_told(done: Experiment, steps: list[str]) -> None:
    assert [outcome.setting for outcome in done.outcomes] == list(experiment.SETTINGS)
    assert len(steps) == len(experiment.SETTINGS)
    assert steps[0] == "replaying 13500 updates: fifo, 60 → 40 Gb/s"


def test_table_1_has_its_shape(done: Experiment) -> None:
    """Issue: FIFO loses about half and three quarters, Olaf at least five times less."""
    ours = table1.rows(done)
    assert 0.5 < ours[Mode.FIFO, 40].loss < 0.6
    assert 0.7 < ours[Mode.FIFO, 20].loss < 0.8
    for rate in (40, 20):
        assert 5 * ours[Mode.OLAF, rate].lost <= ours[Mode.FIFO, rate].lost
        less = table1.less(ours, rate)
        assert less is not None and less > 40


def test_the_paper_is_beside_ours(done: Experiment) -> None:
    lines = table1.table(done).splitlines()
    assert len(lines) == 6
    for line, (mode, rate) in zip(lines[2:], table1.PAPER, strict=True):
        figures = table1.rows(done)[mode, rate]
        words = line.split()
        assert words[1:5] == [
            str(rate),
            "Gb/s",
            str(table1.PAPER[mode, rate].received),
            str(figures.received),
        ]
        assert f"{100 * figures.loss:.1f}" in words


def test_the_data_are_json(done: Experiment) -> None:
    data = json.loads(json.dumps(table1.data(done)))
    assert [row["received"] for row in data["paper"]] == [6109, 4823, 3476, 2604]
    assert data["ours"][1]["merged"] == table1.rows(done)[Mode.OLAF, 40].merged
    assert set(data["aom_reduction"]) == {"40G", "20G"}


def test_the_plots_are_saved(done: Experiment, tmp_path: Path) -> None:
    for picture in experiment.plots(done, tmp_path):
        assert picture.read_bytes().startswith(b"\x89PNG")
