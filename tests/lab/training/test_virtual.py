"""``olaflab train --virtual``: LunarLander through a twin, in seven segments, repeatable to the byte."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")
pytest.importorskip("Box2D", reason="the extra [train] is not installed")

from click import UsageError

from olafctl.control import serving
from olafctl.targets.interface import of_root
from olafctl.targets.testbeds import load_testbed
from olaflab.cli.train import command
from olaflab.training.cosim.medium import EngineMedium
from olaflab.training.plan import ClusterFigures, Pace, TrainingPlan, UpdateStep
from olaflab.training.virtual import train_virtual
from olafswitch.errors import BadInput, MissingTool
from olaftest.deployment import using_hosts
from tests.lab.training.cosim.conftest import Recorded, TwinLab, deployed
from tests.targets.conftest import why_not

# The geometry of tests/lab/training/cosim: one build for both.
TESTBED = """
name: virtual
engine: {indices: 8, slots: 2, beats: 22, output_rate: 2 Mb/s, active_window: 1 s}
ports:
  - {number: 1, name: ps, transport: unix}
  - {number: 2, name: tor, transport: unix}
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: [{count: 1, workers: 3, name: lander, port: 2, ip: 10.0.1.1, values: VALUES, epoch: 5}]
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwinLab]:
    testbed = load_testbed(Path("virtual.yaml"), TESTBED.replace("VALUES", "2205"))
    with deployed(testbed, tmp_path_factory.mktemp("virtual") / "bed") as found:
        yield found


def train_shortly(
    lab: TwinLab, seed: int, report: list[UpdateStep] | None = None
) -> tuple[ClusterFigures, str]:
    """Train shortly; return the figures, and a digest of every frame that entered or left the engine."""
    plan = TrainingPlan(3, 1, Pace(0.001), seed, serving.make_policy("plain", 0.001, {}), None, 0.4)
    session = Recorded(lab.running.virtual_time())
    with closing(session):
        (cluster,) = train_virtual(
            EngineMedium(session, lab.testbed),
            lab.testbed,
            lab.testbed.parameter_servers[0],
            plan,
            lambda step, done, total: report.append(step) if report is not None else None,
        )
    digest = hashlib.sha256()
    for item in (*session.entered, *session.left):
        digest.update(f"{item.time} {item.port} {item.frame.hex()}\n".encode())
    return cluster, digest.hexdigest()


def test_weights_move_by_what_the_engine_lets_through(lab: TwinLab) -> None:
    report: list[UpdateStep] = []
    cluster, _ = train_shortly(lab, 1, report)
    counted = of_root(lab.running.queues).read_all()
    assert tuple(report) == cluster.steps
    assert len(cluster.steps) == 9
    assert cluster.sent == counted["in_updates"]
    assert cluster.received == counted["out_updates"] == cluster.applied > 0
    assert cluster.contained <= cluster.sent
    assert counted["merged"] + counted["dropped_full"] + counted["replaced_worker"] > 0
    assert cluster.sent + 7 * cluster.held >= 7 * 9
    assert min(step.probability for step in cluster.steps) < 1
    assert cluster.age_of_model is None or cluster.age_of_model > 0


def test_one_seed_repeats_to_the_byte_and_another_does_not(lab: TwinLab) -> None:
    first, again, other = (train_shortly(lab, seed) for seed in (1, 1, 2))
    assert first[1] == again[1]
    assert first[0].steps == again[0].steps
    assert first[0].weights is not None
    assert again[0].weights is not None
    assert first[0].weights.tobytes() == again[0].weights.tobytes()
    assert other[1] != first[1]


@pytest.mark.parametrize("values", [1, 5, 300, 2204])
def test_a_cluster_of_another_model_is_refused(lab: TwinLab, values: int) -> None:
    testbed = load_testbed(Path("virtual.yaml"), TESTBED.replace("VALUES", str(values)))
    plan = TrainingPlan(1, 1, Pace(0.001), 1, serving.make_policy("olaf", 0.001, {}), None, 0.4)
    with closing(lab.running.virtual_time()) as session, pytest.raises(BadInput, match="no network"):
        medium = EngineMedium(session, testbed)
        train_virtual(medium, testbed, testbed.parameter_servers[0], plan, lambda step, done, total: None)


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path))
    testbed = load_testbed(Path("virtual.yaml"), TESTBED.replace("VALUES", "2205"))
    with using_hosts(testbed, lambda step: None, with_hosts=False):
        line = [sys.executable, "-m", "olaflab", "train", "virtual", "--virtual", "--updates", "1"]
        shown = subprocess.run(line, capture_output=True, text=True)
        as_json = subprocess.run([*line, "--json"], capture_output=True, text=True)
    assert (shown.returncode, as_json.returncode) == (0, 0), shown.stderr
    (cluster,) = json.loads(as_json.stdout)["clusters"]
    assert (cluster["cluster"], len(cluster["steps"]), cluster["sent"]) == ("lander", 3, 21)
    assert "lander" in shown.stdout
    assert "3/3 updates" in shown.stderr


@pytest.mark.parametrize(
    "wrong", [["--out", "somewhere"], ["--resume"], ["--step-cost", "0"]], ids=lambda words: words[0]
)
def test_options_of_wall_time_are_refused(wrong: list[str]) -> None:
    with pytest.raises(UsageError, match=r"wall time|above 0"):
        command.main(["laptop", "--virtual", *wrong], standalone_mode=False)


def test_without_its_packages_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "olaf", None)
    monkeypatch.delitem(sys.modules, "olaflab.training.plan")
    monkeypatch.delitem(sys.modules, "olafctl.control.serving")
    with pytest.raises(MissingTool, match=r"pip install \./sdk"):
        command.main(["laptop", "--virtual"], standalone_mode=False)
