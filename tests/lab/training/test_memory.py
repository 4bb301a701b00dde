"""What a training that is resumed finds of the one before, whatever became of its files meanwhile."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")
pytest.importorskip("tensorboard", reason="the extra [train] is not installed")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from olafctl.targets import testbeds
from olaflab.training import network
from olaflab.training.experience import Experience
from olaflab.training.head import Turnout
from olaflab.training.journal import UPDATES, HeadUpdate, Journal, Memory
from olaflab.training.plan import UpdateStep
from olaflab.training.ppo import PpoLearner
from olafswitch.errors import OlafError
from tests.control.test_full_disk import disk

VALUES = network.count_parameters(network.HIDDEN)
STEP = UpdateStep(1.0, 0, "w0", 2.0, 0.5, True)


def play_steps() -> Experience:
    """Make three steps of some episode."""
    random = np.random.default_rng(1)
    rows = 3
    return Experience(
        observations=random.standard_normal((rows, 8), np.float32),
        actions=np.arange(rows),
        log_probabilities=np.full(rows, -1.4, np.float32),
        advantages=np.array([1, -1, 2], np.float32),
        returns=np.array([1, 2, 3], np.float32),
        mean_reward=1.0,
    )


def learn_once(path: Path) -> PpoLearner:
    """Make a learner that has made an update, and kept its state."""
    learner = PpoLearner(1, VALUES)
    memory = Memory(path, learner)
    learner.gradient(
        network.initial_parameters(np.random.default_rng(1), network.width_of(VALUES)), play_steps()
    )
    memory.save_state(now=True)
    return learner


def test_an_optimiser_goes_on_with_its_moments(tmp_path: Path) -> None:
    before = learn_once(tmp_path / "optimisers" / "w0.npz")
    after = PpoLearner(2, VALUES)
    Memory(tmp_path / "optimisers" / "w0.npz", after)
    assert after.state().keys() == before.state().keys() == {"step", "exp_avg", "exp_avg_sq"}
    for name, value in before.state().items():
        np.testing.assert_array_equal(after.state()[name], value)
    assert after.state()["step"] == 4
    weights = network.initial_parameters(np.random.default_rng(2), network.width_of(VALUES))
    after.gradient(weights, play_steps())
    assert after.state()["step"] == 8
    assert [path.name for path in (tmp_path / "optimisers").iterdir()] == ["w0.npz"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"no file of ours"])
def test_a_damaged_optimiser_begins_again(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "w0.npz"
    path.write_bytes(content)
    learner = PpoLearner(1, VALUES)
    Memory(path, learner)
    assert learner.state() == {}
    assert f"{path}" in caplog.text
    assert "begins again" in caplog.text


def test_an_optimiser_of_another_model_is_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    learn_once(tmp_path / "w0.npz")
    learner = PpoLearner(1, VALUES + 1)
    Memory(tmp_path / "w0.npz", learner)
    assert learner.state() == {}
    assert "begins again" in caplog.text


def test_an_optimiser_that_cannot_be_written_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    memory = Memory(tmp_path / "other" / "w0.npz", PpoLearner(1, VALUES))
    (tmp_path / "other").touch()
    with caplog.at_level(logging.WARNING):
        memory.save_state(now=True)
        memory.save_state(now=True)
    assert caplog.text.count("cannot be written") == 1


def open_journal(folder: Path, *, resume: bool) -> Journal:
    clusters = testbeds.load_testbed(testbeds.locate_testbed("lander")).clusters
    return Journal(folder, clusters, resume)


def test_a_line_that_a_kill_cut_off_is_dropped(tmp_path: Path) -> None:
    first = open_journal(tmp_path, resume=False)
    first.write_update(STEP)
    first.write_update(STEP)
    first.close()
    whole = (tmp_path / UPDATES).read_bytes()
    (tmp_path / UPDATES).write_bytes(whole + b"3,1.0,0,w0,2")
    resumed = open_journal(tmp_path, resume=True)
    resumed.write_update(STEP)
    resumed.close()
    assert resumed.done["w0"] == 3
    assert (tmp_path / UPDATES).read_bytes().splitlines()[-1].startswith(b"3,1.0,0,w0,2.0")
    assert open_journal(tmp_path, resume=True).done["w0"] == 3


def test_a_training_shows_each_head(tmp_path: Path) -> None:
    kept = open_journal(tmp_path, resume=False)
    (cluster, *_) = testbeds.load_testbed(testbeds.locate_testbed("lander")).clusters
    first, second, *_ = (worker.name for worker in cluster.workers)
    step = replace(STEP, cluster=cluster.number)
    kept.write_update(replace(step, time=3.0, worker=first, turnout=Turnout(2, 4, 2, 0.5, 1, 0.25)))
    kept.write_update(replace(step, time=4.0, worker=second, turnout=Turnout(4, 4, 1, 1.0, 0, 0.75)))
    figures = kept.report_cluster(cluster, 10.0, None)
    kept.close()
    assert figures is not None
    assert figures.heads == (
        HeadUpdate(first, cluster.name, 2, 4, 0.5, 1, 0.25, since=7.0),
        HeadUpdate(second, cluster.name, 4, 4, 1.0, 0, 0.75, since=6.0),
    )
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    shown = {
        name: [each.value for each in events.Scalars(f"{cluster.name}/{second}/{name}")]
        for name in ("awake", "fill", "lag", "waited")
    }
    assert shown == {"awake": [4], "fill": [1.0], "lag": [0], "waited": [0.75]}


def test_a_training_killed_before_its_first_line_is_resumed(tmp_path: Path) -> None:
    (tmp_path / UPDATES).touch()
    resumed = open_journal(tmp_path, resume=True)
    resumed.write_update(STEP)
    resumed.close()
    assert open_journal(tmp_path, resume=True).done["w0"] == 1


def test_weights_that_were_never_kept_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = open_journal(tmp_path, resume=False)
    first.write_update(STEP)
    first.close()
    open_journal(tmp_path, resume=True).close()
    assert "checkpoint.npz is not there: the weights begin again" in caplog.text


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / UPDATES).write_text("number,time\n1,then\n")
    with pytest.raises(OlafError, match=r"updates\.csv:2: is no update"):
        open_journal(tmp_path, resume=True)


def test_a_full_disk_is_logged_once_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small = tmp_path / "small"
    with disk(small, 8):
        full = open_journal(small / "training", resume=False)
        (small / "filling").write_bytes(bytes(4096))
        for _ in range(500):
            full.write_update(STEP)
        for cluster in testbeds.load_testbed(testbeds.locate_testbed("lander")).clusters:
            full.report_cluster(cluster, 1.0, 0.1)
        with pytest.raises(OlafError, match="picture"):
            full.close()
        assert len(full.steps) == 500
    assert caplog.text.count("cannot be written: No space left on device; the training goes on") == 1
