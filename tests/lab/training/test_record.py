import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")
pytest.importorskip("Box2D", reason="the extra [train] is not installed")

from olaflab.cli.record import command
from olaflab.training.record import record_training
from olaflab.training.replay import trace as traces
from olaflab.training.replay.trace import ReplayLoad, Trace, schedule_updates
from olafswitch.errors import BadInput
from tests.lab.training.replay.small import SHIPPED

report: list[tuple[int, int]] = []


@pytest.fixture(scope="module")
def recorded() -> Trace:
    return record_training(2, 2, 3, 5, lambda _, done, total, __: report.append((done, total)))


def test_every_worker_is_recorded_whole(recorded: Trace) -> None:
    assert (recorded.workers, recorded.updates, recorded.values) == (4, 3, 2205)
    assert np.all(np.diff(recorded.time, axis=1) > 0)
    assert recorded.time.min() > 0
    assert recorded.steps.min() > 0
    assert recorded.norm.min() > 0
    assert recorded.accepted.any()
    assert report == [(done, 12) for done in range(1, 13)]


def test_clusters_differ_in_hardware_and_experience(recorded: Trace) -> None:
    clusters = recorded.header["clusters"]
    assert {cluster["slowdown"] for cluster in clusters} == {1, 2}
    assert {cluster["episodes"] for cluster in clusters} == {1, 2}


def test_nine_clusters_have_every_hardware_with_every_experience() -> None:
    clusters = traces.load_trace(SHIPPED).header["clusters"]
    dealt = {(cluster["slowdown"], cluster["episodes"]) for cluster in clusters}
    assert dealt == {(slowdown, episodes) for slowdown in (1, 2, 4) for episodes in (1, 2, 3)}


def test_every_cluster_trains_from_its_own_beginning(recorded: Trace) -> None:
    """Its server takes its first update, whatever the other clusters' servers have seen."""
    for first in (0, 2):
        team = slice(first, first + 2)
        assert recorded.accepted[team][np.unravel_index(recorded.time[team].argmin(), (2, 3))]


def test_provenance_is_recorded(recorded: Trace) -> None:
    assert recorded.header["environment"] == "LunarLander-v3"
    assert recorded.header["seed"] == 5
    assert set(recorded.header["versions"]) == {"python", "numpy", "torch", "gymnasium", "box2d"}


def test_the_command_records_and_says_so_as_json(tmp_path: Path) -> None:
    words = ["--clusters", "1", "--cluster-size", "2", "--updates", "1", "--json"]
    result = CliRunner().invoke(command, ["-o", str(tmp_path / "t.npz"), *words])
    message = json.loads(result.stdout)
    assert (message["workers"], message["updates"], message["values"]) == (2, 1, 2205)
    assert message["bytes"] == (tmp_path / "t.npz").stat().st_size
    assert message["header"]["clusters"] == traces.load_trace(tmp_path / "t.npz").header["clusters"]


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    (tmp_path / "t.npz").write_text("mine")
    result = CliRunner().invoke(command, ["-o", str(tmp_path / "t.npz")])
    assert (result.exit_code, (tmp_path / "t.npz").read_text()) == (2, "mine")


def test_a_missing_folder_is_reported_before_training(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["-o", str(tmp_path / "absent" / "t.npz")])
    assert result.exit_code == 2
    assert "does not exist" in result.output


def test_more_gradients_than_a_trace_can_index_are_refused() -> None:
    with pytest.raises(BadInput, match="at most 65536"):
        record_training(1000, 3, 60_000, 1, lambda *_: None)


def test_a_wider_network_is_recorded_whole(tmp_path: Path) -> None:
    """5061 values take 14 segments of an engine of 24 beats; a replay sends all of them."""
    trace = record_training(1, 2, 2, 3, lambda *_: None, hidden=64)
    assert trace.values == trace.header["parameters"] == 5061
    load = ReplayLoad(1e9, 1e10, 24 * 64, model=trace.values)
    assert load.blocks.count_segments == 14
    plan = schedule_updates(trace, np.zeros(2, dtype=np.int64), load)
    assert len(plan.time) == 2 * 2 * 14
