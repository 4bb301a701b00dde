"""Learners of heads that follow the network, and what they cost: the ledger has every second of them."""

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")
pytest.importorskip("Box2D", reason="the extra [train] is not installed")

from click import UsageError

from olafctl.control import serving
from olafctl.targets.testbeds import load_testbed
from olaflab.cli.train import command
from olaflab.training import network
from olaflab.training.cosim.medium import EngineMedium
from olaflab.training.head import Crew
from olaflab.training.learning import Learning
from olaflab.training.plan import ClusterFigures, Pace, TrainingPlan
from olaflab.training.virtual import train_virtual
from olaftest.deployment import using_hosts
from tests.lab.training.cosim.conftest import TwinLab, deployed
from tests.targets.conftest import why_not

# The geometry of tests/lab/training/cosim: one build for both. An update of a head takes about 45 ms, so four
# heads send 88 updates a second; the output carries 22.
_VALUES = network.count_parameters(9)
TESTBED = f"""
name: learning
engine: {{indices: 8, slots: 2, beats: 22, output_rate: 142 kb/s, active_window: 1 s}}
ports:
  - {{number: 1, name: ps, transport: unix}}
  - {{number: 2, name: tor, transport: unix}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{count: 1, workers: 4, name: lander, port: 2, ip: 10.0.1.1, values: {_VALUES}, epoch: 5}}
"""
CREW = Crew(2, 2, block=16, price=0.5, cold=0.1, keep_alive=0.2)
PACE = Pace(0.001, learn=0.001, jitter=0.3)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwinLab]:
    with deployed(
        load_testbed(Path("learning.yaml"), TESTBED), tmp_path_factory.mktemp("learning") / "bed"
    ) as found:
        yield found


def train_lander(
    lab: TwinLab, crew: Crew, updates: int, seconds: float | None
) -> tuple[ClusterFigures, dict[str, Any]]:
    plan = TrainingPlan(
        updates, 1, PACE, 1, serving.make_policy("plain", 0.001, {}), crew=crew, seconds=seconds
    )
    learning = Learning(serving.served_clusters(lab.testbed), crew)
    with closing(lab.running.virtual_time()) as session:
        server = lab.testbed.parameter_servers[0]
        (cluster,) = train_virtual(
            EngineMedium(session, lab.testbed),
            lab.testbed,
            server,
            plan,
            lambda step, done, total: None,
            learning=learning,
        )
    return cluster, learning.close(cluster.steps[-1].time)


def check_ledger(cluster: ClusterFigures, report: dict[str, Any]) -> None:
    """Check that each invocation had rows, which were learnt once, and that sums are those of the ledger."""
    ledger = report["ledger"]
    assert len(ledger) == report["invocations"] == report["batches"]
    assert report["busy"] == pytest.approx(sum(each["end"] - each["start"] for each in ledger))
    assert report["invoked"] == pytest.approx(sum(each["cost"] for each in ledger))
    kept = report["cold"] + report["idle"]
    assert report["whole"] == pytest.approx(report["invoked"] + 0.5 * kept)
    turnouts = [step.turnout for step in cluster.steps if step.turnout is not None]
    assert sorted((each.began, each.learnt) for each in turnouts) == sorted(
        (each["start"], each["end"]) for each in ledger[: len(turnouts)]
    )
    for each in ledger:
        assert 32 * 0.001 * 0.7 <= each["end"] - each["start"] <= 32 * 0.001 * 1.3 + 1e-9
    for slot in {each["slot"] for each in ledger}:
        spans = sorted((each["start"], each["end"]) for each in ledger if each["slot"] == slot)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_as_many_heads_learn_as_the_output_carries(lab: TwinLab) -> None:
    auto = Crew(**{**vars(CREW), "auto": True})
    (fixed, reserved), (first, report), (again, repeated) = (
        train_lander(lab, crew, 10_000, 4.0) for crew in (CREW, auto, auto)
    )
    for cluster, result in ((fixed, reserved), (first, report)):
        check_ledger(cluster, result)
    assert reserved["admitted"] == 4
    assert 1 <= report["admitted"] <= 3
    assert report["busy"] < 0.8 * reserved["busy"]
    assert report["reserved"] == pytest.approx(reserved["reserved"], rel=0.05)
    assert first.received >= 0.8 * fixed.received  # as busy as the output was
    assert first.contained / first.received < fixed.contained / fixed.received
    assert first.weights is not None and again.weights is not None
    assert first.weights.tobytes() == again.weights.tobytes()
    assert first.steps == again.steps
    assert json.dumps(report) == json.dumps(repeated)
    assert {step.worker for step in first.steps} == {worker.name for worker in first.cluster.workers}


def test_a_fixed_number_of_learners_costs_by_place(lab: TwinLab) -> None:
    cluster, report = train_lander(lab, Crew(**{**vars(CREW), "learners": 1}), 5, None)
    check_ledger(cluster, report)
    assert len(cluster.steps) == 4 * 5
    assert {each["slot"] for each in report["ledger"]} == {0}
    assert report["cold"] >= 0.1


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path))
    line = ["learning", "--virtual", "--learners", "auto", "--updates", "3", "--block", "8"]
    with using_hosts(load_testbed(Path("learning.yaml"), TESTBED), lambda step: None, with_hosts=False):
        command.main(line, standalone_mode=False)
        shown = capsys.readouterr()
        command.main([*line, "--json"], standalone_mode=False)
        found = json.loads(capsys.readouterr().out)["learning"]
    assert "4 of 4 heads learn" in shown.err
    assert "$ with starts and keep-alive" in shown.out
    assert found["invocations"] == len(found["ledger"]) == 12


@pytest.mark.parametrize("learners", ["0", "-1", "all", "1.5"])
def test_impossible_numbers_of_learners_are_refused(learners: str) -> None:
    with pytest.raises(UsageError, match="--learners"):
        command.main(["--learners", learners], standalone_mode=False)
